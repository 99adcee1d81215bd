//! Maximum total earning first: mtep, the policy of S1 section 2.
//!
//! At each dequeue S1 computes, for every queued message and every subscription that it matches, the chance of
//! arriving in time if sent now (7) and if sent second (9); from these EE, EP and PC, and from these the
//! priority (13). It drops the expired (14) and sends the first message with the greatest priority.
//!
//! **Where the paper's text and its pseudocode differ**, the pseudocode is followed:
//!
//! - (3) and (11) charge the penalty of every matched subscription. In Fig. 5 the conditions are nested: a
//!   subscription with success < ε adds nothing to EE, EP, EE′ and EP′, and one with success′ < ε adds nothing to
//!   EE′ and EP′. What can hardly be saved any more does not make a message urgent.
//! - Line 15 of Fig. 5 drops a message when EE = 0; rule (14) when every success ≤ ε. They differ for a price of
//!   0 and for a success of exactly ε; rule (14) is followed.
//! - A message that matches no subscription with terms would satisfy (14) from the start. Here only its timeout
//!   counts, and its priority is 0: it goes when nothing earns.
//!
//! **How [`Mtep`] avoids the scan.** Each message has an upper bound of its priority that holds until a horizon.
//! A dequeue renews the bounds whose horizon has passed, then looks at the greatest bound and sharpens it until
//! it is clear who wins:
//!
//! ```text
//! loose ──▶ sharp ──▶ exact         loose: over a span, from a table     (bound.rs)
//!             └─────▶ settled       sharp: an interval at this instant, from the table
//!                                   exact: Fig. 5 at this instant        (metrics.rs)
//!                                   settled: Fig. 5, and constant until the horizon
//! ```
//!
//! The first in the heap wins when its value is exact or settled, or when its interval lies above every other
//! bound. A message that is not contended gets twice the span at its next renewal, a contended one a quarter,
//! so that each is looked at about as often as its distance from the winner requires. Expiry needs no look at
//! all: the last instant of each message is found when it is pushed.

mod bound;
mod metrics;
mod reference;

pub use metrics::Metrics;
pub use reference::MtepReference;

use std::cmp::Ordering;

use self::bound::Bounds;
use super::heap::SlotHeap;
use super::link::Link;
use super::message::Outgoing;
use super::slab::Slab;
use super::stage::{Arrival, OutputStage};
use super::target::Target;
use crate::id::Nanos;

/// What a stage has computed since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Messages whose priority was computed exactly, with two Φ per target.
    pub evaluations: u64,
    /// Messages whose priority was bounded from the table.
    pub bounds: u64,
}

/// How well the priority of a message is known until its horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Knowledge {
    Nothing,
    Loose,
    Sharp { low: f64 },
    Exact,
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: Outgoing,
    arrival: u64,
    knowledge: Knowledge,
    /// How long the next loose bound shall hold.
    span_ns: Nanos,
}

/// The greatest bound first, then the earliest arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank {
    bound: f64,
    arrival: u64,
}

impl Eq for Rank {}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.arrival.cmp(&other.arrival))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// mtep with bounds: sends what [`MtepReference`] sends, at a fraction of the cost.
pub struct Mtep {
    messages: Slab<Waiting>,
    /// The targets of the message in each slot.
    targets: Vec<Vec<Target>>,
    bounds: Bounds,
    ranks: SlotHeap<Rank>,
    /// The last instant for which the bound of each message holds.
    horizons: SlotHeap<(Nanos, u64)>,
    /// The last instant at which each message is worth sending, for those that have one.
    expiries: SlotHeap<(Nanos, u64)>,
    arrivals: u64,
    popped_ns: Nanos,
    /// Time between the last two dequeues at different instants.
    step_ns: Nanos,
    work: Work,
}

impl Mtep {
    /// An empty stage for `link`.
    pub fn new(link: &Link) -> Self {
        Self {
            messages: Slab::new(),
            targets: Vec::new(),
            bounds: Bounds::new(link),
            ranks: SlotHeap::new(),
            horizons: SlotHeap::new(),
            expiries: SlotHeap::new(),
            arrivals: 0,
            popped_ns: Nanos::MIN,
            step_ns: 0,
            work: Work::default(),
        }
    }

    fn take(&mut self, slot: u32) -> Outgoing {
        self.ranks.remove(slot);
        self.horizons.remove(slot);
        self.expiries.remove(slot);
        self.messages.remove(slot).message
    }

    /// Notes what is known of `slot` until `until_ns`.
    fn learn(&mut self, slot: u32, knowledge: Knowledge, bound: f64, until_ns: Nanos) {
        let waiting = self.messages.at_mut(slot);
        waiting.knowledge = knowledge;
        let arrival = waiting.arrival;
        self.ranks.set(slot, Rank { bound, arrival });
        self.horizons.set(slot, (until_ns, arrival));
    }

    /// Renews every bound whose horizon has passed.
    fn renew(&mut self, now: Nanos) {
        while let Some(((until_ns, _), slot)) = self.horizons.first() {
            if until_ns >= now {
                return;
            }
            let step_ns = self.step_ns;
            let waiting = self.messages.at_mut(slot);
            if waiting.knowledge == Knowledge::Loose {
                waiting.span_ns = waiting.span_ns.saturating_mul(2);
            }
            let span_ns = waiting.span_ns;
            match waiting.knowledge {
                Knowledge::Nothing | Knowledge::Settled => self.sharpen(slot, now),
                _ if span_ns <= step_ns => {
                    waiting.span_ns = span_ns.saturating_mul(2).max(1);
                    self.sharpen(slot, now);
                }
                _ => self.loosen(slot, now, now.saturating_add(span_ns)),
            }
        }
    }

    /// Bounds the priority of `slot` over a span.
    fn loosen(&mut self, slot: u32, now: Nanos, until_ns: Nanos) {
        self.work.bounds += 1;
        let bound = self.bounds.over(&self.targets[slot as usize], now, until_ns);
        self.learn(slot, Knowledge::Loose, bound, until_ns);
    }

    /// Puts the priority of `slot` into an interval at `now`, or settles it if it is constant.
    fn sharpen(&mut self, slot: u32, now: Nanos) {
        self.work.bounds += 1;
        let interval = self.bounds.at(&self.targets[slot as usize], now);
        match interval.constant_until_ns {
            Some(until_ns) => self.evaluate(slot, now, Knowledge::Settled, until_ns),
            None => self.learn(slot, Knowledge::Sharp { low: interval.low }, interval.high, now),
        }
    }

    /// Computes the priority of `slot` at `now`.
    fn evaluate(&mut self, slot: u32, now: Nanos, knowledge: Knowledge, until_ns: Nanos) {
        self.work.evaluations += 1;
        let metrics = Metrics::of(&self.targets[slot as usize], &self.bounds.link, now);
        self.learn(slot, knowledge, metrics.priority, until_ns);
    }

    /// Sharpens the greatest bounds until one message is certain to have the greatest priority.
    fn winner(&mut self, now: Nanos) -> Option<u32> {
        loop {
            let (_, first) = self.ranks.first()?;
            match self.messages.at(first).knowledge {
                Knowledge::Exact | Knowledge::Settled => return Some(first),
                Knowledge::Nothing | Knowledge::Loose => self.contend(first, now),
                Knowledge::Sharp { low } => {
                    let Some((rank, second)) = self.ranks.second() else { return Some(first) };
                    if rank.bound < low {
                        return Some(first);
                    }
                    if self.messages.at(second).knowledge == Knowledge::Loose {
                        self.contend(second, now);
                    } else {
                        self.evaluate(first, now, Knowledge::Exact, now);
                    }
                }
            }
        }
    }

    /// A loose bound that could win: the span was too long.
    fn contend(&mut self, slot: u32, now: Nanos) {
        self.messages.at_mut(slot).span_ns /= 4;
        self.sharpen(slot, now);
    }

    fn note_step(&mut self, now: Nanos) {
        if now > self.popped_ns {
            self.step_ns = now.saturating_sub(self.popped_ns);
            self.popped_ns = now;
        }
    }
}

impl OutputStage for Mtep {
    fn push(&mut self, arrival: &Arrival<'_>) {
        let span_ns = self.bounds.link.mean_transmission_ns;
        let waiting = Waiting {
            message: *arrival.message,
            arrival: self.arrivals,
            knowledge: Knowledge::Nothing,
            span_ns,
        };
        let slot = self.messages.push(waiting);
        let index = slot as usize;
        if self.targets.len() <= index {
            self.targets.resize_with(index + 1, Vec::new);
        }
        self.targets[index].clear();
        self.targets[index].extend_from_slice(arrival.targets);
        if arrival.alive_until_ns < Nanos::MAX {
            self.expiries.set(slot, (arrival.alive_until_ns, self.arrivals));
        }
        self.learn(slot, Knowledge::Nothing, f64::INFINITY, Nanos::MIN);
        self.arrivals += 1;
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        self.expire(now, expired);
        self.note_step(now);
        self.renew(now);
        self.winner(now).map(|slot| self.take(slot))
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
        let is_taken = |&slot: &u32| is_chosen(self.messages.at(slot).message.token);
        let slots: Vec<u32> = self.messages.slots().filter(is_taken).collect();
        slots.into_iter().map(|slot| self.take(slot)).collect()
    }

    fn len(&self) -> usize {
        self.messages.len()
    }

    fn set_mean_transmission_ns(&mut self, mean_transmission_ns: Nanos) {
        self.bounds.link.mean_transmission_ns = mean_transmission_ns;
        let slots: Vec<u32> = self.messages.slots().collect();
        for slot in slots {
            self.learn(slot, Knowledge::Nothing, f64::INFINITY, Nanos::MIN);
        }
    }

    fn metrics(&self, now: Nanos, token: u32) -> Option<Metrics> {
        let slot = self.messages.slots().find(|slot| self.messages.at(*slot).message.token == token)?;
        Some(Metrics::of(&self.targets[slot as usize], &self.bounds.link, now))
    }

    fn work(&self) -> Work {
        self.work
    }
}
