//! What publishers owe on topics where they publish no longer: a flow that comes back does not come with a full bucket.
//!
//! A bucket belongs to the name of a client and the name of a topic, so that neither another connection nor another number
//! makes it a new one. It is kept until nothing is owed any more. There is no clock here: what is due goes when the next comes.
//!
//! There are so many buckets at most, and so many of a client. Beyond that a client's own go, and it is in *doubt* until these would
//! be clear: a flow of it that comes back without a bucket begins with an empty one. So nobody is forgiven by leaving many, and
//! nobody can push out what others owe. A client that has nothing to give up when all is full brings all into doubt.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::Nanos;
use crate::policer::{Bucket, Rule};

/// Buckets and doubts at most.
const DEBTS_MAX: usize = 1 << 16;
/// Buckets of a client at most.
const OWN_MAX: usize = 1 << 12;
/// Buckets that go with one call: more than come, so that few stay longer than they have to.
const DUE_MAX: usize = 4;

/// Buckets of flows that have ended. Trees, since a table that grows would make all wait.
#[derive(Debug)]
pub(super) struct Debts {
    owners: BTreeMap<Arc<str>, Owner>,
    /// Whose bucket of which topic is clear when; no topic for a doubt.
    order: BTreeMap<Place, (Arc<str>, Option<Arc<str>>)>,
    count: u64,
    /// Until when all are in doubt.
    doubt_ns: Nanos,
}

/// When a bucket is clear, and which it is of those.
type Place = (Nanos, u64);

#[derive(Debug, Default)]
struct Owner {
    buckets: BTreeMap<Arc<str>, (Place, Bucket)>,
    order: BTreeMap<Place, Arc<str>>,
    doubt: Option<Place>,
}

/// How a flow that comes back begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owed {
    Nothing,
    Bucket(Bucket),
    /// What it was is not known, but it is paid at this instant.
    Unknown(Nanos),
}

impl Owed {
    /// The bucket of a flow with this rule.
    pub(super) fn bucket(self, now: Nanos, rule: Arc<Rule>) -> Bucket {
        match self {
            Self::Nothing => Bucket::new(rule),
            Self::Bucket(ended) => ended.go_on(rule),
            Self::Unknown(clear_ns) => Bucket::empty(rule, now, clear_ns),
        }
    }
}

impl Default for Debts {
    fn default() -> Self {
        Self { owners: BTreeMap::new(), order: BTreeMap::new(), count: 0, doubt_ns: Nanos::MIN }
    }
}

impl Debts {
    /// A flow ended with this bucket; the latest instant that is known is `now`.
    pub(super) fn keep(&mut self, now: Nanos, client: &str, topic: &str, bucket: Bucket) {
        for _ in 0..DUE_MAX {
            if self.order.first_key_value().is_some_and(|(&(clear_ns, _), _)| clear_ns <= now) {
                self.forget_first();
            }
        }
        let Some(clear_ns) = bucket.clear_ns().filter(|&clear_ns| clear_ns > now) else { return };
        self.remove(client, topic);
        let is_full = self.order.len() >= DEBTS_MAX;
        match self.owners.get(client).map(|owner| owner.buckets.len()) {
            None if is_full => self.doubt_ns = self.doubt_ns.max(clear_ns),
            Some(_) if is_full => {
                self.give_up(client);
                self.doubt(client, clear_ns);
            }
            Some(OWN_MAX..) => {
                self.give_up(client);
                self.insert(clear_ns, client, topic, bucket);
            }
            _ => self.insert(clear_ns, client, topic, bucket),
        }
    }

    /// What a flow that comes back owes.
    pub(super) fn take(&mut self, now: Nanos, client: &str, topic: &str) -> Owed {
        if let Some(bucket) = self.remove(client, topic) {
            return Owed::Bucket(bucket);
        }
        let own = self.owners.get(client).and_then(|owner| owner.doubt);
        let clear_ns = own.map_or(self.doubt_ns, |(clear_ns, _)| clear_ns.max(self.doubt_ns));
        if clear_ns > now { Owed::Unknown(clear_ns) } else { Owed::Nothing }
    }

    fn place(&mut self, clear_ns: Nanos) -> Place {
        self.count += 1;
        (clear_ns, self.count)
    }

    fn insert(&mut self, clear_ns: Nanos, client: &str, topic: &str, bucket: Bucket) {
        let (place, client, topic): (_, Arc<str>, Arc<str>) =
            (self.place(clear_ns), client.into(), topic.into());
        let owner = self.owners.entry(Arc::clone(&client)).or_default();
        owner.order.insert(place, Arc::clone(&topic));
        owner.buckets.insert(Arc::clone(&topic), (place, bucket));
        self.order.insert(place, (client, Some(topic)));
    }

    fn remove(&mut self, client: &str, topic: &str) -> Option<Bucket> {
        let owner = self.owners.get_mut(client)?;
        let (place, bucket) = owner.buckets.remove(topic)?;
        owner.order.remove(&place);
        self.order.remove(&place);
        self.forget_owner(client);
        Some(bucket)
    }

    /// The bucket of a client that would be clear first goes, and the client is in doubt until then.
    fn give_up(&mut self, client: &str) {
        let first = self.owners.get(client).and_then(|owner| owner.order.first_key_value());
        let Some((&(clear_ns, _), topic)) = first else { return };
        let topic = Arc::clone(topic);
        self.doubt(client, clear_ns);
        self.remove(client, &topic);
    }

    /// A client is in doubt until this instant at least.
    fn doubt(&mut self, client: &str, clear_ns: Nanos) {
        let place = self.place(clear_ns);
        let Some(owner) = self.owners.get_mut(client) else { return };
        if owner.doubt.is_some_and(|former| former > place) {
            return;
        }
        if let Some(former) = owner.doubt.replace(place) {
            self.order.remove(&former);
        }
        self.order.insert(place, (client.into(), None));
    }

    fn forget_first(&mut self) {
        let Some((_, (client, topic))) = self.order.pop_first() else { return };
        let Some(owner) = self.owners.get_mut(&client) else { return };
        match topic.and_then(|topic| owner.buckets.remove(&topic)) {
            Some((place, _)) => owner.order.remove(&place).map_or((), drop),
            None => owner.doubt = None,
        }
        self.forget_owner(&client);
    }

    fn forget_owner(&mut self, client: &str) {
        let is_clear = |owner: &Owner| owner.buckets.is_empty() && owner.doubt.is_none();
        if self.owners.get(client).is_some_and(is_clear) {
            self.owners.remove(client);
        }
    }
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
        assert_eq!(debts.take(9, "a", "u"), Owed::Nothing);
        assert_eq!(debts.take(9, "a", "t"), Owed::Bucket(owing(0, 10)));
        assert_eq!(debts.take(9, "a", "t"), Owed::Nothing);
        debts.keep(20, "c", "t", owing(0, 10));
        assert!(debts.owners.is_empty() && debts.order.is_empty());
    }

    #[test]
    fn a_client_with_many_debts_pushes_out_its_own() {
        let mut debts = Debts::default();
        debts.keep(0, "victim", "t", owing(0, 10));
        for n in 0..OWN_MAX + 2 {
            debts.keep(0, "hostile", &n.to_string(), owing(0, 1_000 + n as Nanos));
        }
        assert_eq!(debts.order.len(), OWN_MAX + 2);
        assert_eq!(debts.take(0, "victim", "t"), Owed::Bucket(owing(0, 10)));
        assert_eq!(debts.take(0, "victim", "u"), Owed::Nothing);
        // Two of its own have gone; until they are clear it begins with empty buckets where nothing is known.
        assert_eq!(debts.take(0, "hostile", "0"), Owed::Unknown(1_001));
        assert_eq!(debts.take(0, "hostile", "2"), Owed::Bucket(owing(0, 1_002)));
        assert_eq!(debts.take(1_001, "hostile", "1"), Owed::Nothing);
        (0..=OWN_MAX).for_each(|n| debts.keep(1 << 40, "x", &n.to_string(), owing(0, 1)));
        assert!(debts.owners.is_empty() && debts.order.is_empty());
    }

    #[test]
    fn the_table_is_bounded_and_who_is_not_in_it_is_in_doubt() {
        let mut debts = Debts::default();
        for n in 0..DEBTS_MAX {
            debts.keep(0, &n.to_string(), "t", owing(0, 1_000));
        }
        debts.keep(0, "7", "u", owing(0, 70));
        assert_eq!(debts.order.len(), DEBTS_MAX);
        assert_eq!(debts.take(0, "7", "u"), Owed::Unknown(1_000));
        assert_eq!(debts.take(0, "new", "t"), Owed::Nothing);
        debts.keep(0, "new", "t", owing(0, 50));
        assert_eq!(debts.order.len(), DEBTS_MAX);
        assert_eq!(debts.take(0, "new", "t"), Owed::Unknown(50));
        assert_eq!(debts.take(50, "new", "t"), Owed::Nothing);
        assert_eq!(debts.take(0, "8", "t"), Owed::Bucket(owing(0, 1_000)));
    }

    #[test]
    fn who_is_in_doubt_begins_with_an_empty_bucket() {
        let rule = Arc::new(Rule::new(Limit::min_sep(10)).unwrap());
        let mut bucket = Owed::Unknown(500).bucket(100, rule);
        assert_eq!(bucket.clear_ns(), Some(500));
        assert!(!bucket.conforms(109));
        assert!(bucket.conforms(110) && !bucket.conforms(119) && bucket.conforms(120));
    }
}
