//! Tells topics of a change of a pattern, one after the other, as far as an effort goes.
//!
//! Each visit makes one topic agree with what the pattern is by then, so that changes may come in between, in any order:
//! a visit too many changes nothing. A subscription that has gone may still be listed by topics that have not been told.

use std::collections::BTreeSet;

use super::fanout::{Fanout, put_in, take_out, take_out_sorted};
use super::topic;
use crate::effort::Effort;
use crate::id::{SubscriptionId, TopicId};

/// Names that are looked at to find the topics of a new pattern at once; if there are more, all topics are gone through.
const WALK_MAX: usize = 256;
/// Subscriptions in a list that cost as much as a topic, when the list is changed and when it is made anew.
const CHANGED_PER_UNIT: usize = 1_024;
const MADE_PER_UNIT: usize = 16;

/// A change that topics have to be told of.
#[derive(Debug)]
pub struct Errand {
    pattern: u32,
    /// Which of the patterns with that number.
    birth: u64,
    change: Change,
}

impl Errand {
    /// The pattern that it is about.
    pub(super) fn pattern(&self) -> u32 {
        self.pattern
    }

    fn is_appearance(&self) -> bool {
        matches!(self.change, Change::Appear(..) | Change::AppearFrom(..))
    }
}

#[derive(Debug)]
enum Change {
    /// Not all topics know of the pattern of this subscription: these are left.
    Appear(SubscriptionId, BTreeSet<TopicId>),
    /// The same, for all topics from a number on.
    AppearFrom(SubscriptionId, u32),
    /// It has a subscription more without a filter, or less: for its topics from a number on.
    Join(SubscriptionId, u32),
    Leave(SubscriptionId, u32),
    /// It has subscriptions with a filter now, or none any more.
    Filter(u32),
    /// Nobody subscribes to it.
    Vanish,
}

impl Fanout {
    /// A subscription begins.
    pub(super) fn add(&mut self, text: &str, id: SubscriptionId, is_filtered: bool) -> Errand {
        let number = self.pattern(text);
        let pattern = &mut self.patterns[number as usize];
        if is_filtered {
            pattern.filtered += 1;
        } else {
            put_in(&mut pattern.unfiltered, id);
        }
        let (is_known, birth) = (pattern.is_known, pattern.birth);
        let change = match (is_known, is_filtered) {
            (false, _) => self.appearance(text, id),
            (true, true) => Change::Filter(0),
            (true, false) => Change::Join(id, 0),
        };
        Errand { pattern: number, birth, change }
    }

    fn appearance(&self, text: &str, id: SubscriptionId) -> Change {
        if !text.contains(['+', '#']) {
            return Change::Appear(id, self.named(text).into_iter().collect());
        }
        match self.topic_trie.covered_within(text, WALK_MAX) {
            Some(found) => Change::Appear(id, found.into_iter().map(TopicId).collect()),
            None => Change::AppearFrom(id, 0),
        }
    }

    /// A subscription ends.
    pub(super) fn remove(&mut self, number: u32, id: SubscriptionId, is_filtered: bool) -> Errand {
        let pattern = &mut self.patterns[number as usize];
        if is_filtered {
            pattern.filtered -= 1;
        } else {
            take_out_sorted(&mut pattern.unfiltered, id);
        }
        let birth = pattern.birth;
        let change = if pattern.is_unused() {
            self.withdraw(number);
            Change::Vanish
        } else if is_filtered {
            Change::Filter(0)
        } else {
            Change::Leave(id, 0)
        };
        Errand { pattern: number, birth, change }
    }

    /// Goes on with an errand as far as the effort goes; whether it is done.
    pub(super) fn run(&mut self, errand: &mut Errand, effort: &mut Effort) -> bool {
        let pattern = errand.pattern;
        while !effort.is_spent() {
            effort.spend(1);
            if self.patterns[pattern as usize].birth != errand.birth {
                // It is gone, and no topic knows of it.
                return true;
            }
            let is_more = match &mut errand.change {
                Change::Appear(id, topics) => {
                    let next = topics.pop_first();
                    next.map(|topic| effort.spend(self.attach(pattern, topic, *id))).is_some()
                }
                Change::AppearFrom(id, next) => {
                    effort.spend(self.attach(pattern, TopicId(*next), *id));
                    *next = next.saturating_add(1);
                    *next < self.topics_end
                }
                Change::Join(id, next) => {
                    let id = *id;
                    self.visit(pattern, next, effort, |fanout, topic| fanout.join(pattern, topic, id))
                }
                Change::Leave(id, next) => {
                    let id = *id;
                    self.visit(pattern, next, effort, |fanout, topic| fanout.leave(pattern, topic, id))
                }
                Change::Filter(next) => {
                    self.visit(pattern, next, effort, |fanout, topic| fanout.filter(pattern, topic))
                }
                Change::Vanish => self.detach_last(pattern, effort),
            };
            if !is_more {
                self.patterns[pattern as usize].is_known |= errand.is_appearance();
                return true;
            }
        }
        false
    }

    /// Visits the pattern's first topic from `next` on; false if there is none.
    fn visit(
        &mut self,
        pattern: u32,
        next: &mut u32,
        effort: &mut Effort,
        change: impl Fn(&mut Self, TopicId) -> usize,
    ) -> bool {
        let topics = &self.patterns[pattern as usize].topics;
        let Some(&topic) = topics.range(TopicId(*next)..).next() else { return false };
        *next = topic.0.saturating_add(1);
        effort.spend(change(self, topic));
        true
    }

    /// A topic knows of a pattern that covers it, and of its new subscription. Returns the units of that, as the others do.
    fn attach(&mut self, number: u32, id: TopicId, subscription: SubscriptionId) -> usize {
        let pattern = &mut self.patterns[number as usize];
        let Some(topic) = self.topics.get_mut(id.0) else { return 0 };
        if !topic::matches(&pattern.text, &topic.name) {
            return 0;
        }
        let is_new = pattern.topics.insert(id);
        if is_new {
            topic.patterns.push(number);
        }
        self.filter(number, id);
        if is_new { self.merge_anew(id) } else { self.join(number, id, subscription) }
    }

    fn merge_anew(&mut self, id: TopicId) -> usize {
        self.merge(id);
        1 + self.topics.get(id.0).map_or(0, |topic| topic.merged.len() / MADE_PER_UNIT)
    }

    fn join(&mut self, pattern: u32, id: TopicId, subscription: SubscriptionId) -> usize {
        if self.patterns[pattern as usize].unfiltered.binary_search(&subscription).is_err() {
            return 0;
        }
        match self.topics.get_mut(id.0) {
            Some(topic) if !topic.merged.is_empty() => {
                put_in(&mut topic.merged, subscription);
                topic.merged.len() / CHANGED_PER_UNIT
            }
            _ => self.merge_anew(id),
        }
    }

    fn leave(&mut self, pattern: u32, id: TopicId, subscription: SubscriptionId) -> usize {
        let is_empty = self.patterns[pattern as usize].unfiltered.is_empty();
        match self.topics.get_mut(id.0) {
            Some(topic) if !is_empty => {
                take_out_sorted(&mut topic.merged, subscription);
                topic.merged.len() / CHANGED_PER_UNIT
            }
            _ => self.merge_anew(id),
        }
    }

    fn filter(&mut self, pattern: u32, id: TopicId) -> usize {
        let is_filtered = self.patterns[pattern as usize].filtered > 0;
        if let Some(topic) = self.topics.get_mut(id.0) {
            match (is_filtered, topic.filtered.contains(&pattern)) {
                (true, false) => topic.filtered.push(pattern),
                (false, true) => take_out(&mut topic.filtered, pattern),
                _ => {}
            }
        }
        0
    }

    /// A topic of a pattern that nobody subscribes to forgets it; false if none knew of it.
    fn detach_last(&mut self, pattern: u32, effort: &mut Effort) -> bool {
        let Some(id) = self.patterns[pattern as usize].topics.pop_last() else {
            self.free(pattern);
            return false;
        };
        if let Some(topic) = self.topics.get_mut(id.0) {
            take_out(&mut topic.patterns, pattern);
            take_out(&mut topic.filtered, pattern);
            effort.spend(self.merge_anew(id));
        }
        true
    }
}
