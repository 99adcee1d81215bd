//! Which subscriptions receive an event on a topic: the match step between the two stages.
//!
//! Subscriptions without a filter are lists that are ready before the event comes (`fanout`);
//! those with one are found through `index` and merged in. Once warm, an event allocates nothing.

use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::event::{Check, Event, Names};
use super::fanout::Fanout;
use super::filter::Filter;
use super::index::Index;
use super::spread::Errand;
use super::topic;
use crate::effort::Effort;
use crate::error::ChangeError;
use crate::frame::attributes::Attributes;
use crate::id::{SubscriptionId, TopicId};

/// All topics and subscriptions of a broker.
#[derive(Debug, Default)]
pub struct Matcher {
    names: Names,
    fanout: Fanout,
    index: Index,
    subscriptions: BTreeMap<SubscriptionId, Subscription>,
    event: Event<'static>,
    candidates: Candidates,
}

#[derive(Debug)]
struct Subscription {
    pattern: u32,
    is_filtered: bool,
    /// The conjunctions of its filter in the index; none if it has no filter.
    entries: Box<[u32]>,
}

impl Matcher {
    /// No topic and no subscription.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many topics and patterns come without the others being moved.
    pub fn reserve(&mut self, count: usize) {
        self.fanout.reserve(count);
    }

    /// Makes a topic known. Costs as much as there are patterns that cover it.
    pub fn add_topic(&mut self, id: TopicId, name: &str) -> Result<(), ChangeError> {
        self.fanout.add_topic(id, name)
    }

    /// Forgets a topic; subscriptions stay.
    pub fn remove_topic(&mut self, id: TopicId) -> Result<(), ChangeError> {
        self.fanout.remove_topic(id)
    }

    /// Adds a subscription. Costs as much as its filter and the topics that it covers, not the
    /// other subscriptions.
    pub fn subscribe(
        &mut self,
        id: SubscriptionId,
        pattern: &str,
        filter: Option<&Filter>,
    ) -> Result<(), ChangeError> {
        let mut errand = self.begin_subscribe(id, pattern, filter)?;
        self.run(&mut errand, &mut Effort::ALL.clone());
        Ok(())
    }

    /// Takes a subscription out.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> Result<(), ChangeError> {
        let mut errand = self.begin_unsubscribe(id)?;
        self.run(&mut errand, &mut Effort::ALL.clone());
        Ok(())
    }

    /// Adds a subscription, of which topics have to be told yet.
    pub fn begin_subscribe(
        &mut self,
        id: SubscriptionId,
        pattern: &str,
        filter: Option<&Filter>,
    ) -> Result<Errand, ChangeError> {
        topic::check_pattern(pattern)?;
        if self.subscriptions.contains_key(&id) {
            return Err(ChangeError::duplicate("subscription", id.0));
        }
        let errand = self.fanout.add(pattern, id, filter.is_some());
        let pattern = errand.pattern();
        let entries = filter.map_or_else(Box::default, |filter| self.register(id, pattern, filter));
        let is_filtered = filter.is_some();
        self.subscriptions.insert(id, Subscription { pattern, is_filtered, entries });
        Ok(errand)
    }

    /// Takes a subscription out, of which topics have to be told yet. Some of them may name it as long as they are not.
    pub fn begin_unsubscribe(&mut self, id: SubscriptionId) -> Result<Errand, ChangeError> {
        let subscription =
            self.subscriptions.remove(&id).ok_or_else(|| ChangeError::unknown("subscription", id.0))?;
        for &entry in &subscription.entries {
            for check in self.index.remove(entry).iter() {
                self.names.release(check.attribute);
            }
        }
        Ok(self.fanout.remove(subscription.pattern, id, subscription.is_filtered))
    }

    /// How many comparisons the filter of a subscription makes at most, 0 if it has none: what it costs to take it out.
    pub fn comparisons(&self, id: SubscriptionId) -> usize {
        let entries = self.subscriptions.get(&id).map_or(&[][..], |subscription| &subscription.entries);
        entries.iter().map(|&entry| self.index.checks(entry).iter().count()).sum()
    }

    /// Tells topics of what has begun as far as the effort goes; whether all have been told.
    pub fn run(&mut self, errand: &mut Errand, effort: &mut Effort) -> bool {
        self.fanout.run(errand, effort)
    }

    /// Puts the subscriptions that receive the event into `found`, ascending, in place of what it held.
    pub fn matching(
        &mut self,
        topic: TopicId,
        attributes: Attributes<'_>,
        found: &mut Vec<SubscriptionId>,
    ) -> Result<(), ChangeError> {
        found.clear();
        let (unfiltered, filtered) =
            self.fanout.receivers(topic).ok_or_else(|| ChangeError::unknown("topic", topic.0))?;
        if filtered.is_empty() {
            found.extend_from_slice(unfiltered);
            return Ok(());
        }
        let mut event: Event<'_> = std::mem::take(&mut self.event);
        event.load(&self.names, attributes);
        for &pattern in filtered {
            self.index.satisfied(pattern, &event, &mut self.candidates, found);
        }
        self.event = event.unload();
        found.sort_unstable();
        found.dedup();
        merge_into(found, unfiltered);
        Ok(())
    }

    /// Whether one subscription receives the event.
    pub fn would_match(
        &self,
        id: SubscriptionId,
        topic: TopicId,
        attributes: Attributes<'_>,
    ) -> Result<bool, ChangeError> {
        let subscription =
            self.subscriptions.get(&id).ok_or_else(|| ChangeError::unknown("subscription", id.0))?;
        let covered = self
            .fanout
            .covers(subscription.pattern, topic)
            .ok_or_else(|| ChangeError::unknown("topic", topic.0))?;
        let mut event = Event::default();
        event.load(&self.names, attributes);
        let wanted = |&entry: &u32| event.satisfies(self.index.checks(entry));
        Ok(covered && (!subscription.is_filtered || subscription.entries.iter().any(wanted)))
    }

    /// The subscriptions without a filter that receive a topic, ascending: all of them, if
    /// [`Self::is_filtered`] says no.
    pub fn unfiltered(&self, topic: TopicId) -> Option<&[SubscriptionId]> {
        self.fanout.receivers(topic).map(|(unfiltered, _)| unfiltered)
    }

    /// Whether a subscription with a filter covers the topic.
    pub fn is_filtered(&self, topic: TopicId) -> bool {
        self.fanout.receivers(topic).is_some_and(|(_, filtered)| !filtered.is_empty())
    }

    /// How many subscriptions there are.
    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether there is no subscription.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    /// Bytes that the filters occupy, an estimate: without the texts of constants.
    pub fn filter_bytes(&self) -> usize {
        let table = self.subscriptions.len() * size_of::<(SubscriptionId, Subscription)>();
        let entries: usize =
            self.subscriptions.values().map(|subscription| subscription.entries.len() * 4).sum();
        self.index.bytes() + self.names.bytes() + table + entries
    }

    fn register(&mut self, id: SubscriptionId, pattern: u32, filter: &Filter) -> Box<[u32]> {
        let names = &mut self.names;
        let index = &mut self.index;
        let entries = filter.conjunctions().map(|predicates| {
            let checks = predicates.map(|predicate| Check {
                attribute: names.acquire(&predicate.name),
                test: predicate.test.clone(),
            });
            index.insert(id, pattern, checks.collect())
        });
        entries.collect()
    }
}

/// Merges the ascending `other` into the ascending `found`, from the back, in place.
fn merge_into(found: &mut Vec<SubscriptionId>, other: &[SubscriptionId]) {
    let mut left = found.len();
    found.resize(left + other.len(), SubscriptionId(0));
    let mut write = found.len();
    for &id in other.iter().rev() {
        while left > 0 && found[left - 1] > id {
            write -= 1;
            left -= 1;
            found[write] = found[left];
        }
        write -= 1;
        found[write] = id;
    }
}
