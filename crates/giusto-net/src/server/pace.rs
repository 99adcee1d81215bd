//! When the data thread takes turns: whenever there is work, or within the budget of each period.
//!
//! A turn that has begun is finished, also beyond the budget. If it ends beyond the start of the next period, what is left
//! of that one's budget is served at once: no period is lost.

use giusto_core::id::Nanos;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

use crate::clock;

/// A polling server with period P and budget T (S2 section IV-A), or none.
#[derive(Debug)]
pub(super) struct Pace {
    period_ns: Nanos,
    budget_ns: Nanos,
    /// Start of the last period that was served.
    served_ns: Nanos,
}

impl Pace {
    /// Load-driven unless both are above 0.
    pub(super) fn new(period_ns: Nanos, budget_ns: Nanos) -> Self {
        let period_ns = if budget_ns > 0 { period_ns.max(0) } else { 0 };
        Self { period_ns, budget_ns, served_ns: Nanos::MIN }
    }

    pub(super) fn is_timed(&self) -> bool {
        self.period_ns > 0
    }

    /// Waits for the next period, unless it has begun; returns when its budget is spent.
    pub(super) fn begin(&mut self) -> Nanos {
        if !self.is_timed() {
            return Nanos::MAX;
        }
        let now = clock::now();
        self.served_ns = self.next_start_ns(now);
        if self.served_ns <= now {
            return self.served_ns.saturating_add(self.budget_ns);
        }
        sleep_until(self.served_ns);
        // The budget is for serving: the time that the kernel takes to wake the thread is not part of it.
        clock::now().saturating_add(self.budget_ns)
    }

    /// The multiple of the period that has begun, if it was not served and some of its budget is left; else the next one.
    fn next_start_ns(&self, now: Nanos) -> Nanos {
        let begun_ns = now.div_euclid(self.period_ns).saturating_mul(self.period_ns);
        if self.served_ns < begun_ns && now < begun_ns.saturating_add(self.budget_ns) {
            return begun_ns;
        }
        begun_ns.saturating_add(self.period_ns)
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

    /// After the period that began at 20 has been served.
    fn served() -> Pace {
        Pace { served_ns: 20, ..Pace::new(10, 6) }
    }

    #[test]
    fn after_a_period_the_next_multiple_is_waited_for() {
        assert_eq!([20, 23, 29].map(|now| served().next_start_ns(now)), [30; 3]);
    }

    #[test]
    fn a_period_that_has_begun_meanwhile_is_served_at_once_while_some_of_its_budget_is_left() {
        assert_eq!([30, 35, 44].map(|now| served().next_start_ns(now)), [30, 30, 40]);
        assert_eq!([36, 39, 47].map(|now| served().next_start_ns(now)), [40, 40, 50]);
    }

    #[test]
    fn a_thread_that_starts_within_a_period_serves_what_is_left_of_its_budget() {
        let mut pace = Pace::new(1_000_000_000_000, 1_000_000_000_000);
        let start_ns = pace.next_start_ns(clock::now());
        assert_eq!(pace.begin(), start_ns + 1_000_000_000_000);
        assert_eq!(pace.next_start_ns(clock::now()), start_ns + 1_000_000_000_000);
    }

    #[test]
    fn without_a_budget_or_a_period_it_is_load_driven() {
        assert!(!Pace::new(10, 0).is_timed());
        assert!(!Pace::new(0, 10).is_timed());
        assert_eq!(Pace::new(0, 0).begin(), Nanos::MAX);
        assert!(!Pace::new(0, 0).is_over(true, 0));
    }
}
