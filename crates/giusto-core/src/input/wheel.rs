//! Serves topics by a fixed cyclic table of cells; a cell gives one quantum to each client that
//! publishes on the topic, in the constant order of their seats.
//!
//! How it works. The table is a pure function of the weights. A topic that has messages is marked
//! at the one cell of the table where it is due next (the topic whose cell is in progress is marked
//! again when the cell ends), so that finding the next cell is a successor
//! search over marks ([`Ladder`]), however many topics are empty: skipping them is what makes the
//! stage work-conserving while the visiting order stays that of the table (assumption A4). Within a
//! cell the same search runs over the seats of clients that have messages.
//!
//! A7: a new table (another weight, another topic) is installed when the wheel comes round, or at
//! once when nothing waits. A client that joins or leaves changes the length of its topic's cells
//! but no order, so that at every instant the bound of the larger membership holds: no wait there.

use crate::error::Invalid;
use crate::id::{FlowId, Nanos, TopicId};
use crate::input::seats::Seats;
use crate::input::weights::Weights;
use crate::input::{InputStage, Share};
use crate::ladder::Ladder;
use crate::queue::{Lanes, Queues, Served};
use crate::store::NONE;

/// Cells of a cycle at most: the sum of weights, divided by their greatest common divisor.
pub const CELLS_MAX: u64 = 1 << 17;
/// Cells times different weights at most: what it takes to make a table, some milliseconds.
pub const EFFORT_MAX: u64 = 1 << 23;

/// Cells of one cycle for weights that have no common divisor; 0 for a topic that has no cell.
type Cells = fn(&[u32]) -> Vec<u32>;

/// A cycle of cells.
#[derive(Debug, Default)]
struct Table {
    /// Topic of each cell.
    topics: Vec<u32>,
    /// The next cell of the same topic, cyclically.
    follow: Vec<u32>,
    /// The cells of each topic, ascending, one topic after the other.
    places: Vec<u32>,
}

/// What the wheel knows of a topic: one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Topic {
    seats: Seats,
    /// Its cells: `places[first..first + cells]`.
    first: u32,
    cells: u32,
}

impl Table {
    /// Lays out `order` and tells each topic where its cells are.
    fn new(order: Vec<u32>, topics: &mut [Topic]) -> Self {
        topics.iter_mut().for_each(|topic| topic.cells = 0);
        order.iter().for_each(|&topic| topics[topic as usize].cells += 1);
        let mut first = 0;
        for topic in topics.iter_mut() {
            topic.first = first;
            first += std::mem::take(&mut topic.cells);
        }
        let mut places = vec![0; order.len()];
        for (cell, &topic) in order.iter().enumerate() {
            let topic = &mut topics[topic as usize];
            places[(topic.first + topic.cells) as usize] = cell as u32;
            topic.cells += 1;
        }
        let mut follow = vec![0; order.len()];
        for topic in topics {
            let own = &places[topic.first as usize..(topic.first + topic.cells) as usize];
            (0..own.len()).for_each(|n| follow[own[n] as usize] = own[(n + 1) % own.len()]);
        }
        Self { topics: order, follow, places }
    }

    /// The first cell of `topic` after `cell`, cyclically; [`NONE`] is before the first. `None` if
    /// the topic has no cell.
    #[inline]
    fn after(&self, topic: &Topic, cell: u32) -> Option<u32> {
        let own = &self.places[topic.first as usize..(topic.first + topic.cells) as usize];
        let next = own.partition_point(|&place| place < cell.wrapping_add(1));
        own.get(next).or(own.first()).copied()
    }
}

/// State of a table-driven policy.
#[derive(Debug)]
pub(super) struct Wheel {
    cells: Cells,
    table: Table,
    /// Weights changed since the table was made.
    stale: bool,
    topics: Vec<Topic>,
    weights: Weights,
    marks: Ladder,
    /// The cell in progress and the first seat in it that has not had its quantum.
    cell: u32,
    seat: u32,
}

impl Wheel {
    pub(super) fn new(cells: Cells) -> Self {
        Self {
            cells,
            table: Table::default(),
            stale: false,
            topics: Vec::new(),
            weights: Weights::default(),
            marks: Ladder::new(1),
            cell: NONE,
            seat: 0,
        }
    }

    /// Makes the table for the present weights and marks the waiting topics at its beginning.
    #[cold]
    fn install(&mut self) {
        self.table = Table::new((self.cells)(&self.weights.reduced()), &mut self.topics);
        self.marks = Ladder::new(self.table.topics.len());
        self.stale = false;
        (self.cell, self.seat) = (NONE, 0);
        for topic in 0..self.topics.len() {
            if !self.topics[topic].seats.is_idle() {
                self.mark(topic as u32);
            }
        }
    }

    /// Marks a topic at its first cell after the one in progress.
    #[inline]
    fn mark(&mut self, topic: u32) {
        if let Some(place) = self.table.after(&self.topics[topic as usize], self.cell) {
            self.marks.insert(place as usize);
        }
    }

    /// Topic of the cell in progress.
    #[inline]
    fn current(&self) -> Option<u32> {
        self.table.topics.get(self.cell as usize).copied()
    }

    /// Whether the topic of the cell in progress has no message.
    fn is_current_idle(&self) -> bool {
        self.current().is_none_or(|topic| self.topics[topic as usize].seats.is_idle())
    }

    /// Ends the cell in progress and begins the next one that has work.
    #[inline]
    fn advance(&mut self) -> Option<u32> {
        if !self.is_current_idle() {
            self.marks.insert(self.table.follow[self.cell as usize] as usize);
        }
        let cell = match self.marks.next(self.cell.wrapping_add(1) as usize) {
            Some(cell) => cell as u32,
            None => self.come_round()?,
        };
        self.marks.remove(cell as usize);
        (self.cell, self.seat) = (cell, 0);
        self.current()
    }

    /// The cycle is over.
    fn come_round(&mut self) -> Option<u32> {
        if self.stale {
            self.install();
        }
        self.marks.next(0).map(|cell| cell as u32)
    }

    /// The topic, seat and flow whose quantum is next.
    #[inline]
    fn select(&mut self) -> Option<(u32, u32, FlowId)> {
        let mut topic = match self.current() {
            Some(topic) => topic,
            None => self.advance()?,
        };
        loop {
            if let Some((seat, flow)) = self.topics[topic as usize].seats.next(self.seat) {
                self.seat = seat + 1;
                return Some((topic, seat, flow));
            }
            topic = self.advance()?;
        }
    }
}

impl InputStage for Wheel {
    fn lanes(&self) -> Lanes {
        Lanes::PerFlow
    }

    fn check(&self, topic: TopicId, share: &Share) -> Result<(), Invalid> {
        Weights::check(share.weight)?;
        let cells = self.weights.cells_with(topic, share.weight);
        let effort = cells * self.weights.distinct_with(share.weight);
        if cells > CELLS_MAX || effort > EFFORT_MAX {
            let expected = format!(
                "a weight with which a cycle has at most {CELLS_MAX} cells, and at most {EFFORT_MAX} cells times \
                 different weights (it would have {cells} and {effort}): use fewer different weights, smaller ones, \
                 or ones with a common divisor"
            );
            return Err(Invalid::new("weight", share.weight, expected));
        }
        Ok(())
    }

    fn allot(&mut self, topic: TopicId, share: &Share) {
        if topic.index() >= self.topics.len() {
            self.topics.resize_with(topic.index() + 1, Topic::default);
        }
        self.weights.set(topic, share.weight);
        self.stale = true;
    }

    fn withdraw(&mut self, topic: TopicId) {
        let entry = &mut self.topics[topic.index()];
        if !std::mem::take(&mut entry.seats).is_idle() {
            let own = entry.first as usize..(entry.first + entry.cells) as usize;
            self.table.places[own].iter().for_each(|&place| self.marks.remove(place as usize));
        }
        self.weights.set(topic, 0);
        self.stale = true;
    }

    fn join(&mut self, queues: &mut Queues, topic: TopicId, flow: FlowId) {
        queues.set_seat(flow, self.topics[topic.index()].seats.take(flow));
    }

    fn leave(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        self.topics[topic.index()].seats.leave(queues.seat(flow));
    }

    #[inline]
    fn arrived(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        let nothing_waits = self.marks.is_empty() && self.is_current_idle();
        let entry = &mut self.topics[topic.index()];
        let was_idle = entry.seats.is_idle();
        entry.seats.filled(queues.seat(flow), flow);
        if self.stale && nothing_waits {
            self.install();
        } else if was_idle && self.current() != Some(topic.0) {
            self.mark(topic.0);
        }
    }

    #[inline]
    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served> {
        let (topic, seat, flow) = self.select()?;
        let served = queues.serve(now, flow.index());
        if queues.is_lane_empty(flow.index()) {
            self.topics[topic as usize].seats.emptied(seat);
        }
        served
    }
}
