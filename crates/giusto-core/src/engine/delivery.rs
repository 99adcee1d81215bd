//! What waits in output queues: one message for one client, with the subscriptions that it is for.

use crate::id::{ClientId, Nanos, SubscriptionId, TopicId};
use crate::store::MessageId;

/// A message on its way to one client, as the driver of a link sees it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The data frame, ready to be written.
    pub frame: &'a [u8],
    /// Its topic.
    pub topic: TopicId,
    /// Who published it.
    pub source: ClientId,
    /// When it came in.
    pub ingress_ns: Nanos,
    /// The client's subscriptions that it matched.
    pub subscriptions: &'a [SubscriptionId],
}

/// One entry; its memory is used again by the next with its number.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) message: MessageId,
    pub(super) client: ClientId,
    pub(super) topic: TopicId,
    /// Who published it.
    pub(super) source: ClientId,
    /// What the publisher promised, 0 if nothing: its flow may be gone before the delivery is.
    pub(super) min_sep_ns: Nanos,
    pub(super) subscriptions: Vec<SubscriptionId>,
}

/// Entries by token.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    entries: Vec<Waiting>,
    free: Vec<u32>,
}

impl Deliveries {
    /// A delivery of `message` to `client`, for one subscription so far.
    #[inline]
    pub(super) fn insert(&mut self, new: Waiting, first: SubscriptionId) -> u32 {
        if let Some(token) = self.free.pop() {
            let entry = &mut self.entries[token as usize];
            let subscriptions = std::mem::take(&mut entry.subscriptions);
            *entry = Waiting { subscriptions, ..new };
            entry.subscriptions.push(first);
            return token;
        }
        self.entries.push(Waiting { subscriptions: vec![first], ..new });
        self.entries.len() as u32 - 1
    }

    #[inline]
    pub(super) fn get(&self, token: u32) -> Option<&Waiting> {
        self.entries.get(token as usize).filter(|entry| !entry.subscriptions.is_empty())
    }

    #[inline]
    pub(super) fn get_mut(&mut self, token: u32) -> Option<&mut Waiting> {
        self.entries.get_mut(token as usize).filter(|entry| !entry.subscriptions.is_empty())
    }

    #[inline]
    pub(super) fn remove(&mut self, token: u32) {
        if let Some(entry) = self.get_mut(token) {
            entry.subscriptions.clear();
            self.free.push(token);
        }
    }
}
