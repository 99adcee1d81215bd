//! Samples of one kind of work, and when there are enough of them.

use std::ops::AddAssign;

use giusto_core::id::Nanos;
use rustix::time::{ClockId, clock_gettime};

use crate::clock;

/// How long to measure, and how often at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) duration_ns: Nanos,
    pub(super) samples_max: usize,
}

impl Effort {
    /// When it is over, from now on.
    pub(super) fn end_ns(self) -> Nanos {
        clock::now().saturating_add(self.duration_ns)
    }
}

/// How long one kind of work took, each time that it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What was done.
    pub kind: &'static str,
    /// In the order in which it was done.
    pub samples_ns: Vec<u64>,
    /// The part of each sample for which the thread did not have the processor.
    pub away_ns: Vec<u64>,
    samples_max: usize,
}

impl Series {
    pub(super) fn new(kind: &'static str, effort: Effort) -> Self {
        Self { kind, samples_ns: Vec::new(), away_ns: Vec::new(), samples_max: effort.samples_max }
    }

    /// Keeps a sample while there is room for it.
    pub(super) fn push(&mut self, span: Span) {
        if !self.is_full() {
            self.samples_ns.push(u64::try_from(span.whole_ns).unwrap_or(0));
            self.away_ns.push(u64::try_from(span.away_ns).unwrap_or(0));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.samples_ns.len() >= self.samples_max
    }

    /// Does something and keeps how long it took.
    pub(super) fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let (result, span) = timed(work);
        self.push(span);
        result
    }
}

/// How long something took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) whole_ns: Nanos,
    /// For so long of that the system ran something else.
    pub(super) away_ns: Nanos,
}

impl Span {
    pub(super) fn new(whole_ns: Nanos) -> Self {
        Self { whole_ns, away_ns: 0 }
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.whole_ns += other.whole_ns;
        self.away_ns += other.away_ns;
    }
}

/// Does something; also returns how long it took.
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> (R, Span) {
    let ran_ns = run_time();
    let start_ns = clock::now();
    let result = work();
    let whole_ns = clock::now() - start_ns;
    // The outer readings are a little further apart than the inner ones: what is left is time on the processor.
    (result, Span { whole_ns, away_ns: (whole_ns - (run_time() - ran_ns)).max(0) })
}

/// Time for which this thread has had a processor.
fn run_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
