//! The order of [Li11] Fig. 3: rounds of falling weight, each giving a cell to the topics that weigh
//! at least as much. Weights 4, 3, 2 give AABABCABC. A cell gives one quantum to each client that
//! publishes on the topic, in the constant order of their seats.
//!
//! How it works. Only topics that have messages are looked at. Those that weigh enough for the round
//! are *eligible*: a successor search over them finds the next cell. The others wait in a list of
//! their weight until a round is low enough; they cannot be served before, so they stay on the list
//! until it is emptied as a whole. When a cycle is over, the eligible topics go back to their lists.
//! Each of them had a cell in the last round, so all this costs amortised O(1) per cell, however many
//! topics are idle. Skipping idle topics is what makes the stage work-conserving while the visiting
//! order stays that of Fig. 3 (assumption A4).
//!
//! A7: a new weight is installed when a cycle is over, or at once when nothing waits. A client that
//! joins or leaves changes the length of its topic's cells but no order, so that at every instant
//! the bound of the larger membership holds: no wait there.

use crate::error::Invalid;
use crate::id::{FlowId, Nanos, TopicId};
use crate::input::seats::Seats;
use crate::input::weights::{WEIGHT_MAX, Weights};
use crate::input::{InputStage, Share};
use crate::ladder::Ladder;
use crate::queue::{Lanes, Queues, Served};
use crate::store::NONE;

/// Above every weight: the round before the first.
const BEFORE: u32 = WEIGHT_MAX + 1;

/// What is known of a topic: one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Topic {
    seats: Seats,
    /// As installed.
    weight: u32,
}

const _: () = assert!(size_of::<Topic>() == 64);

/// State of `twrr`.
#[derive(Debug)]
pub(super) struct Twrr {
    topics: Vec<Topic>,
    /// As last allotted, and the topics for which that is not installed yet.
    weights: Weights,
    changes: Vec<(TopicId, u32)>,
    /// Distance of rounds: the greatest common divisor of the installed weights.
    divisor: u32,
    /// cw of Fig. 3.
    round: u32,
    /// Topics with messages that weigh at least `round`.
    eligible: Ladder,
    /// The other topics with messages, by weight, and which weights have some (counted down from the largest).
    lists: Vec<Vec<u32>>,
    listed: Ladder,
    /// Topic of the cell in progress and the first seat in it that has not had its quantum.
    cell: u32,
    seat: u32,
}

impl Default for Twrr {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            weights: Weights::default(),
            changes: Vec::new(),
            divisor: 1,
            round: BEFORE,
            eligible: Ladder::new(1),
            lists: Vec::new(),
            listed: Ladder::new(1),
            cell: NONE,
            seat: 0,
        }
    }
}

impl Twrr {
    /// A topic has messages now.
    #[inline]
    fn enter(&mut self, topic: u32) {
        if !self.changes.is_empty() {
            self.install_if_idle();
        }
        let weight = self.topics[topic as usize].weight;
        if weight >= self.round {
            self.eligible.insert(topic as usize);
        } else {
            self.list(topic, weight);
        }
    }

    #[inline]
    fn list(&mut self, topic: u32, weight: u32) {
        let list = &mut self.lists[weight as usize];
        if list.is_empty() {
            self.listed.insert((WEIGHT_MAX - weight) as usize);
        }
        list.push(topic);
    }

    /// A topic that had messages has none now. Its weight is as when it was listed: no cycle has ended since.
    #[cold]
    fn exit(&mut self, topic: u32) {
        self.eligible.remove(topic as usize);
        let weight = self.topics[topic as usize].weight;
        let Some(list) = self.lists.get_mut(weight as usize) else { return };
        list.retain(|&listed| listed != topic);
        if list.is_empty() {
            self.listed.remove((WEIGHT_MAX - weight) as usize);
        }
    }

    /// The topics of one weight have become eligible.
    fn unlist(&mut self, weight: u32) {
        let Some(list) = self.lists.get_mut(weight as usize) else { return };
        if !list.is_empty() {
            self.listed.remove((WEIGHT_MAX - weight) as usize);
            list.drain(..).for_each(|topic| self.eligible.insert(topic as usize));
        }
    }

    /// The largest weight that has a list.
    fn heaviest(&self) -> Option<u32> {
        self.listed.next(0).map(|place| WEIGHT_MAX - place as u32)
    }

    /// Ends the cell in progress and begins the next one that has work.
    #[inline]
    fn advance(&mut self) -> Option<u32> {
        let next = match self.eligible.next(self.cell.wrapping_add(1) as usize) {
            Some(topic) => topic,
            None => self.descend()?,
        };
        (self.cell, self.seat) = (next as u32, 0);
        Some(self.cell)
    }

    /// A round is over: begins the next one that has work, and returns its first topic.
    fn descend(&mut self) -> Option<usize> {
        let next = if self.eligible.is_empty() { None } else { self.round.checked_sub(self.divisor) };
        match next {
            Some(round) if round > 0 => self.round = round,
            _ => {
                if let Some(topic) = self.alone() {
                    self.round = self.topics[topic].weight;
                    return Some(topic);
                }
                self.round = self.heaviest().or_else(|| self.come_round())?;
            }
        }
        self.unlist(self.round);
        self.eligible.next(0)
    }

    /// The topic that waits, if no other does and no weight changes: its next cycle begins with its own first round.
    fn alone(&self) -> Option<usize> {
        if !self.changes.is_empty() || !self.listed.is_empty() {
            return None;
        }
        let topic = self.eligible.next(0)?;
        self.eligible.next(topic + 1).is_none().then_some(topic)
    }

    /// A cycle is over: installs new weights, and lists every waiting topic. Returns the first round.
    fn come_round(&mut self) -> Option<u32> {
        self.install();
        (self.round, self.cell) = (BEFORE, NONE);
        let mut at = self.eligible.next(0);
        while let Some(topic) = at {
            self.eligible.remove(topic);
            self.enter(topic as u32);
            at = self.eligible.next(topic + 1);
        }
        self.heaviest()
    }

    fn install(&mut self) {
        self.divisor = self.weights.divisor();
        for (topic, weight) in self.changes.drain(..) {
            self.topics[topic.index()].weight = weight;
            self.lists.resize_with(self.lists.len().max(weight as usize + 1), Vec::new);
        }
    }

    /// The seat and flow whose quantum is next, in the cell that is in progress then.
    #[inline]
    fn select(&mut self) -> Option<(u32, FlowId)> {
        let mut topic = if self.cell == NONE { self.advance()? } else { self.cell };
        loop {
            if let Some((seat, flow)) = self.topics[topic as usize].seats.next(self.seat) {
                self.seat = seat + 1;
                return Some((seat, flow));
            }
            topic = self.advance()?;
        }
    }

    /// Weights are used from the next cycle on, or from now on if nothing waits.
    fn change(&mut self, topic: TopicId, weight: u32) {
        self.weights.set(topic, weight);
        self.changes.push((topic, weight));
        self.install_if_idle();
    }

    #[cold]
    fn install_if_idle(&mut self) {
        if self.eligible.is_empty() && self.listed.is_empty() {
            self.install();
            (self.round, self.cell) = (BEFORE, NONE);
        }
    }
}

impl InputStage for Twrr {
    fn lanes(&self) -> Lanes {
        Lanes::PerFlow
    }

    fn check(&self, _topic: TopicId, share: &Share) -> Result<(), Invalid> {
        Weights::check(share.weight)
    }

    fn allot(&mut self, topic: TopicId, share: &Share) {
        if topic.index() >= self.topics.len() {
            self.topics.resize_with(topic.index() + 1, Topic::default);
            self.eligible.reserve(self.topics.len());
            self.listed.reserve(BEFORE as usize);
        }
        self.change(topic, share.weight);
    }

    fn reserve(&mut self, topics: usize) {
        self.topics.reserve(topics);
        self.weights.reserve(topics);
    }

    fn withdraw(&mut self, topic: TopicId) {
        if !std::mem::take(&mut self.topics[topic.index()].seats).is_idle() {
            self.exit(topic.0);
        }
        self.change(topic, 0);
    }

    fn join(&mut self, queues: &mut Queues, topic: TopicId, flow: FlowId) {
        queues.set_seat(flow, self.topics[topic.index()].seats.take(flow));
    }

    fn leave(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        self.topics[topic.index()].seats.leave(queues.seat(flow));
    }

    #[inline]
    fn arrived(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        let seats = &mut self.topics[topic.index()].seats;
        let was_idle = seats.is_idle();
        seats.filled(queues.seat(flow), flow);
        if was_idle {
            self.enter(topic.0);
        }
    }

    #[inline]
    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served> {
        let (seat, flow) = self.select()?;
        let served = queues.serve(now, flow.index());
        if queues.is_lane_empty(flow.index()) {
            let seats = &mut self.topics[self.cell as usize].seats;
            seats.emptied(seat);
            if seats.is_idle() {
                self.eligible.remove(self.cell as usize);
            }
        }
        served
    }
}
