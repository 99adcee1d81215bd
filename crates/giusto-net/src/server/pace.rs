//! When the data thread takes turns: whenever there is work, or within the budget of each period.

use giusto_core::id::Nanos;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

use crate::clock;

/// A polling server with period P and budget T (S2 section IV-A), or none.
#[derive(Debug)]
pub(super) struct Pace {
    period_ns: Nanos,
    budget_ns: Nanos,
}

impl Pace {
    /// Load-driven unless both are above 0.
    pub(super) fn new(period_ns: Nanos, budget_ns: Nanos) -> Self {
        let period_ns = if budget_ns > 0 { period_ns.max(0) } else { 0 };
        Self { period_ns, budget_ns }
    }

    pub(super) fn is_timed(&self) -> bool {
        self.period_ns > 0
    }

    /// Waits for the next period; returns when its budget is spent.
    pub(super) fn begin(&self) -> Nanos {
        if !self.is_timed() {
            return Nanos::MAX;
        }
        let start_ns = self.next_start_ns(clock::now());
        sleep_until(start_ns);
        // The budget is for serving: the time that the kernel takes to wake the thread is not part of it.
        clock::now().saturating_add(self.budget_ns)
    }

    /// The first multiple of the period that has not begun yet.
    fn next_start_ns(&self, now: Nanos) -> Nanos {
        now.div_euclid(self.period_ns).saturating_add(1).saturating_mul(self.period_ns)
    }

    /// Whether the period is over: its budget is spent, or the last turn found nothing to do.
    pub(super) fn is_over(&self, idle: bool, end_ns: Nanos) -> bool {
        self.is_timed() && (idle || clock::now() >= end_ns)
    }
}

fn sleep_until(at_ns: Nanos) {
    let at = Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_at_multiples_that_have_not_begun() {
        let pace = Pace::new(10, 3);
        assert_eq!(pace.next_start_ns(0), 10);
        assert_eq!(pace.next_start_ns(12), 20);
        assert_eq!(pace.next_start_ns(29), 30);
        assert_eq!(pace.next_start_ns(30), 40);
        assert_eq!(pace.next_start_ns(95), 100);
    }

    #[test]
    fn without_a_budget_or_a_period_it_is_load_driven() {
        assert!(!Pace::new(10, 0).is_timed());
        assert!(!Pace::new(0, 10).is_timed());
        assert_eq!(Pace::new(0, 0).begin(), Nanos::MAX);
        assert!(!Pace::new(0, 0).is_over(true, 0));
    }
}
