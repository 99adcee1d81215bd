//! When a publisher gets its credits back: for each message that has left the input stage or was not taken in, in
//! portions of a quarter of the queue. A client that does not read gets what came together in one frame for each flow.

use giusto_core::engine::{Quantum, Step};
use giusto_core::frame::{Credit, Frame};
use giusto_core::id::FlowId;

use super::conn::ConnId;
use super::urgent::Part;
use super::{Hub, State, mark};

/// One flow as seen from its connection.
#[derive(Clone, Debug, Default)]
struct Entry {
    conn: Option<ConnId>,
    /// Messages whose credit has not been given back.
    owed: u32,
    /// Credits that go out with the next write.
    due: u32,
    /// Credits are given back when this many are owed; 0: this flow has none.
    portion: u32,
    /// Messages of an earlier flow that are still served under this number, and for which nothing is owed.
    inherited: u32,
    served: u64,
    part: Part,
}

/// All flows by number.
#[derive(Debug, Default)]
pub(super) struct Flows {
    entries: Vec<Entry>,
}

impl Flows {
    /// None yet; so many come without the others being moved.
    pub(super) fn with_room(count: usize) -> Self {
        Self { entries: Vec::with_capacity(count) }
    }

    /// A flow begins, with `inherited` messages of an earlier one before its own.
    pub(super) fn begin(&mut self, flow: FlowId, conn: ConnId, portion: u32, inherited: u32, part: Part) {
        if flow.index() >= self.entries.len() {
            self.entries.resize(flow.index() + 1, Entry::default());
        }
        self.entries[flow.index()] = Entry { conn: Some(conn), portion, inherited, part, ..Entry::default() };
    }

    /// A flow ends; returns how many messages of it were served, and its part in the urgency of its connection.
    pub(super) fn end(&mut self, flow: FlowId) -> (u64, Part) {
        let Some(entry) = self.entries.get_mut(flow.index()) else { return Default::default() };
        (entry.conn, entry.due) = (None, 0);
        (std::mem::take(&mut entry.served), std::mem::take(&mut entry.part))
    }

    /// The connection of a flow that has not ended, and the flow's part in its urgency.
    pub(super) fn part_mut(&mut self, flow: FlowId) -> Option<(ConnId, &mut Part)> {
        let entry = self.entries.get_mut(flow.index())?;
        Some((entry.conn?, &mut entry.part))
    }

    pub(super) fn served(&self, flow: FlowId) -> u64 {
        self.entries.get(flow.index()).map_or(0, |entry| entry.served)
    }

    /// A place is free again; returns a portion to be given back, and to whom.
    #[inline]
    fn owe(&mut self, flow: FlowId) -> Option<(ConnId, u32)> {
        let entry = self.entries.get_mut(flow.index())?;
        if entry.inherited > 0 {
            entry.inherited -= 1;
            return None;
        }
        if entry.portion == 0 {
            return None;
        }
        entry.owed += 1;
        if entry.owed < entry.portion {
            return None;
        }
        entry.conn.map(|conn| (conn, std::mem::take(&mut entry.owed)))
    }

    /// Credits go out with the next write; if they are the first, whether the topic is guarded.
    #[inline]
    fn fall_due(&mut self, flow: FlowId, amount: u32) -> Option<bool> {
        let entry = self.entries.get_mut(flow.index())?;
        let is_first = entry.due == 0;
        entry.due = entry.due.saturating_add(amount);
        is_first.then_some(entry.part.guarded)
    }

    /// Appends a frame for each of the flows that is owed credits.
    #[inline]
    pub(super) fn write_due(&mut self, flows: impl Iterator<Item = FlowId>, out: &mut Vec<u8>) {
        for flow in flows {
            let due = self.entries.get_mut(flow.index()).map_or(0, |entry| std::mem::take(&mut entry.due));
            if due > 0 {
                // Frames of a fixed length always fit.
                let _ = Frame::Credit(Credit { stream: flow.0, amount: due }).encode(out, u32::MAX);
            }
        }
    }

    /// Whether credits of the flow are to go out.
    pub(super) fn is_due(&self, flow: FlowId) -> bool {
        self.entries.get(flow.index()).is_some_and(|entry| entry.due > 0)
    }

    #[inline]
    fn count(&mut self, flow: FlowId) {
        if let Some(entry) = self.entries.get_mut(flow.index()) {
            entry.served += 1;
        }
    }
}

impl Hub {
    /// A quantum was spent: its client has been served, and gets credit if the message is through.
    #[inline]
    pub(super) fn settle(&mut self, quantum: Quantum) {
        if let Step::Forwarded(count) = quantum.step {
            self.queued += count;
        }
        if quantum.step != Step::Fragment {
            self.flows.count(quantum.flow);
            self.repay(quantum.flow);
        }
    }

    /// A message of the flow is through, or was not taken in.
    #[inline]
    pub(super) fn repay(&mut self, flow: FlowId) {
        if let Some((conn, amount)) = self.flows.owe(flow) {
            self.give(flow, conn, amount);
        }
    }

    #[inline]
    fn give(&mut self, flow: FlowId, id: ConnId, amount: u32) {
        let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.state == State::Open) else { return };
        match self.flows.fall_due(flow, amount) {
            Some(true) => self.urgent.mark_due(conn, flow),
            Some(false) => conn.due.push(flow),
            None => return,
        }
        mark(&mut self.dirty, conn);
    }
}
