//! What a policy of the output stage must be able to do.

use super::message::{Outgoing, Terms};
use super::mtep::{Metrics, Work};
use super::target::Target;
use crate::id::Nanos;

/// A validated message on its way into a stage.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The message.
    pub message: &'a Outgoing,
    /// The last instant at which it is worth sending, by the queue's expiry mode.
    pub alive_until_ns: Nanos,
    /// One entry per matched subscription that has terms; empty for a plain subscriber.
    pub terms: &'a [Terms],
    /// The targets that the terms make, in the same order.
    pub targets: &'a [Target],
}

/// Decides which message of one link is sent next. The queue around it validates, bounds and counts, and
/// never lets `now` go back.
pub trait OutputStage: Send + Sync {
    /// Takes a message in.
    fn push(&mut self, arrival: &Arrival<'_>);

    /// The message to send at `now`; expired ones that it met are appended to `expired`.
    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing>;

    /// Drops the expired messages that it can find without a scan.
    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>);

    /// Gives up the oldest message, or what the policy says instead.
    fn evict_oldest(&mut self) -> Option<Outgoing>;

    /// Takes out the messages whose tokens are chosen: the oldest first, or first the most urgent level.
    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing>;

    /// Messages queued, expired but not yet found ones included.
    fn len(&self) -> usize;

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a new LMT.
    fn set_mean_transmission_ns(&mut self, _mean_transmission_ns: Nanos) {}

    /// EE, EP, PC and priority at `now` of the first queued message with this token, if the policy has them.
    fn metrics(&self, _now: Nanos, _token: u32) -> Option<Metrics> {
        None
    }

    /// How much the policy has computed so far, if it counts.
    fn work(&self) -> Work {
        Work::default()
    }
}
