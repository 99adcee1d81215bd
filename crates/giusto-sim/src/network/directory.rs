//! Whom a message is for: matched once, when it is published, and sorted into the order of its tree.
//!
//! Subscriptions are numbered by broker here, so that the matcher's ascending answer is one run per broker;
//! the runs are put into the depth-first order of the tree, after which every copy is a range of runs.

use std::collections::HashMap;

use giusto_core::error::Invalid;
use giusto_core::frame::attributes::Attributes;
use giusto_core::id::{Nanos, SubscriptionId, TopicId};
use giusto_core::matching::Matcher;
use giusto_core::output::NO_DEADLINE_NS;

use super::routes::{NONE, Tree};
use super::scenario::{Scenario, Topic};

/// A subscription as forwarding sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeker {
    /// Its place in the scenario.
    pub(super) number: u32,
    pub(super) broker: u32,
    pub(super) deadline_ns: Nanos,
    pub(super) delay_ns: Nanos,
    pub(super) price: f64,
    pub(super) penalty: f64,
}

impl Seeker {
    /// Whether it pays or has a deadline.
    #[inline]
    pub(super) fn asks(&self) -> bool {
        self.deadline_ns < NO_DEADLINE_NS || self.price > 0.0 || self.penalty > 0.0
    }
}

/// The subscriptions of one broker in a [`Matched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) node: u32,
    /// Where they are in the list of seekers.
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The subscriptions that one message is for.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    /// In the order of the tree's nodes.
    pub(super) groups: Vec<Group>,
    pub(super) seekers: Vec<u32>,
    /// Kept for further messages.
    shared: bool,
}

/// All subscriptions, and the sets that messages on their way refer to.
#[derive(Debug)]
pub(super) struct Directory {
    matcher: Matcher,
    pub(super) seekers: Vec<Seeker>,
    found: Vec<SubscriptionId>,
    sets: Vec<Matched>,
    free: Vec<u32>,
    /// The set of each pair of tree and topic that no filter looks at.
    shared: HashMap<(u32, u32), u32>,
}

impl Directory {
    pub(super) fn new(scenario: &Scenario) -> Result<Self, Invalid> {
        let mut order: Vec<u32> = (0..scenario.subscribers.len() as u32).collect();
        order.sort_by_key(|&number| scenario.subscribers[number as usize].broker);
        let mut matcher = Matcher::new();
        for (n, Topic { name, .. }) in scenario.topics.iter().enumerate() {
            let added = matcher.add_topic(TopicId(n as u32), name);
            added.map_err(|fault| Invalid::new(format!("topics[{n}].name"), name, fault.to_string()))?;
        }
        let mut seekers = Vec::with_capacity(order.len());
        for (id, &number) in order.iter().enumerate() {
            let subscriber = &scenario.subscribers[number as usize];
            let id = SubscriptionId(id as u32);
            let added = matcher.subscribe(id, &subscriber.pattern, subscriber.filter.as_ref());
            added.map_err(|fault| {
                let field = format!("subscribers[{number}].pattern");
                Invalid::new(field, &subscriber.pattern, fault.to_string())
            })?;
            seekers.push(Seeker {
                number,
                broker: subscriber.broker,
                deadline_ns: subscriber.deadline_ns.unwrap_or(NO_DEADLINE_NS),
                delay_ns: subscriber.delay_ns,
                price: subscriber.price,
                penalty: subscriber.penalty,
            });
        }
        let (found, sets, free, shared) = Default::default();
        Ok(Self { matcher, seekers, found, sets, free, shared })
    }

    /// The set of a message on `topic` from the root of tree number `number`.
    pub(super) fn matched(&mut self, number: u32, tree: &Tree, topic: u32, block: &[u8]) -> u32 {
        let constant = !self.matcher.is_filtered(TopicId(topic));
        if constant {
            if let Some(&set) = self.shared.get(&(number, topic)) {
                return set;
            }
        }
        let attributes = Attributes::decode(block).unwrap_or_default();
        if self.matcher.matching(TopicId(topic), attributes, &mut self.found).is_err() {
            self.found.clear();
        }
        let set = self.free.pop().unwrap_or_else(|| {
            self.sets.push(Matched::default());
            self.sets.len() as u32 - 1
        });
        self.sets[set as usize].fill(tree, &self.found, &self.seekers);
        if constant {
            self.sets[set as usize].shared = true;
            self.shared.insert((number, topic), set);
        }
        set
    }

    #[inline]
    pub(super) fn set(&self, set: u32) -> &Matched {
        &self.sets[set as usize]
    }

    /// No message refers to `set` any more.
    #[inline]
    pub(super) fn release(&mut self, set: u32) {
        if !self.sets[set as usize].shared {
            self.free.push(set);
        }
    }
}

impl Matched {
    fn fill(&mut self, tree: &Tree, found: &[SubscriptionId], seekers: &[Seeker]) {
        self.groups.clear();
        self.seekers.clear();
        self.seekers.extend(found.iter().map(|id| id.0));
        let same_broker = |a: &u32, b: &u32| seekers[*a as usize].broker == seekers[*b as usize].broker;
        let mut from = 0;
        for run in self.seekers.chunk_by(same_broker) {
            let to = from + run.len() as u32;
            let node = tree.node_of[seekers[run[0] as usize].broker as usize];
            // Before the run it was checked that every subscription that can match is reached.
            if node != NONE {
                self.groups.push(Group { node, from, to });
            }
            from = to;
        }
        self.groups.sort_unstable_by_key(|group| group.node);
    }
}
