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
//! once when nothing waits. It is made then, unless the wheel is *patient*: then it is made in portions, whenever there
//! is time for one, and only put in the place of the old one. The live broker gives guarded topics that time only while no
//! guarded message waits, so that no guarded message sees two tables. A client that joins or leaves changes the length of its topic's cells
//! but no order, so that at every instant the bound of the larger membership holds: no wait there.

use crate::effort::Effort;
use crate::error::Invalid;
use crate::id::{FlowId, Nanos, TopicId};
use crate::input::seats::Seats;
use crate::input::table::{Loom, Table};
use crate::input::weights::Weights;
use crate::input::{InputStage, Share};
use crate::ladder::Ladder;
use crate::queue::{Lanes, Queues, Served};
use crate::store::NONE;

/// Cells of a cycle at most: the sum of weights, divided by their greatest common divisor.
pub const CELLS_MAX: u64 = 1 << 17;
/// Cells times different weights at most: what it takes to make a table, some milliseconds.
pub const EFFORT_MAX: u64 = 1 << 23;

/// What the wheel knows of a topic: one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Topic(Seats);

/// State of a table-driven policy.
#[derive(Debug)]
pub(super) struct Wheel {
    table: Table,
    topics: Vec<Topic>,
    weights: Weights,
    /// Changes of weights so far, and how many of them the table knows.
    changes: u64,
    known: u64,
    /// The table to come, if it is made, and the one in the making; with the changes that each knows.
    ready: Option<(u64, Table)>,
    loom: Option<(u64, Loom)>,
    /// A new table is made by [`InputStage::prepare`] alone.
    patient: bool,
    marks: Ladder,
    /// Topics with messages that have no cell until the next table.
    homeless: Vec<u32>,
    /// The cell in progress and the first seat in it that has not had its quantum.
    cell: u32,
    seat: u32,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            table: Table::default(),
            topics: Vec::new(),
            weights: Weights::default(),
            changes: 0,
            known: 0,
            ready: None,
            loom: None,
            patient: false,
            marks: Ladder::new(1),
            homeless: Vec::new(),
            cell: NONE,
            seat: 0,
        }
    }

    fn is_stale(&self) -> bool {
        self.known != self.changes
    }

    /// Whether a table is made that knows all changes.
    fn is_ready(&self) -> bool {
        self.ready.as_ref().is_some_and(|&(known, _)| known == self.changes)
    }

    /// Whether a new table can be installed, and is to be.
    fn is_due(&self) -> bool {
        self.is_stale() && (self.ready.is_some() || !self.patient)
    }

    /// Begins with a new table, and marks the waiting topics there.
    #[cold]
    fn install(&mut self) {
        if !self.patient && !self.is_ready() {
            let mut loom = Loom::new(self.weights.reduced());
            loom.weave(&mut Effort::ALL.clone());
            self.ready = Some((self.changes, loom.into_table()));
        }
        let Some((known, table)) = self.ready.take() else { return };
        let mut waiting = std::mem::take(&mut self.homeless);
        let mut marked = self.marks.next(0);
        while let Some(cell) = marked {
            waiting.push(self.table.topics[cell]);
            marked = self.marks.next(cell + 1);
        }
        self.marks = Ladder::new(table.topics.len());
        (self.known, self.table) = (known, table);
        (self.cell, self.seat) = (NONE, 0);
        waiting.retain(|&topic| !self.topics[topic as usize].0.is_idle());
        waiting.into_iter().for_each(|topic| self.mark(topic));
    }

    /// Marks a topic at its first cell after the one in progress.
    #[inline]
    fn mark(&mut self, topic: u32) {
        match self.table.after(topic, self.cell) {
            Some(place) => self.marks.insert(place as usize),
            None => self.homeless.push(topic),
        }
    }

    /// Topic of the cell in progress.
    #[inline]
    fn current(&self) -> Option<u32> {
        self.table.topics.get(self.cell as usize).copied()
    }

    /// Whether the topic of the cell in progress has no message.
    fn is_current_idle(&self) -> bool {
        self.current().is_none_or(|topic| self.topics[topic as usize].0.is_idle())
    }

    /// Whether no topic that has a cell has a message.
    fn is_idle(&self) -> bool {
        self.marks.is_empty() && self.is_current_idle()
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
        if self.is_due() {
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
            if let Some((seat, flow)) = self.topics[topic as usize].0.next(self.seat) {
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
        self.changes += 1;
    }

    fn reserve(&mut self, topics: usize) {
        self.topics.reserve(topics);
        self.weights.reserve(topics);
    }

    fn withdraw(&mut self, topic: TopicId) {
        if !std::mem::take(&mut self.topics[topic.index()].0).is_idle() {
            // It is marked at one cell, or in progress.
            let place = self.table.after(topic.0, self.cell);
            place.into_iter().for_each(|place| self.marks.remove(place as usize));
        }
        self.weights.set(topic, 0);
        self.changes += 1;
    }

    fn set_patient(&mut self, patient: bool) {
        if std::mem::replace(&mut self.patient, patient) != patient {
            (self.ready, self.loom) = (None, None);
        }
    }

    fn is_prepared(&self) -> bool {
        !self.patient || !self.is_stale() || self.is_ready()
    }

    fn prepare(&mut self, effort: &mut Effort) {
        if self.is_prepared() {
            return;
        }
        let begin = || (self.changes, Loom::new(self.weights.reduced()));
        let (known, mut loom) = self.loom.take().unwrap_or_else(begin);
        if !loom.weave(effort) {
            self.loom = Some((known, loom));
            return;
        }
        self.ready = Some((known, loom.into_table()));
        if self.is_idle() {
            self.install();
        }
    }

    fn join(&mut self, queues: &mut Queues, topic: TopicId, flow: FlowId) {
        queues.set_seat(flow, self.topics[topic.index()].0.take(flow));
    }

    fn leave(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        self.topics[topic.index()].0.leave(queues.seat(flow));
    }

    #[inline]
    fn arrived(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        if self.is_stale() && self.is_idle() && self.is_due() {
            self.install();
        }
        let entry = &mut self.topics[topic.index()].0;
        let was_idle = entry.is_idle();
        entry.filled(queues.seat(flow), flow);
        if was_idle && self.current() != Some(topic.0) {
            self.mark(topic.0);
        }
    }

    #[inline]
    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served> {
        let (topic, seat, flow) = self.select()?;
        let served = queues.serve(now, flow.index());
        if queues.is_lane_empty(flow.index()) {
            self.topics[topic as usize].0.emptied(seat);
        }
        served
    }
}
