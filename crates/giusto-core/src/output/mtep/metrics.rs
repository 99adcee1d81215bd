//! EE, EP, PC and the priority of one message: Fig. 5 of S1 for one event.

use super::super::link::Link;
use super::super::target::Target;
use crate::id::Nanos;

/// What sending a message now is worth, against sending it second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// EE: expected earning when it is sent now.
    pub expected_earning: f64,
    /// EP: expected penalty when it is sent now.
    pub expected_penalty: f64,
    /// EE′: expected earning when it is sent one LMT later.
    pub postponed_earning: f64,
    /// EP′: expected penalty when it is sent one LMT later.
    pub postponed_penalty: f64,
    /// PC of (12).
    pub postponed_cost: f64,
    /// priority(e) of (13).
    pub priority: f64,
}

impl Metrics {
    /// Lines 3 to 16 of Fig. 5 for the message with these targets. Every choice of mtep rests on this sum in
    /// this order, so that two queues that compute it agree to the last bit.
    pub fn of(targets: &[Target], link: &Link, now: Nanos) -> Self {
        Self::and_best_success(targets, link, now).0
    }

    /// As [`Metrics::of`], with the greatest success for rule (14); 0 without targets.
    pub(super) fn and_best_success(targets: &[Target], link: &Link, now: Nanos) -> (Self, f64) {
        let later_ns = now.saturating_add(link.mean_transmission_ns);
        let (mut sum, mut best) = (Self::default(), 0.0_f64);
        for target in targets {
            let success = target.success(now);
            best = best.max(success);
            if success >= link.epsilon {
                sum.expected_earning += target.price * success;
                sum.expected_penalty += target.penalty * (1.0 - success);
                let postponed = target.success(later_ns);
                if postponed >= link.epsilon {
                    sum.postponed_earning += target.price * postponed;
                    sum.postponed_penalty += target.penalty * (1.0 - postponed);
                }
            }
        }
        (sum.weigh(link.weight), best)
    }

    /// Equations (12) and (13).
    fn weigh(mut self, weight: f64) -> Self {
        let kept = self.expected_earning - self.expected_penalty;
        self.postponed_cost = kept - (self.postponed_earning - self.postponed_penalty);
        self.priority =
            weight * self.expected_earning + (1.0 - weight) * (self.postponed_cost + self.expected_penalty);
        self
    }
}
