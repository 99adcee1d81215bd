//! What publishers owe on topics where they publish no longer: a flow that comes back does not come with a full bucket.
//!
//! A bucket belongs to the name of a client and the name of a topic, so that neither another connection nor another number
//! makes it a new one. It is kept until nothing is owed any more. There is no clock here: what is due goes when the next comes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::id::Nanos;
use crate::policer::Bucket;

/// Buckets kept at most. Beyond that the one goes that would be clear first.
const DEBTS_MAX: usize = 1 << 16;
/// Buckets that go with one call: more than come, so that few stay longer than they have to.
const DUE_MAX: usize = 4;

/// Buckets of flows that have ended.
#[derive(Debug, Default)]
pub(super) struct Debts {
    buckets: HashMap<Arc<str>, (Place, Bucket)>,
    order: BTreeMap<Place, Arc<str>>,
    count: u64,
}

/// When a bucket is clear, and which it is of those.
type Place = (Nanos, u64);

impl Debts {
    /// A flow ended with this bucket; the latest instant that is known is `now`.
    pub(super) fn keep(&mut self, now: Nanos, client: &str, topic: &str, bucket: Bucket) {
        for _ in 0..DUE_MAX {
            if self.order.first_key_value().is_some_and(|(&(clear_ns, _), _)| clear_ns <= now) {
                self.forget_first();
            }
        }
        let Some(clear_ns) = bucket.clear_ns().filter(|&clear_ns| clear_ns > now) else { return };
        if self.buckets.len() >= DEBTS_MAX {
            self.forget_first();
        }
        let (key, place) = (key(client, topic), (clear_ns, self.count));
        self.count += 1;
        if let Some((former, _)) = self.buckets.insert(Arc::clone(&key), (place, bucket)) {
            self.order.remove(&former);
        }
        self.order.insert(place, key);
    }

    /// The bucket that a flow which comes back goes on with.
    pub(super) fn take(&mut self, client: &str, topic: &str) -> Option<Bucket> {
        if self.buckets.is_empty() {
            return None;
        }
        let (place, bucket) = self.buckets.remove(&key(client, topic))?;
        self.order.remove(&place);
        Some(bucket)
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.order.pop_first() {
            self.buckets.remove(&key);
        }
    }
}

/// Names of clients have no control characters: one is between the two.
fn key(client: &str, topic: &str) -> Arc<str> {
    format!("{client}\n{topic}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policer::{Limit, Rule};

    fn owing(now: Nanos, period_ns: Nanos) -> Bucket {
        let mut bucket = Bucket::new(Arc::new(Rule::new(Limit::min_sep(period_ns)).unwrap()));
        assert!(bucket.conforms(now));
        bucket
    }

    #[test]
    fn a_debt_is_there_until_it_is_paid() {
        let mut debts = Debts::default();
        debts.keep(0, "a", "t", owing(0, 10));
        debts.keep(9, "b", "t", owing(9, 10));
        assert_eq!(debts.take("a", "u"), None);
        assert_eq!(debts.take("a", "t"), Some(owing(0, 10)));
        assert_eq!(debts.take("a", "t"), None);
        debts.keep(20, "c", "t", owing(0, 10));
        assert!(debts.buckets.is_empty() && debts.order.is_empty());
    }

    #[test]
    fn the_table_is_bounded_and_gives_up_what_would_be_paid_first() {
        let mut debts = Debts::default();
        for n in 0..=DEBTS_MAX {
            debts.keep(0, &n.to_string(), "t", owing(0, 1_000 + n as Nanos));
        }
        assert_eq!((debts.buckets.len(), debts.order.len()), (DEBTS_MAX, DEBTS_MAX));
        assert_eq!(debts.take("0", "t"), None);
        assert!(debts.take("1", "t").is_some());
    }
}
