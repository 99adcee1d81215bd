//! Least remaining time first: the LRT of S1 section 3.
//!
//! The remaining time of a message is the mean over its matched subscriptions of deadline minus time elapsed
//! since publication. All messages age alike, so their order never changes: the key is the mean instant at
//! which the deadlines fall due. A message without terms has its timeout as its only deadline, if it has one.

use super::heap::SlotHeap;
use super::message::{Outgoing, Terms};
use super::slab::Slab;
use super::stage::{Arrival, OutputStage};
use crate::id::Nanos;

/// Messages by mean due instant; equal ones in order of arrival.
#[derive(Debug)]
pub struct Lrt {
    messages: Slab<Outgoing>,
    /// By mean due instant, then order of arrival.
    due: SlotHeap<(Nanos, u64)>,
    /// By the last instant at which a message is worth sending, for those that have one.
    expiries: SlotHeap<(Nanos, u64)>,
    arrivals: u64,
}

impl Default for Lrt {
    fn default() -> Self {
        Self { messages: Slab::new(), due: SlotHeap::new(), expiries: SlotHeap::new(), arrivals: 0 }
    }
}

impl Lrt {
    fn take(&mut self, slot: u32) -> Outgoing {
        self.due.remove(slot);
        self.expiries.remove(slot);
        self.messages.remove(slot)
    }
}

/// The mean instant, rounded down, at which the deadlines of `message` fall due.
fn mean_due_ns(message: &Outgoing, terms: &[Terms]) -> Nanos {
    if terms.is_empty() {
        return message.timeout_at_ns();
    }
    let sum: i128 = terms.iter().map(|terms| i128::from(terms.deadline_ns)).sum();
    message.published_ns.saturating_add((sum / terms.len() as i128) as Nanos)
}

impl OutputStage for Lrt {
    fn push(&mut self, arrival: &Arrival<'_>) {
        let slot = self.messages.push(*arrival.message);
        self.due.set(slot, (mean_due_ns(arrival.message, arrival.terms), self.arrivals));
        if arrival.alive_until_ns < Nanos::MAX {
            self.expiries.set(slot, (arrival.alive_until_ns, self.arrivals));
        }
        self.arrivals += 1;
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        self.expire(now, expired);
        self.due.first().map(|(_, slot)| self.take(slot))
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) {
        while let Some(((alive_until_ns, _), slot)) = self.expiries.first() {
            if now <= alive_until_ns {
                return;
            }
            expired.push(self.take(slot));
        }
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        self.messages.oldest().map(|slot| self.take(slot))
    }

    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let is_taken = |&slot: &u32| is_chosen(self.messages.at(slot).token);
        let slots: Vec<u32> = self.messages.slots().filter(is_taken).collect();
        slots.into_iter().map(|slot| self.take(slot)).collect()
    }

    fn len(&self) -> usize {
        self.messages.len()
    }
}
