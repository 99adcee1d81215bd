//! Who is there: clients, topics, flows and subscriptions by number and by name.
//!
//! Numbers are small and used again, so that they index arrays. What has gone keeps its number until
//! the last message that names it has left the queues: a flow until it is drained, a client until what
//! it published is delivered too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::Counters;
use crate::engine::class::{Class, Fresh};
use crate::error::Invalid;
use crate::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use crate::input::Share;
use crate::output::{Lost, Outgoing, OutputQueue, Terms};
use crate::policer::{Bucket, Limit, Rule};

/// Rules remembered at most.
const RULES_MAX: usize = 1_024;

/// Entries by number; freed numbers are used again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// The number that the next entry will have.
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.entries.len() as u32)
    }

    pub(super) fn insert(&mut self, entry: T) -> u32 {
        let number = self.next();
        if self.free.pop().is_none() {
            self.entries.push(None);
        }
        self.entries[number as usize] = Some(entry);
        number
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.entries.get_mut(number as usize)?.take();
        if entry.is_some() {
            self.free.push(number);
        }
        entry
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.entries.get(number as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(number as usize)?.as_mut()
    }

    /// So many entries come without the others being moved.
    pub(super) fn reserve(&mut self, count: usize) {
        self.entries.reserve(count);
        self.free.reserve(count);
    }

    /// No entry has this number or a higher one.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.iter_from(0)
    }

    pub(super) fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        let entries = self.entries.iter().enumerate().skip(first as usize);
        entries.filter_map(|(number, entry)| Some((number as u32, entry.as_ref()?)))
    }
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: Box<str>,
    /// The age of the tables when it came.
    pub(super) since: u64,
    /// Gone; kept only until its flows are drained.
    pub(super) gone: bool,
    /// It gets nothing more: it is about to go.
    pub(super) muted: bool,
    /// Flows that are open or have messages left.
    pub(super) live_flows: u32,
    /// Deliveries of what it has published that wait for other clients.
    pub(super) pending: u32,
    /// Its queue was full and nobody has been told yet.
    pub(super) overflowed: bool,
    /// What was queued for it since it was last named; if anything, it is among the ready ones. So for guarded ones.
    pub(super) fresh: Fresh,
    pub(super) fresh_guarded: Fresh,
    pub(super) output: OutputQueue,
    /// For guarded deliveries, once there was one.
    pub(super) guarded: Option<Box<OutputQueue>>,
    /// For deliveries that have to go out before guarded ones of the same topics, once there was one; and how many of
    /// which topics these are.
    pub(super) draining: Option<Box<OutputQueue>>,
    pub(super) behind: Vec<(TopicId, u32)>,
    /// Its flows that are open or have messages left, ascending by topic.
    pub(super) flows: Vec<(TopicId, FlowId)>,
    pub(super) subscriptions: Vec<SubscriptionId>,
    /// How many of its subscriptions have terms.
    pub(super) with_terms: usize,
    /// The delivery that the message of a step has for this client, and which step that was.
    pub(super) delivery: (u64, u32),
}

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: Box<str>,
    /// The age of the tables when it came.
    pub(super) since: u64,
    pub(super) share: Share,
    /// Under contract.
    pub(super) guarded: bool,
    /// Under contract, but not in the guarded stage yet; and how many messages wait meanwhile.
    pub(super) drains: bool,
    pub(super) draining: u32,
    /// It is about to be: clients below this number get its messages in their draining queues.
    pub(super) moved: u32,
    /// Flows that are open or have messages left.
    pub(super) flows: Vec<FlowId>,
    /// Deliveries that wait for clients.
    pub(super) pending: u32,
    /// Forgotten; kept only until nothing is pending.
    pub(super) gone: bool,
    pub(super) counters: Counters,
}

/// What a flow was offered with.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) bucket: Option<Bucket>,
}

impl Flow {
    /// Separation of messages that the publisher promised, 0 if none.
    #[inline]
    pub(super) fn min_sep_ns(&self) -> Nanos {
        self.bucket.as_ref().map_or(0, |bucket| bucket.rule().separation_ns())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Subscription {
    pub(super) client: ClientId,
    pub(super) pattern: Box<str>,
    pub(super) terms: Option<Terms>,
    /// Deliveries that wait for its client.
    pub(super) pending: u32,
    /// Changes of it that not all topics have been told of.
    pub(super) errands: u32,
    /// Ended; kept only until nothing is pending, and all topics know.
    pub(super) gone: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) clients: Slots<Client>,
    pub(super) topics: Slots<Topic>,
    pub(super) flows: Slots<Flow>,
    pub(super) subscriptions: Slots<Subscription>,
    /// Trees, since a table that grows would make all wait.
    pub(super) client_names: BTreeMap<Box<str>, ClientId>,
    pub(super) topic_names: BTreeMap<Box<str>, TopicId>,
    /// Rules of recent offers, to be shared by the next ones like them.
    pub(super) rules: HashMap<Limit, Arc<Rule>>,
    /// How many clients and topics have come so far.
    pub(super) age: u64,
    /// Number of the message being matched.
    pub(super) step: u64,
    /// Counts of topics that are gone.
    pub(super) past: Counters,
}

impl Tables {
    pub(super) fn reserve(&mut self, count: usize) {
        self.clients.reserve(count);
        self.topics.reserve(count);
        self.flows.reserve(count);
        self.subscriptions.reserve(count);
    }

    /// A client or topic comes: the age that tells it from those that had its number before.
    pub(super) fn next_age(&mut self) -> u64 {
        self.age += 1;
        self.age
    }

    #[inline]
    pub(super) fn topic_mut(&mut self, topic: TopicId) -> Option<&mut Topic> {
        self.topics.get_mut(topic.0)
    }

    /// A client that has not gone.
    pub(super) fn client(&self, client: ClientId) -> Option<&Client> {
        self.clients.get(client.0).filter(|entry| !entry.gone)
    }

    pub(super) fn client_mut(&mut self, client: ClientId) -> Option<&mut Client> {
        self.clients.get_mut(client.0).filter(|entry| !entry.gone)
    }

    /// The rule for a limit, shared with the other flows that have the same.
    pub(super) fn rule(&mut self, limit: Limit) -> Result<Arc<Rule>, Invalid> {
        if let Some(rule) = self.rules.get(&limit) {
            return Ok(Arc::clone(rule));
        }
        let rule = Arc::new(Rule::new(limit)?);
        if self.rules.len() >= RULES_MAX {
            self.rules.clear();
        }
        self.rules.insert(limit, Arc::clone(&rule));
        Ok(rule)
    }

    /// A delivery of a topic has ended.
    #[inline]
    pub(super) fn settle_topic(&mut self, id: TopicId) {
        let Some(topic) = self.topics.get_mut(id.0) else { return };
        topic.pending -= 1;
        if topic.gone {
            self.forget_topic(id);
        }
    }

    /// A delivery of what a client has published has ended.
    #[inline]
    pub(super) fn settle_client(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id.0) else { return };
        client.pending -= 1;
        if client.gone {
            self.forget_client(id);
        }
    }

    /// A delivery for a subscription has ended.
    #[inline]
    pub(super) fn settle_subscription(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.subscriptions.get_mut(id.0) else { return };
        subscription.pending -= 1;
        if subscription.gone {
            self.forget_subscription(id);
        }
    }

    /// Frees the number of a topic that was forgotten, unless deliveries of it still wait.
    pub(super) fn forget_topic(&mut self, id: TopicId) {
        if let Some(topic) = self.topics.get(id.0).filter(|topic| topic.gone && topic.pending == 0) {
            self.past.add(&topic.counters);
            self.topics.remove(id.0);
        }
    }

    /// Frees the number of a client that is gone, unless messages of it still wait.
    pub(super) fn forget_client(&mut self, id: ClientId) {
        let idle = |client: &Client| client.gone && client.live_flows == 0 && client.pending == 0;
        if self.clients.get(id.0).is_some_and(idle) {
            self.clients.remove(id.0);
        }
    }

    /// Frees the number of a subscription that has ended, unless deliveries for it still wait or topics name it.
    pub(super) fn forget_subscription(&mut self, id: SubscriptionId) {
        if self
            .subscriptions
            .get(id.0)
            .is_some_and(|entry| entry.gone && entry.pending == 0 && entry.errands == 0)
        {
            self.subscriptions.remove(id.0);
        }
    }

    pub(super) fn totals(&self) -> Counters {
        self.topics.iter().fold(self.past, |mut totals, (_, topic)| {
            totals.add(&topic.counters);
            totals
        })
    }
}

impl Client {
    /// The next message for its link: a guarded one if there is one.
    #[inline]
    pub(super) fn pop(&mut self, now: Nanos, lost: &mut Vec<Lost>) -> Option<Outgoing> {
        let first = self.guarded.as_mut().and_then(|queue| queue.pop(now, lost));
        let second = first.or_else(|| self.draining.as_mut().and_then(|queue| queue.pop(now, lost)));
        second.or_else(|| self.output.pop(now, lost))
    }

    /// Messages that wait for it.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        let len = |queue: &Option<Box<OutputQueue>>| queue.as_ref().map_or(0, |queue| queue.len());
        self.output.len() + len(&self.guarded) + len(&self.draining)
    }

    /// Bytes of them.
    #[inline]
    pub(super) fn waiting_bytes(&self) -> u64 {
        let bytes = |queue: &Option<Box<OutputQueue>>| queue.as_ref().map_or(0, |queue| queue.bytes());
        self.output.bytes() + bytes(&self.guarded) + bytes(&self.draining)
    }

    /// The queue that a delivery of a topic goes into: behind those of the topic that are not guarded.
    #[inline]
    pub(super) fn class_for(&self, topic: TopicId, class: Class) -> Class {
        let is_behind = !self.behind.is_empty() && self.behind.iter().any(|&(other, _)| other == topic);
        if is_behind && class == Class::Guarded { Class::Draining } else { class }
    }

    /// One more delivery of a topic is not guarded.
    pub(super) fn put_behind(&mut self, topic: TopicId) {
        match self.behind.iter_mut().find(|(other, _)| *other == topic) {
            Some((_, count)) => *count += 1,
            None => self.behind.push((topic, 1)),
        }
    }

    /// One of them has ended.
    pub(super) fn settle_behind(&mut self, topic: TopicId) {
        let Some(place) = self.behind.iter().position(|&(other, _)| other == topic) else { return };
        self.behind[place].1 -= 1;
        if self.behind[place].1 == 0 {
            self.behind.swap_remove(place);
        }
    }

    /// The client's flow on a topic, open or not yet drained.
    pub(super) fn flow(&self, topic: TopicId) -> Option<FlowId> {
        let found = self.flows.binary_search_by_key(&topic, |&(topic, _)| topic);
        found.ok().map(|place| self.flows[place].1)
    }

    pub(super) fn add_flow(&mut self, topic: TopicId, flow: FlowId) {
        let place = self.flows.partition_point(|&(other, _)| other < topic);
        self.flows.insert(place, (topic, flow));
    }

    pub(super) fn remove_flow(&mut self, topic: TopicId) {
        if let Ok(place) = self.flows.binary_search_by_key(&topic, |&(topic, _)| topic) {
            self.flows.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::{Config, Engine, Need, Offer};
    use crate::input::Share;

    const COUNT: usize = 3_000;

    fn capacities(engine: &Engine) -> [usize; 3] {
        let tables = &engine.tables;
        [
            tables.topics.entries.capacity(),
            tables.flows.entries.capacity(),
            tables.subscriptions.entries.capacity(),
        ]
    }

    #[test]
    fn tables_with_room_are_not_moved_when_topics_flows_and_subscriptions_come() {
        let mut engine = Engine::new(Config::default()).unwrap();
        engine.reserve(COUNT);
        let (before, client) = (capacities(&engine), engine.connect("c").unwrap());
        for n in 0..COUNT {
            let topic = engine.declare(&format!("t/{n}"), Share::default()).unwrap();
            engine.advertise(client, topic, &Offer::default()).unwrap();
            engine.subscribe(client, &format!("t/{n}"), None, &Need::default()).unwrap();
        }
        assert_eq!(capacities(&engine), before);
        assert!(before.iter().all(|&capacity| capacity >= COUNT));
    }
}
