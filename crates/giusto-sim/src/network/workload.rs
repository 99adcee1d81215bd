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

/// One message: when it was to be sent and when it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) intended_ns: Nanos,
    pub(super) sent_ns: Nanos,
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

    /// The next message before `until_ns`.
    pub(super) fn next(&mut self, until_ns: Nanos) -> Option<Sending> {
        loop {
            let sending = self.instant()?;
            if sending.sent_ns >= until_ns
                || self.windows.last().is_some_and(|last| sending.sent_ns >= last.1)
            {
                return None;
            }
            if self.is_on(sending.sent_ns) {
                return Some(sending);
            }
        }
    }

    fn is_on(&self, at_ns: Nanos) -> bool {
        let within = |window: &Window| (window.0..window.1).contains(&at_ns);
        self.windows.is_empty() || self.windows.iter().any(within)
    }

    fn instant(&mut self) -> Option<Sending> {
        let n = self.count;
        self.count += 1;
        let at = |at_ns| Some(Sending { intended_ns: at_ns, sent_ns: at_ns });
        match &self.workload {
            Workload::Periodic { period_ns, jitter_ns, .. } => {
                let intended_ns = self.last_ns;
                self.last_ns = self.last_ns.saturating_add(*period_ns);
                let late_ns = if *jitter_ns > 0 { self.chance.between(0, *jitter_ns) } else { 0 };
                Some(Sending { intended_ns, sent_ns: intended_ns.saturating_add(late_ns) })
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
                let earned = u128::from((n + 1).saturating_sub(u64::from(*burst)));
                let wait_ns = (earned * *period_ns as u128).div_ceil(u128::from(*count));
                at(self.begin_ns.saturating_add(Nanos::try_from(wait_ns).unwrap_or(Nanos::MAX)))
            }
            Workload::Trace { at_ns } => at_ns.get(n as usize).copied().and_then(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(workload: Workload, windows: &[Window], until_ns: Nanos) -> Vec<Nanos> {
        let mut clockwork = Clockwork::new(workload, windows.to_vec(), Chance::new(1, &["publisher"]));
        std::iter::from_fn(|| clockwork.next(until_ns).map(|sending| sending.sent_ns)).collect()
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
}
