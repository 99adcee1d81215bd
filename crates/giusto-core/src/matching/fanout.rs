//! Who receives a topic without looking at the event: patterns, topics, and which covers which.
//!
//! What subscriptions without a filter receive is known before any event comes. A topic that one
//! pattern covers shares that pattern's list; a topic that several cover has a merged list of its
//! own. All lists are kept sorted as subscriptions come and go, so that an event only reads.
//!
//! A change of a pattern is told to its topics one after the other ([`Errand`](super::spread::Errand)):
//! whoever is not concerned by the change receives every topic meanwhile as before.

use std::collections::{BTreeMap, BTreeSet};

use super::pages::Pages;
use super::topic;
use super::trie::Trie;
use crate::error::ChangeError;
use crate::id::{SubscriptionId, TopicId};

/// A pattern with everyone who subscribed to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    pub(super) text: Box<str>,
    /// Which of all patterns it is that had its number, or will.
    pub(super) birth: u64,
    /// All topics that it covers know of it.
    pub(super) is_known: bool,
    /// Subscriptions without a filter, ascending.
    pub(super) unfiltered: Vec<SubscriptionId>,
    pub(super) filtered: u32,
    /// The topics that know of it.
    pub(super) topics: BTreeSet<TopicId>,
}

impl Pattern {
    pub(super) fn is_unused(&self) -> bool {
        self.filtered == 0 && self.unfiltered.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Topic {
    pub(super) name: Box<str>,
    /// The patterns that cover it.
    pub(super) patterns: Vec<u32>,
    /// Those of them with filtered subscriptions.
    pub(super) filtered: Vec<u32>,
    /// The pattern whose list it shares, if only one has any unfiltered subscriptions.
    shared: Option<u32>,
    /// All unfiltered subscriptions, if more than one pattern has any.
    pub(super) merged: Vec<SubscriptionId>,
}

/// Levels that a name has of its own, as a guess.
const LEVELS: usize = 2;

/// Topics, patterns, and the lists between them. No hash tables: one that grows would make all wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Fanout {
    pub(super) patterns: Vec<Pattern>,
    free: Vec<u32>,
    births: u64,
    pattern_numbers: BTreeMap<Box<str>, u32>,
    pattern_trie: Trie,
    pub(super) topics: Pages<Topic>,
    pub(super) topic_trie: Trie,
    topic_names: BTreeMap<Box<str>, TopicId>,
    /// No topic has had this number or a higher one.
    pub(super) topics_end: u32,
}

impl Fanout {
    pub(super) fn reserve(&mut self, count: usize) {
        self.patterns.reserve(count);
        self.pattern_trie.reserve(LEVELS * count);
        self.topic_trie.reserve(LEVELS * count);
    }

    pub(super) fn add_topic(&mut self, id: TopicId, name: &str) -> Result<(), ChangeError> {
        topic::check_name(name)?;
        if self.topics.get(id.0).is_some() {
            return Err(ChangeError::duplicate("topic", id.0));
        }
        if self.topic_names.contains_key(name) {
            return Err(ChangeError::duplicate("topic", name));
        }
        let mut patterns = Vec::new();
        self.pattern_trie.covering(name, &mut patterns);
        let filtered = patterns.iter().copied().filter(|&p| self.patterns[p as usize].filtered > 0).collect();
        for &pattern in &patterns {
            self.patterns[pattern as usize].topics.insert(id);
        }
        self.topics.insert(id.0, Topic { name: name.into(), patterns, filtered, ..Topic::default() });
        self.topic_trie.insert(name, id.0);
        self.topic_names.insert(name.into(), id);
        self.topics_end = self.topics_end.max(id.0.saturating_add(1));
        self.merge(id);
        Ok(())
    }

    pub(super) fn remove_topic(&mut self, id: TopicId) -> Result<(), ChangeError> {
        let topic = self.topics.remove(id.0).ok_or_else(|| ChangeError::unknown("topic", id.0))?;
        self.topic_trie.remove(&topic.name);
        self.topic_names.remove(&topic.name);
        for pattern in topic.patterns {
            self.patterns[pattern as usize].topics.remove(&id);
        }
        Ok(())
    }

    /// The number of the pattern, which is new if nobody subscribed to it before: then no topic knows of it yet.
    pub(super) fn pattern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.pattern_numbers.get(text) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.patterns.push(Pattern::default());
            self.patterns.len() as u32 - 1
        });
        self.births += 1;
        self.patterns[number as usize] =
            Pattern { text: text.into(), birth: self.births, ..Pattern::default() };
        self.pattern_numbers.insert(text.into(), number);
        self.pattern_trie.insert(text, number);
        number
    }

    /// A pattern that nobody subscribes to covers no new topic; those that know of it are to be told.
    pub(super) fn withdraw(&mut self, number: u32) {
        let text = std::mem::take(&mut self.patterns[number as usize].text);
        self.pattern_numbers.remove(&text);
        self.pattern_trie.remove(&text);
    }

    /// No topic knows of the pattern any more.
    pub(super) fn free(&mut self, number: u32) {
        self.patterns[number as usize] = Pattern::default();
        self.free.push(number);
    }

    /// The topic of that name.
    pub(super) fn named(&self, name: &str) -> Option<TopicId> {
        self.topic_names.get(name).copied()
    }

    /// The unfiltered subscriptions of a topic, and the patterns with filtered ones.
    #[inline]
    pub(super) fn receivers(&self, id: TopicId) -> Option<(&[SubscriptionId], &[u32])> {
        let topic = self.topics.get(id.0)?;
        let unfiltered = match topic.shared {
            Some(pattern) => &self.patterns[pattern as usize].unfiltered,
            None => &topic.merged,
        };
        Some((unfiltered, &topic.filtered))
    }

    /// Whether `pattern` covers the topic.
    pub(super) fn covers(&self, pattern: u32, id: TopicId) -> Option<bool> {
        self.topics.get(id.0).map(|topic| topic.patterns.contains(&pattern))
    }

    /// Finds out anew whose list a topic shares, or merges them: needed when the number of patterns with
    /// unfiltered subscriptions changes.
    pub(super) fn merge(&mut self, id: TopicId) {
        let Some(topic) = self.topics.get_mut(id.0) else { return };
        let patterns = &self.patterns;
        let own = || {
            let all = topic.patterns.iter().copied();
            all.filter(|&pattern| !patterns[pattern as usize].unfiltered.is_empty())
        };
        let mut merged = Vec::new();
        let shared = if own().nth(1).is_none() { own().next() } else { None };
        if shared.is_none() {
            own().for_each(|pattern| merged.extend_from_slice(&patterns[pattern as usize].unfiltered));
            merged.sort_unstable();
        }
        (topic.shared, topic.merged) = (shared, merged);
    }
}

pub(super) fn put_in(list: &mut Vec<SubscriptionId>, id: SubscriptionId) {
    if let Err(at) = list.binary_search(&id) {
        list.insert(at, id);
    }
}

pub(super) fn take_out_sorted(list: &mut Vec<SubscriptionId>, id: SubscriptionId) {
    if let Ok(at) = list.binary_search(&id) {
        list.remove(at);
    }
}

pub(super) fn take_out<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if let Some(at) = list.iter().position(|other| *other == item) {
        list.swap_remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_names_with_room_are_not_moved_when_others_come() {
        let mut fanout = Fanout::default();
        fanout.reserve(3_000);
        let capacities = |fanout: &Fanout| {
            let tries = [&fanout.pattern_trie, &fanout.topic_trie].map(Trie::capacity);
            (fanout.patterns.capacity(), tries)
        };
        let before = capacities(&fanout);
        for n in 0..3_000 {
            fanout.pattern(&format!("{n}/+"));
            fanout.add_topic(TopicId(n), &format!("{n}/b")).unwrap();
        }
        assert_eq!(capacities(&fanout), before);
    }
}
