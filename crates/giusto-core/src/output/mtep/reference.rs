//! The pseudocode of S1 as it stands: every dequeue computes the priority of every message, O(mn).

use super::super::link::{Expiry, Link};
use super::super::message::Outgoing;
use super::super::slab::Slab;
use super::super::stage::{Arrival, OutputStage};
use super::super::target::Target;
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

    /// The priority of the message in `slot` at `now`, unless it has expired: Fig. 5 for one event.
    fn priority(&mut self, slot: u32, now: Nanos) -> Option<f64> {
        let (waiting, targets) = (self.messages.at(slot), &self.targets[slot as usize]);
        self.work.evaluations += 1;
        let (metrics, best_success) = Metrics::and_best_success(targets, &self.link, now);
        let expired = match self.expiry {
            Expiry::Eps => {
                let hopeless = !targets.is_empty() && best_success <= self.link.epsilon;
                hopeless || now > waiting.message.timeout_at_ns()
            }
            Expiry::None | Expiry::Dead => now > waiting.alive_until_ns,
        };
        (!expired).then_some(metrics.priority)
    }

    /// Drops the expired; the first message with the greatest priority of the rest.
    fn scan(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        let mut next = self.messages.oldest();
        while let Some(slot) = next {
            next = self.messages.after(slot);
            match self.priority(slot, now) {
                None => expired.push(self.messages.remove(slot).message),
                Some(priority) if best.is_none_or(|(greatest, _)| priority > greatest) => {
                    best = Some((priority, slot));
                }
                Some(_) => {}
            }
        }
        best.map(|(_, slot)| slot)
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

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        self.scan(now, expired).map(|slot| self.messages.remove(slot).message)
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) {
        self.scan(now, expired);
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        self.messages.oldest().map(|slot| self.messages.remove(slot).message)
    }

    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let is_taken = |&slot: &u32| is_chosen(self.messages.at(slot).message.token);
        let slots: Vec<u32> = self.messages.slots().filter(is_taken).collect();
        slots.into_iter().map(|slot| self.messages.remove(slot).message).collect()
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
