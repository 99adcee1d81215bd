//! Earliest deadline first on real-time tags (GUARANTEES 2.3).
//!
//! `S = max(arrival, S_prev + T)`, `F = S + D`, least F first: a topic that sends faster than its
//! period only pushes its own tags into the future, so that it cannot hurt the others (E1).

use crate::error::Invalid;
use crate::id::Nanos;
use crate::input::Share;
use crate::input::tags::Tagging;

/// Longest period or deadline: 292 years would overflow, ten years will not.
const LONGEST_NS: Nanos = 10 * 365 * 86_400 * 1_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Topic {
    period_ns: Nanos,
    deadline_ns: Nanos,
    /// Least S of the next slot.
    earliest_ns: Nanos,
}

/// Tags of `edf`.
#[derive(Debug, Default)]
pub(super) struct Edf {
    topics: Vec<Option<Topic>>,
}

impl Tagging for Edf {
    fn check(&self, share: &Share) -> Result<(), Invalid> {
        for (field, value) in [("period_ns", share.period_ns), ("deadline_ns", share.deadline_ns)] {
            if !(1..=LONGEST_NS).contains(&value) {
                return Err(Invalid::new(field, value, format!("1 to {LONGEST_NS} ns")));
            }
        }
        Ok(())
    }

    fn allot(&mut self, topic: usize, share: &Share) {
        if topic >= self.topics.len() {
            self.topics.resize(topic + 1, None);
        }
        let earliest_ns = self.topics[topic].map_or(Nanos::MIN, |before| before.earliest_ns);
        let (period_ns, deadline_ns) = (share.period_ns, share.deadline_ns);
        self.topics[topic] = Some(Topic { period_ns, deadline_ns, earliest_ns });
    }

    #[inline]
    fn tag(&mut self, topic: usize, ingress_ns: impl FnOnce() -> Nanos) -> u128 {
        let Some(Some(topic)) = self.topics.get_mut(topic) else { return ordered(Nanos::MAX) };
        let start_ns = topic.earliest_ns.max(ingress_ns());
        topic.earliest_ns = start_ns.saturating_add(topic.period_ns);
        ordered(start_ns.saturating_add(topic.deadline_ns))
    }

    fn used(&mut self, _tag: u128) {}

    fn idle(&mut self) {}
}

/// An instant as an unsigned number that compares in the same way.
fn ordered(at_ns: Nanos) -> u128 {
    u128::from(at_ns.abs_diff(Nanos::MIN))
}
