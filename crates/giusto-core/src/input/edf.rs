//! Earliest deadline first on real-time tags (GUARANTEES 2.3).
//!
//! `S = max(arrival, S_prev + T)`, `F = S + D`, least F first: a topic that sends faster than its
//! period only pushes its own tags into the future, so that it cannot hurt the others (E1). Where
//! urgent messages overtake, the arrival is that of the oldest that waits: an arrival later than it
//! would take from the topic the time that it has waited.

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
    /// S of the last slot, if there was one.
    start_ns: Option<Nanos>,
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
        let start_ns = self.topics[topic].and_then(|before| before.start_ns);
        let (period_ns, deadline_ns) = (share.period_ns, share.deadline_ns);
        self.topics[topic] = Some(Topic { period_ns, deadline_ns, start_ns });
    }

    fn reserve(&mut self, topics: usize) {
        self.topics.reserve(topics);
    }

    fn withdraw(&mut self, topic: usize) {
        self.topics.get_mut(topic).into_iter().for_each(|topic| *topic = None);
    }

    #[inline]
    fn tag(&mut self, topic: usize, oldest_ns: impl FnOnce() -> Nanos) -> u128 {
        let Some(Some(topic)) = self.topics.get_mut(topic) else { return ordered(Nanos::MAX) };
        let chained_ns =
            topic.start_ns.map_or(Nanos::MIN, |start_ns| start_ns.saturating_add(topic.period_ns));
        let start_ns = chained_ns.max(oldest_ns());
        topic.start_ns = Some(start_ns);
        ordered(start_ns.saturating_add(topic.deadline_ns))
    }

    fn used(&mut self, _tag: u128) {}

    fn idle(&mut self) {}
}

/// An instant as an unsigned number that compares in the same way.
fn ordered(at_ns: Nanos) -> u128 {
    u128::from(at_ns.abs_diff(Nanos::MIN))
}
