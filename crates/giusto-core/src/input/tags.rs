//! Serves topics by the least tag: each topic that has messages has one slot with a tag, and when
//! the slot is used the next one's tag is chained to it.
//!
//! What a tag means is the policy's: virtual time (`fair`) or real time (`edf`). A slot belongs to the
//! topic: it is tagged for the message that has waited longest and goes to the most urgent one, the
//! oldest of equals, so that priorities change who is served inside a topic but not when. Ties between topics go to the topic
//! with the lower number. O(log topics with messages) per quantum.

use std::fmt::Debug;

use crate::error::Invalid;
use crate::id::{FlowId, Nanos, TopicId};
use crate::input::heap::{Heap, TOPICS_MAX};
use crate::input::{InputStage, Share};
use crate::queue::{Lanes, Queues, Served};

/// How slots of one policy are tagged.
pub(super) trait Tagging: Debug + Send + Sync {
    /// Whether a share can be allotted.
    fn check(&self, share: &Share) -> Result<(), Invalid>;

    /// Sets the share of a topic; slots from the next one on have it.
    fn allot(&mut self, topic: usize, share: &Share);

    /// So many topics come without the others being moved.
    fn reserve(&mut self, topics: usize);

    /// The topic is gone: another one with its number has no past.
    fn withdraw(&mut self, topic: usize);

    /// Tag of a topic's next slot, below 2¹⁰⁴. `oldest_ns` tells when the message that has waited longest came in.
    fn tag(&mut self, topic: usize, oldest_ns: impl FnOnce() -> Nanos) -> u128;

    /// The slot with this tag is being used.
    fn used(&mut self, tag: u128);

    /// Nothing waits and nothing is being served.
    fn idle(&mut self);
}

/// State of a tag-driven policy.
#[derive(Debug)]
pub(super) struct Tags<T: Tagging> {
    tagging: T,
    slots: Heap,
}

impl<T: Tagging> Tags<T> {
    pub(super) fn new(tagging: T) -> Self {
        Self { tagging, slots: Heap::default() }
    }
}

impl<T: Tagging> InputStage for Tags<T> {
    fn lanes(&self) -> Lanes {
        Lanes::PerTopic
    }

    fn check(&self, topic: TopicId, share: &Share) -> Result<(), Invalid> {
        if topic.0 >= TOPICS_MAX {
            return Err(Invalid::new("topic", topic.0, format!("less than {TOPICS_MAX}")));
        }
        self.tagging.check(share)
    }

    fn allot(&mut self, topic: TopicId, share: &Share) {
        self.tagging.allot(topic.index(), share);
    }

    fn reserve(&mut self, topics: usize) {
        self.tagging.reserve(topics);
    }

    fn withdraw(&mut self, topic: TopicId) {
        self.tagging.withdraw(topic.index());
        self.slots.remove(topic.0);
    }

    fn join(&mut self, _queues: &mut Queues, _topic: TopicId, _flow: FlowId) {}

    fn leave(&mut self, _queues: &Queues, _topic: TopicId, _flow: FlowId) {}

    #[inline]
    fn arrived(&mut self, queues: &Queues, topic: TopicId, _flow: FlowId) {
        if !queues.is_lane_empty(topic.index()) {
            let tag =
                self.tagging.tag(topic.index(), || queues.oldest_ns(topic.index()).unwrap_or(Nanos::MIN));
            self.slots.push(tag, topic.0);
        }
    }

    #[inline]
    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served> {
        let Some((tag, topic)) = self.slots.least() else {
            self.tagging.idle();
            return None;
        };
        self.tagging.used(tag);
        let served = queues.serve(now, topic as usize);
        if queues.is_lane_empty(topic as usize) {
            self.slots.pop();
        } else {
            let tag =
                self.tagging.tag(topic as usize, || queues.oldest_ns(topic as usize).unwrap_or(Nanos::MIN));
            self.slots.replace(tag, topic);
        }
        served
    }
}
