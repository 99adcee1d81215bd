//! Instants on the machine's monotonic clock, and a sleep that ends as close to one as the machine can.

use std::num::NonZeroU64;
use std::time::Duration;

pub(super) use giusto_net::clock::now;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

const SECOND_NS: i64 = 1_000_000_000;

/// Asks that sleeps of this thread are not lengthened to save wake-ups.
pub(super) fn be_punctual() {
    // Where it is refused, sleeps are some 50 µs longer, for all peers alike.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Sleeps until the clock shows `instant_ns`.
pub(super) fn sleep_until(instant_ns: i64) {
    let until = Timespec { tv_sec: instant_ns / SECOND_NS, tv_nsec: instant_ns % SECOND_NS };
    while now() < instant_ns {
        // Interrupted or not, the clock decides.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
    }
}

/// A length of time in nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> i64 {
    time.as_nanos() as i64
}
