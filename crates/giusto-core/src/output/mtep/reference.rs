//! The pseudocode of S1 as it stands: every dequeue computes the priority of every message, O(mn).

use super::super::link::{Expiry, Link};
use super::super::message::Outgoing;
use super::super::slab::Slab;
use super::super::stage::{Arrival, OutputStage};
use super::super::target::{Target, expired};
use super::{Metrics, Work};
use crate::id::Nanos;

/// Fig. 5 and Fig. 6 of S1, line by line; what [`super::Mtep`] must always agree with.
///
/// It keeps the [`Target`]s of a message as the fast version does, so that a comparison of the two measures
/// how often they evaluate Φ and nothing else.
#[derive(Debug)]
pub struct MtepReference {
    messages: Slab<Waiting>,
    /// The targets of the message in each slot.
    targets: Vec<Vec<Target>>,
    link: Link,
    expiry: Expiry,
    work: Work,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: Outgoing,
    alive_until_ns: Nanos,
}

impl MtepReference {
    /// An empty stage for `link`.
    pub fn new(link: &Link, expiry: Expiry) -> Self {
        let work = Work::default();
        Self { messages: Slab::new(), targets: Vec::new(), link: *link, expiry, work }
    }

    fn has_expired(&self, slot: u32, now: Nanos) -> bool {
        let waiting = self.messages.at(slot);
        match self.expiry {
            Expiry::Eps => expired(&waiting.message, &self.targets[slot as usize], self.link.epsilon, now),
            Expiry::None | Expiry::Dead => now > waiting.alive_until_ns,
        }
    }
}

impl OutputStage for MtepReference {
    fn push(&mut self, arrival: &Arrival<'_>) {
        let waiting = Waiting { message: *arrival.message, alive_until_ns: arrival.alive_until_ns };
        let slot = self.messages.push(waiting) as usize;
        if self.targets.len() <= slot {
            self.targets.resize_with(slot + 1, Vec::new);
        }
        self.targets[slot].clear();
        self.targets[slot].extend_from_slice(arrival.targets);
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<u32>) -> Option<Outgoing> {
        self.expire(now, expired);
        let mut best: Option<(f64, u32)> = None;
        for slot in self.messages.slots() {
            let priority = Metrics::of(&self.targets[slot as usize], &self.link, now).priority;
            self.work.evaluations += 1;
            if best.is_none_or(|(greatest, _)| priority > greatest) {
                best = Some((priority, slot));
            }
        }
        best.map(|(_, slot)| self.messages.remove(slot).message)
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<u32>) {
        let mut next = self.messages.oldest();
        while let Some(slot) = next {
            next = self.messages.after(slot);
            if self.has_expired(slot, now) {
                expired.push(self.messages.remove(slot).message.token);
            }
        }
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        self.messages.oldest().map(|slot| self.messages.remove(slot).message)
    }

    fn len(&self) -> usize {
        self.messages.len()
    }

    fn set_mean_transmission_ns(&mut self, mean_transmission_ns: Nanos) {
        self.link.mean_transmission_ns = mean_transmission_ns;
    }

    fn metrics(&self, now: Nanos, token: u32) -> Option<Metrics> {
        let slot = self.messages.slots().find(|slot| self.messages.at(*slot).message.token == token)?;
        Some(Metrics::of(&self.targets[slot as usize], &self.link, now))
    }

    fn work(&self) -> Work {
        self.work
    }
}
