//! What waits in output queues: one message for one client, with the subscriptions that it is for.

use crate::engine::class::Class;
use crate::id::{ClientId, Nanos, SubscriptionId, TopicId};
use crate::store::{Message, MessageId};

/// A message on its way to one client, as the driver of a link sees it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The data frame, ready to be written.
    pub frame: &'a [u8],
    /// Its topic.
    pub topic: TopicId,
    /// Who published it.
    pub source: ClientId,
    /// Nothing is promised to this client, whatever the frame says: it goes behind messages that were not guarded.
    pub behind: bool,
    /// When it came in.
    pub ingress_ns: Nanos,
    /// The client's subscriptions that it matched.
    pub subscriptions: &'a [SubscriptionId],
}

/// The subscriptions of one delivery. Nearly always it is one, which needs no memory of its own.
#[derive(Debug)]
pub(super) enum Matched {
    None,
    One([SubscriptionId; 1]),
    Many(Vec<SubscriptionId>),
}

impl Matched {
    #[inline]
    pub(super) fn as_slice(&self) -> &[SubscriptionId] {
        match self {
            Self::None => &[],
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, subscription: SubscriptionId) {
        match self {
            Self::None => *self = Self::One([subscription]),
            Self::One([first]) => *self = Self::Many(vec![*first, subscription]),
            Self::Many(many) => many.push(subscription),
        }
    }
}

/// One entry; its place is used again by the next with its number.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) message: MessageId,
    pub(super) client: ClientId,
    pub(super) topic: TopicId,
    /// Who published it.
    pub(super) source: ClientId,
    /// What the publisher promised, 0 if nothing: its flow may be gone before the delivery is.
    pub(super) min_sep_ns: Nanos,
    /// The queue that it waits in.
    pub(super) class: Class,
    pub(super) subscriptions: Matched,
}

impl Waiting {
    /// The same as the driver of a link sees it.
    #[inline]
    pub(super) fn as_delivery<'a>(&'a self, message: &Message, frame: &'a [u8]) -> Delivery<'a> {
        Delivery {
            frame,
            topic: self.topic,
            source: self.source,
            behind: self.class == Class::Draining,
            ingress_ns: message.ingress_ns,
            subscriptions: self.subscriptions.as_slice(),
        }
    }
}

/// Entries by token.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    entries: Vec<Waiting>,
    free: Vec<u32>,
}

impl Deliveries {
    #[inline]
    pub(super) fn insert(&mut self, new: Waiting) -> u32 {
        if let Some(token) = self.free.pop() {
            self.entries[token as usize] = new;
            return token;
        }
        self.entries.push(new);
        self.entries.len() as u32 - 1
    }

    #[inline]
    pub(super) fn get(&self, token: u32) -> Option<&Waiting> {
        self.entries.get(token as usize).filter(|entry| !matches!(entry.subscriptions, Matched::None))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, token: u32) -> Option<&mut Waiting> {
        self.entries.get_mut(token as usize).filter(|entry| !matches!(entry.subscriptions, Matched::None))
    }

    #[inline]
    pub(super) fn remove(&mut self, token: u32) {
        if let Some(entry) = self.get_mut(token) {
            entry.subscriptions = Matched::None;
            self.free.push(token);
        }
    }
}
