//! A witness of the machine: how late it wakes a thread that slept, and for how long it stops one that runs.

use giusto_core::id::Nanos;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

use super::series::{Effort, Series, Span};
use crate::clock;

/// Length of one observation.
const WINDOW_NS: Nanos = 1_000_000;

/// Sleeps for a window and runs for a window, in turn: one sample of each.
pub(super) fn measure(effort: Effort) -> Vec<Series> {
    let (mut sleep, mut spin) = (Series::new("sleep", effort), Series::new("spin", effort));
    let end_ns = effort.end_ns();
    while !spin.is_full() && clock::now() < end_ns {
        sleep.push(Span::new(overslept_ns()));
        spin.push(Span::new(longest_gap_ns()));
    }
    vec![sleep, spin]
}

fn overslept_ns() -> Nanos {
    let end_ns = clock::now() + WINDOW_NS;
    let end = Timespec { tv_sec: end_ns / 1_000_000_000, tv_nsec: end_ns % 1_000_000_000 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &end) == Err(rustix::io::Errno::INTR) {}
    clock::now() - end_ns
}

/// The longest time between two readings of the clock, one right after the other.
fn longest_gap_ns() -> Nanos {
    let mut last_ns = clock::now();
    let end_ns = last_ns + WINDOW_NS;
    let mut longest_ns = 0;
    while last_ns < end_ns {
        let now = clock::now();
        longest_ns = longest_ns.max(now - last_ns);
        last_ns = now;
    }
    longest_ns
}
