//! First come, first served: the FCFS of S1 and the normal path of a broker.

use std::collections::VecDeque;

use super::message::Outgoing;
use super::stage::{Arrival, OutputStage};
use crate::id::Nanos;

/// Messages in the order of arrival. Expired ones are found when they reach the head.
#[derive(Debug, Default)]
pub struct Fifo {
    ring: VecDeque<Waiting>,
}

/// A message and the last instant at which it is worth sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) message: Outgoing,
    pub(super) alive_until_ns: Nanos,
}

impl Waiting {
    pub(super) fn new(arrival: &Arrival<'_>) -> Self {
        Self { message: *arrival.message, alive_until_ns: arrival.alive_until_ns }
    }
}

/// Drops what has expired at the head of `ring`.
#[inline]
pub(super) fn expire_head(ring: &mut VecDeque<Waiting>, now: Nanos, expired: &mut Vec<Outgoing>) {
    while let Some(head) = ring.front() {
        if now <= head.alive_until_ns {
            return;
        }
        expired.push(head.message);
        ring.pop_front();
    }
}

/// Takes the chosen messages out of `ring`, in order.
pub(super) fn extract_from(ring: &mut VecDeque<Waiting>, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
    let is_taken = |waiting: &Waiting| is_chosen(waiting.message.token);
    let taken = ring.iter().filter(|waiting| is_taken(waiting)).map(|waiting| waiting.message).collect();
    ring.retain(|waiting| !is_taken(waiting));
    taken
}

impl OutputStage for Fifo {
    fn push(&mut self, arrival: &Arrival<'_>) {
        self.ring.push_back(Waiting::new(arrival));
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        self.expire(now, expired);
        self.evict_oldest()
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) {
        expire_head(&mut self.ring, now, expired);
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        self.ring.pop_front().map(|head| head.message)
    }

    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        extract_from(&mut self.ring, is_chosen)
    }

    fn len(&self) -> usize {
        self.ring.len()
    }
}
