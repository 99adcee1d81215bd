//! Who receives a topic without looking at the event: patterns, topics, and which covers which.
//!
//! What subscriptions without a filter receive is known before any event comes. A topic that one
//! pattern covers shares that pattern's list; a topic that several cover has a merged list of its
//! own. All lists are kept sorted as subscriptions come and go, so that an event only reads.

use super::hash::Table;
use super::topic;
use super::trie::Trie;
use crate::error::ChangeError;
use crate::id::{SubscriptionId, TopicId};

/// A pattern with everyone who subscribed to it.
#[derive(Clone, Debug, Default)]
struct Pattern {
    text: Box<str>,
    /// Subscriptions without a filter, ascending.
    unfiltered: Vec<SubscriptionId>,
    filtered: u32,
    topics: Vec<TopicId>,
}

#[derive(Clone, Debug)]
struct Topic {
    name: Box<str>,
    /// The patterns that cover it.
    patterns: Vec<u32>,
    /// Those of them with filtered subscriptions.
    filtered: Vec<u32>,
    /// All unfiltered subscriptions, if more than one pattern has any.
    merged: Vec<SubscriptionId>,
}

/// Topics, patterns, and the lists between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Fanout {
    patterns: Vec<Pattern>,
    free: Vec<u32>,
    pattern_numbers: Table<Box<str>, u32>,
    pattern_trie: Trie,
    topics: Table<TopicId, Topic>,
    topic_trie: Trie,
    topic_names: Table<Box<str>, TopicId>,
}

impl Fanout {
    pub(super) fn add_topic(&mut self, id: TopicId, name: &str) -> Result<(), ChangeError> {
        topic::check_name(name)?;
        if self.topics.contains_key(&id) {
            return Err(ChangeError::duplicate("topic", id.0));
        }
        if self.topic_names.contains_key(name) {
            return Err(ChangeError::duplicate("topic", name));
        }
        let mut patterns = Vec::new();
        self.pattern_trie.covering(name, &mut patterns);
        let filtered = patterns.iter().copied().filter(|&p| self.patterns[p as usize].filtered > 0).collect();
        for &pattern in &patterns {
            self.patterns[pattern as usize].topics.push(id);
        }
        self.topics.insert(id, Topic { name: name.into(), patterns, filtered, merged: Vec::new() });
        self.topic_trie.insert(name, id.0);
        self.topic_names.insert(name.into(), id);
        self.merge(id);
        Ok(())
    }

    pub(super) fn remove_topic(&mut self, id: TopicId) -> Result<(), ChangeError> {
        let topic = self.topics.remove(&id).ok_or_else(|| ChangeError::unknown("topic", id.0))?;
        self.topic_trie.remove(&topic.name);
        self.topic_names.remove(&topic.name);
        for pattern in topic.patterns {
            take_out(&mut self.patterns[pattern as usize].topics, id);
        }
        Ok(())
    }

    /// The number of the pattern, which is new if nobody subscribed to it before.
    pub(super) fn pattern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.pattern_numbers.get(text) {
            return number;
        }
        let mut covered = Vec::new();
        self.topic_trie.covered(text, &mut covered);
        let topics: Vec<TopicId> = covered.into_iter().map(TopicId).collect();
        let number = self.free.pop().unwrap_or_else(|| {
            self.patterns.push(Pattern::default());
            self.patterns.len() as u32 - 1
        });
        for id in &topics {
            if let Some(topic) = self.topics.get_mut(id) {
                topic.patterns.push(number);
            }
        }
        self.patterns[number as usize] = Pattern { text: text.into(), topics, ..Pattern::default() };
        self.pattern_numbers.insert(text.into(), number);
        self.pattern_trie.insert(text, number);
        number
    }

    pub(super) fn add_unfiltered(&mut self, pattern: u32, id: SubscriptionId) {
        let was_empty = self.patterns[pattern as usize].unfiltered.is_empty();
        put_in(&mut self.patterns[pattern as usize].unfiltered, id);
        self.each_topic(pattern, |fanout, topic| match fanout.topics.get_mut(&topic) {
            Some(topic) if !was_empty && !topic.merged.is_empty() => put_in(&mut topic.merged, id),
            _ if was_empty => fanout.merge(topic),
            _ => {}
        });
    }

    pub(super) fn remove_unfiltered(&mut self, pattern: u32, id: SubscriptionId) {
        take_out_sorted(&mut self.patterns[pattern as usize].unfiltered, id);
        let is_empty = self.patterns[pattern as usize].unfiltered.is_empty();
        self.each_topic(pattern, |fanout, topic| match fanout.topics.get_mut(&topic) {
            Some(topic) if !is_empty => take_out_sorted(&mut topic.merged, id),
            _ => fanout.merge(topic),
        });
        self.drop_if_unused(pattern);
    }

    pub(super) fn add_filtered(&mut self, pattern: u32) {
        self.patterns[pattern as usize].filtered += 1;
        if self.patterns[pattern as usize].filtered == 1 {
            self.each_topic(pattern, |fanout, topic| {
                if let Some(topic) = fanout.topics.get_mut(&topic) {
                    topic.filtered.push(pattern);
                }
            });
        }
    }

    pub(super) fn remove_filtered(&mut self, pattern: u32) {
        self.patterns[pattern as usize].filtered -= 1;
        if self.patterns[pattern as usize].filtered == 0 {
            self.each_topic(pattern, |fanout, topic| {
                if let Some(topic) = fanout.topics.get_mut(&topic) {
                    take_out(&mut topic.filtered, pattern);
                }
            });
        }
        self.drop_if_unused(pattern);
    }

    /// The unfiltered subscriptions of a topic, and the patterns with filtered ones.
    #[inline]
    pub(super) fn receivers(&self, id: TopicId) -> Option<(&[SubscriptionId], &[u32])> {
        let topic = self.topics.get(&id)?;
        let unfiltered = if topic.merged.is_empty() {
            let lists = topic.patterns.iter().map(|&pattern| &self.patterns[pattern as usize].unfiltered);
            lists.filter(|list| !list.is_empty()).map(Vec::as_slice).next().unwrap_or_default()
        } else {
            topic.merged.as_slice()
        };
        Some((unfiltered, &topic.filtered))
    }

    /// Whether `pattern` covers the topic.
    pub(super) fn covers(&self, pattern: u32, id: TopicId) -> Option<bool> {
        self.topics.get(&id).map(|topic| topic.patterns.contains(&pattern))
    }

    /// Makes the merged list of a topic anew: needed when the number of patterns with unfiltered
    /// subscriptions changes.
    fn merge(&mut self, id: TopicId) {
        let Some(topic) = self.topics.get_mut(&id) else { return };
        let patterns = &self.patterns;
        let lists = || {
            let all = topic.patterns.iter().map(|&pattern| &patterns[pattern as usize].unfiltered);
            all.filter(|list| !list.is_empty())
        };
        let mut merged = Vec::new();
        if lists().count() > 1 {
            lists().for_each(|list| merged.extend_from_slice(list));
            merged.sort_unstable();
        }
        topic.merged = merged;
    }

    fn each_topic(&mut self, pattern: u32, mut change: impl FnMut(&mut Self, TopicId)) {
        let topics = std::mem::take(&mut self.patterns[pattern as usize].topics);
        for &topic in &topics {
            change(self, topic);
        }
        self.patterns[pattern as usize].topics = topics;
    }

    fn drop_if_unused(&mut self, number: u32) {
        let pattern = &self.patterns[number as usize];
        if pattern.filtered > 0 || !pattern.unfiltered.is_empty() {
            return;
        }
        let pattern = std::mem::take(&mut self.patterns[number as usize]);
        self.pattern_numbers.remove(&pattern.text);
        self.pattern_trie.remove(&pattern.text);
        for id in pattern.topics {
            if let Some(topic) = self.topics.get_mut(&id) {
                take_out(&mut topic.patterns, number);
            }
        }
        self.free.push(number);
    }
}

fn put_in(list: &mut Vec<SubscriptionId>, id: SubscriptionId) {
    if let Err(at) = list.binary_search(&id) {
        list.insert(at, id);
    }
}

fn take_out_sorted(list: &mut Vec<SubscriptionId>, id: SubscriptionId) {
    if let Ok(at) = list.binary_search(&id) {
        list.remove(at);
    }
}

fn take_out<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if let Some(at) = list.iter().position(|other| *other == item) {
        list.swap_remove(at);
    }
}
