//! When a publisher sends.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::SPAN_NS_MAX;

use super::chance::Chance;

/// The instants at which a publisher sends. All but those of a trace count from where its first window begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// One message per period, each up to `jitter_ns` late.
    Periodic {
        /// The distance of two messages.
        period_ns: Nanos,
        /// The instant of the first; drawn from one period if not given.
        phase_ns: Option<Nanos>,
        /// The longest lateness, uniformly drawn.
        jitter_ns: Nanos,
    },
    /// Independent messages with exponential distances.
    Poisson {
        /// The mean distance.
        mean_ns: Nanos,
    },
    /// Distances drawn uniformly.
    Uniform {
        /// The shortest distance.
        low_ns: Nanos,
        /// The longest distance.
        high_ns: Nanos,
    },
    /// (σ, ρ)-greedy: the whole burst at once, then each message as soon as it is earned.
    Greedy {
        /// Messages at once: σ.
        burst: u32,
        /// Messages per `period_ns`: ρ.
        count: u32,
        /// The time in which `count` messages are earned.
        period_ns: Nanos,
    },
    /// At these instants, ascending.
    Trace {
        /// The instants.
        at_ns: Vec<Nanos>,
    },
}

impl Workload {
    /// Refuses what says no instants, with the name of the field.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let within = |field: &str, value: Nanos, least: Nanos, most: Nanos| {
            let valid = (least..=most).contains(&value);
            if valid { Ok(()) } else { Err(Invalid::new(field, value, format!("{least} to {most}"))) }
        };
        match self {
            Self::Periodic { period_ns, phase_ns, jitter_ns } => {
                within("period_ns", *period_ns, 1, SPAN_NS_MAX)?;
                within("phase_ns", phase_ns.unwrap_or(0), 0, SPAN_NS_MAX)?;
                within("jitter_ns", *jitter_ns, 0, *period_ns)
            }
            Self::Poisson { mean_ns } => within("mean_ns", *mean_ns, 1, SPAN_NS_MAX),
            Self::Uniform { low_ns, high_ns } => {
                within("low_ns", *low_ns, 0, SPAN_NS_MAX)?;
                within("high_ns", *high_ns, (*low_ns).max(1), SPAN_NS_MAX)
            }
            Self::Greedy { burst, count, period_ns } => {
                within("burst", Nanos::from(*burst), 1, Nanos::from(u32::MAX))?;
                within("count", Nanos::from(*count), 1, Nanos::from(u32::MAX))?;
                within("period_ns", *period_ns, 1, SPAN_NS_MAX)
            }
            Self::Trace { at_ns } => check_trace(at_ns),
        }
    }
}

fn check_trace(at_ns: &[Nanos]) -> Result<(), Invalid> {
    if let Some(n) = at_ns.iter().position(|at_ns| !(0..=SPAN_NS_MAX).contains(at_ns)) {
        return Err(Invalid::new(format!("at_ns[{n}]"), at_ns[n], format!("0 to {SPAN_NS_MAX}")));
    }
    match at_ns.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(n) => {
            Err(Invalid::new(format!("at_ns[{}]", n + 1), at_ns[n + 1], "instants in the order of time"))
        }
        None => Ok(()),
    }
}

/// When something is on: from the first instant to before the second.
pub type Window = (Nanos, Nanos);

/// Refuses windows that are empty, overlap or are out of order.
pub(super) fn check_windows(windows: &[Window]) -> Result<(), Invalid> {
    let mut before_ns = 0;
    for (n, &(from_ns, to_ns)) in windows.iter().enumerate() {
        if from_ns < before_ns || from_ns >= to_ns {
            let expected = "windows that are not empty, in the order of time and apart";
            return Err(Invalid::new(format!("windows[{n}]"), format!("({from_ns}, {to_ns})"), expected));
        }
        before_ns = to_ns;
    }
    Ok(())
}

/// Messages that are left out one by one before the run goes on in between, so that it can be interrupted.
const PATIENCE: u32 = 1 << 10;

/// One message: when it was to be sent and when it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) intended_ns: Nanos,
    pub(super) sent_ns: Nanos,
    /// Outside of the windows it is left out.
    pub(super) is_left_out: bool,
}

/// Goes through the instants of one publisher.
#[derive(Debug)]
pub(super) struct Clockwork {
    workload: Workload,
    /// Sends only within these; none means always.
    windows: Vec<Window>,
    chance: Chance,
    begin_ns: Nanos,
    /// Messages so far, those outside of the windows included.
    count: u64,
    /// The last instant of a workload that goes from one to the next.
    last_ns: Nanos,
}

impl Clockwork {
    pub(super) fn new(workload: Workload, windows: Vec<Window>, mut chance: Chance) -> Self {
        let begin_ns = windows.first().map_or(0, |window| window.0);
        let phase = match workload {
            Workload::Periodic { phase_ns: Some(phase_ns), .. } => phase_ns,
            Workload::Periodic { period_ns, .. } => chance.between(0, period_ns - 1),
            _ => 0,
        };
        let last_ns = begin_ns.saturating_add(phase);
        Self { workload, windows, chance, begin_ns, count: 0, last_ns }
    }

    /// The next message before `until_ns`; now and then one that is left out, if there are many.
    pub(super) fn next(&mut self, until_ns: Nanos) -> Option<Sending> {
        let mut left = PATIENCE;
        loop {
            let sending = self.instant().filter(|sending| sending.sent_ns < until_ns)?;
            let begin_ns = self.on_ns(sending.sent_ns).filter(|&begin_ns| begin_ns < until_ns)?;
            if begin_ns <= sending.sent_ns {
                return Some(sending);
            }
            self.jump(begin_ns);
            left -= 1;
            if left == 0 {
                return Some(Sending { is_left_out: true, ..sending });
            }
        }
    }

    /// When the window begins that `at_ns` lies in or before.
    fn on_ns(&self, at_ns: Nanos) -> Option<Nanos> {
        if self.windows.is_empty() {
            return Some(Nanos::MIN);
        }
        let place = self.windows.partition_point(|window| window.1 <= at_ns);
        self.windows.get(place).map(|window| window.0)
    }

    /// Leaves out what cannot be sent at `begin_ns` or later, where that needs no draws of the instants between.
    fn jump(&mut self, begin_ns: Nanos) {
        match self.workload {
            Workload::Periodic { period_ns, jitter_ns, .. } => {
                let early_ns = begin_ns.saturating_sub(jitter_ns).saturating_sub(self.last_ns).max(0);
                let periods = early_ns / period_ns + Nanos::from(early_ns % period_ns > 0);
                self.last_ns = self.last_ns.saturating_add(periods.saturating_mul(period_ns));
            }
            // Exponential distances do not remember how long it has been.
            Workload::Poisson { .. } => self.last_ns = self.last_ns.max(begin_ns),
            Workload::Greedy { burst, count, period_ns } => {
                let before_ns = begin_ns.saturating_sub(self.begin_ns).saturating_sub(1).max(0);
                let earned = before_ns as u128 * u128::from(count) / period_ns as u128;
                let earned = u64::try_from(earned).unwrap_or(u64::MAX);
                self.count = self.count.max(earned.saturating_add(burst.into()));
            }
            Workload::Uniform { .. } | Workload::Trace { .. } => {}
        }
    }

    fn instant(&mut self) -> Option<Sending> {
        let n = self.count;
        self.count = n.saturating_add(1);
        let at = |at_ns| Some(Sending { intended_ns: at_ns, sent_ns: at_ns, is_left_out: false });
        match &self.workload {
            Workload::Periodic { period_ns, jitter_ns, .. } => {
                let intended_ns = self.last_ns;
                self.last_ns = self.last_ns.saturating_add(*period_ns);
                let late_ns = if *jitter_ns > 0 { self.chance.between(0, *jitter_ns) } else { 0 };
                let sent_ns = intended_ns.saturating_add(late_ns);
                Some(Sending { intended_ns, sent_ns, is_left_out: false })
            }
            Workload::Poisson { mean_ns } => {
                let gap_ns = (self.chance.exponential() * *mean_ns as f64).round() as Nanos;
                self.last_ns = self.last_ns.saturating_add(gap_ns);
                at(self.last_ns)
            }
            Workload::Uniform { low_ns, high_ns } => {
                let gap_ns = self.chance.between(*low_ns, *high_ns);
                self.last_ns = self.last_ns.saturating_add(gap_ns);
                at(self.last_ns)
            }
            Workload::Greedy { burst, count, period_ns } => {
                let earned = u128::from(n.saturating_add(1).saturating_sub(u64::from(*burst)));
                let wait_ns = (earned * *period_ns as u128).div_ceil(u128::from(*count));
                at(self.begin_ns.saturating_add(Nanos::try_from(wait_ns).unwrap_or(Nanos::MAX)))
            }
            Workload::Trace { at_ns } => at_ns.get(n as usize).copied().and_then(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(workload: Workload, windows: &[Window], until_ns: Nanos) -> Vec<Nanos> {
        let mut clockwork = Clockwork::new(workload, windows.to_vec(), Chance::new(1, &["publisher"]));
        let all = std::iter::from_fn(|| clockwork.next(until_ns));
        all.filter(|sending| !sending.is_left_out).map(|sending| sending.sent_ns).collect()
    }

    #[test]
    fn a_greedy_publisher_sends_its_burst_and_then_what_it_earns() {
        let greedy = Workload::Greedy { burst: 3, count: 2, period_ns: 5 };
        assert_eq!(sent(greedy.clone(), &[], 12), [0, 0, 0, 3, 5, 8, 10]);
        assert_eq!(sent(greedy, &[(100, 106)], 1000), [100, 100, 100, 103, 105]);
    }

    #[test]
    fn a_period_begins_with_its_phase_and_windows_leave_messages_out() {
        let periodic = Workload::Periodic { period_ns: 10, phase_ns: Some(4), jitter_ns: 0 };
        assert_eq!(sent(periodic.clone(), &[], 35), [4, 14, 24, 34]);
        assert_eq!(sent(periodic, &[(0, 10), (20, 30)], 1000), [4, 24]);
    }

    #[test]
    fn a_gap_of_a_year_is_not_gone_through_step_by_step() {
        const YEAR_NS: Nanos = 365 * 24 * 3600 * 1_000_000_000;
        let windows = [(0, 3), (YEAR_NS, YEAR_NS + 3)];
        let expected = [0, 1, 2, YEAR_NS, YEAR_NS + 1, YEAR_NS + 2];
        let periodic = Workload::Periodic { period_ns: 1, phase_ns: Some(0), jitter_ns: 0 };
        assert_eq!(sent(periodic, &windows, Nanos::MAX), expected);
        let greedy = Workload::Greedy { burst: 1, count: 7, period_ns: 7 };
        assert_eq!(sent(greedy, &windows, Nanos::MAX), expected);
        let rare = Workload::Poisson { mean_ns: 100 };
        let later = sent(rare, &[(0, 1000), (YEAR_NS, YEAR_NS + 100_000)], Nanos::MAX);
        assert!(later.iter().filter(|&&at_ns| at_ns >= YEAR_NS).count() > 500, "about 1000 are expected");
    }

    #[test]
    fn jitter_is_late_against_the_period_and_never_early() {
        let jittery = Workload::Periodic { period_ns: 1000, phase_ns: None, jitter_ns: 1000 };
        let mut clockwork = Clockwork::new(jittery, Vec::new(), Chance::new(2, &["publisher"]));
        let first = clockwork.next(Nanos::MAX).map(|sending| sending.intended_ns);
        assert!(first.is_some_and(|first| (0..1000).contains(&first)));
        let mut before = first.unwrap_or_default();
        for _ in 0..100 {
            let sending = clockwork.next(Nanos::MAX).unwrap();
            assert_eq!(sending.intended_ns, before + 1000);
            assert!((0..=1000).contains(&(sending.sent_ns - sending.intended_ns)));
            before = sending.intended_ns;
        }
    }

    #[test]
    fn a_trace_out_of_order_is_refused_with_its_place() {
        let fault = Workload::Trace { at_ns: vec![1, 5, 3] }.check().unwrap_err();
        assert_eq!(fault.field, "at_ns[2]");
    }

    fn without_draws_in_gaps() -> impl Strategy<Value = Workload> {
        let periodic = (1..50_i64, 0..50_i64).prop_map(|(period_ns, phase_ns)| Workload::Periodic {
            period_ns,
            phase_ns: Some(phase_ns),
            jitter_ns: 0,
        });
        let greedy = (1..9_u32, 1..9_u32, 1..50_i64).prop_map(|(burst, count, period_ns)| Workload::Greedy {
            burst,
            count,
            period_ns,
        });
        let uniform = (0..9_i64, 1..9_i64)
            .prop_map(|(low_ns, more_ns)| Workload::Uniform { low_ns, high_ns: low_ns + more_ns });
        prop_oneof![periodic, greedy, uniform]
    }

    proptest! {
        #[test]
        fn windows_leave_out_what_lies_outside_and_nothing_else(
            workload in without_draws_in_gaps(),
            edges in prop::collection::btree_set(1..2000_i64, 1..8),
        ) {
            let mut edges: Vec<Nanos> = [0].into_iter().chain(edges).collect();
            edges.truncate(edges.len() / 2 * 2);
            let windows: Vec<Window> = edges.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            let within = |at_ns: &Nanos| windows.iter().any(|window| (window.0..window.1).contains(at_ns));
            let always = sent(workload.clone(), &[], 1500);
            let expected: Vec<Nanos> = always.into_iter().filter(within).collect();
            prop_assert_eq!(sent(workload, &windows, 1500), expected);
        }
    }
}
