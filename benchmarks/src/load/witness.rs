//! The machine's own stalls: how late a thread wakes up that does nothing but sleep for a millisecond.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use hdrhistogram::Histogram;

use super::clock::{be_punctual, now, sleep_until};
use super::outcome::{Outcome, histogram};

const STEP_NS: i64 = 1_000_000;
/// From here on it is a stall and not the cost of a wake-up.
const STALL_NS: u64 = 4_000_000;

/// A thread that looks at the clock.
pub(super) struct Witness {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Testimony>,
}

/// What it saw.
pub(super) struct Testimony {
    late_ns: Histogram<u64>,
    stalls: u64,
}

impl Witness {
    pub(super) fn start() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        Self { done, thread: thread::spawn(move || watch(&seen)) }
    }

    pub(super) fn stop(self) -> Testimony {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Testimony { late_ns: histogram(), stalls: 0 })
    }
}

impl Testimony {
    pub(super) fn report(&self, outcome: &mut Outcome) {
        outcome.delays("witness_", &self.late_ns).count("witness_stalls", self.stalls);
    }
}

fn watch(done: &AtomicBool) -> Testimony {
    be_punctual();
    let mut seen = Testimony { late_ns: histogram(), stalls: 0 };
    while !done.load(Ordering::Relaxed) {
        let due_ns = now() + STEP_NS;
        sleep_until(due_ns);
        let late_ns = (now() - due_ns) as u64;
        seen.late_ns.saturating_record(late_ns);
        seen.stalls += u64::from(late_ns >= STALL_NS);
    }
    seen
}
