//! Which connections are read in the guarded part of a turn, how much of them, and who is written to there.
//!
//! A connection is *urgent* while it publishes on a guarded topic: its socket is read before the rest is served, in
//! portions that are as long as its offers allow. One that breaks an offer, or sends much beside its messages, is on
//! probation: it is read with the rest for a while, so that it costs the others one portion in that time.

use std::collections::VecDeque;

use giusto_core::engine::Offer;
use giusto_core::id::{FlowId, Nanos, TopicId};
use giusto_core::output::Overflow;

use super::Hub;
use super::conn::{Conn, ConnId, State};

/// Bytes of a portion at least and at most.
const PORTION_BYTES_MIN: u64 = 1 << 10;
const PORTION_BYTES_MAX: u64 = 16 << 10;
/// How long who broke an offer is read with the rest.
const PROBATION_NS: Nanos = 100_000_000;
/// The part of a portion that may be other frames than messages in this time, and bytes of them at most.
const OTHERS: u64 = 4;
const OTHERS_BYTES_MAX: u64 = 1 << 10;
/// Each of them counts as so many bytes at least: it may have come alone, and a read costs more than its bytes.
const OTHER_BYTES_MIN: usize = 128;
/// A read that brings less than that, and no end of a frame, counts as one of them.
const DRIBBLE_BYTES: usize = 512;

/// What one connection has to do with guarded topics.
#[derive(Debug, Default)]
pub(super) struct Urgency {
    /// Its flows on guarded topics.
    guarded: u32,
    /// What its offers allow at once, of all its flows.
    bytes: u64,
    on_probation: bool,
    /// It has offended again since.
    relapsed: bool,
    /// Bytes of other frames since an instant.
    others: (Nanos, u64),
    /// It is among those to be written to.
    dirty: bool,
    /// Guarded messages that it has not taken in time: they go with the rest.
    pub(super) left: usize,
}

impl Urgency {
    /// Bytes that are read of it at once, if it is urgent.
    fn portion_bytes(&self) -> Option<usize> {
        let is_urgent = self.guarded > 0 && !self.on_probation;
        is_urgent.then(|| self.bytes.clamp(PORTION_BYTES_MIN, PORTION_BYTES_MAX) as usize)
    }

    /// Counts other frames than messages; whether they are too many.
    fn exceeds_with(&mut self, now: Nanos, bytes: usize) -> bool {
        if now.saturating_sub(self.others.0) >= PROBATION_NS {
            self.others = (now, 0);
        }
        self.others.1 += bytes.max(OTHER_BYTES_MIN) as u64;
        self.others.1 > (self.bytes.max(PORTION_BYTES_MIN) / OTHERS).min(OTHERS_BYTES_MAX)
    }
}

/// One flow's part in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// What the offer allows at once.
    bytes: u64,
    pub(super) guarded: bool,
}

/// What of all connections is to be done.
#[derive(Debug, Default)]
pub(super) struct Urgent {
    /// Connections that may have become urgent, or may be urgent no more.
    shifts: VecDeque<ConnId>,
    /// When probations end, in order.
    pub(super) probations: VecDeque<(Nanos, ConnId)>,
    /// Connections with guarded messages or credits to be written, or names before them, each once.
    dirty: VecDeque<ConnId>,
}

/// Bytes that the policer of an offer lets through at once, and a message that was on its way.
fn offered_bytes(offer: &Offer) -> u64 {
    let Some(limit) = offer.limit else { return PORTION_BYTES_MAX };
    let burst = limit.burst.numerator.unsigned_abs().div_ceil(limit.burst.denominator.unsigned_abs().max(1));
    let late = u128::from(limit.jitter_ns.unsigned_abs()) * u128::from(limit.count.unsigned_abs());
    let late = late.div_ceil(u128::from(limit.period_ns.unsigned_abs().max(1)));
    let messages = late.saturating_add(u128::from(burst)).saturating_add(1);
    let bytes = messages.saturating_mul(u128::from(offer.bounds.limit_bytes));
    u64::try_from(bytes).unwrap_or(PORTION_BYTES_MAX).min(PORTION_BYTES_MAX)
}

impl Hub {
    /// Whether any topic is guarded.
    #[inline]
    pub fn is_guarded(&self) -> bool {
        self.engine.has_guarded()
    }

    /// Messages of guarded topics that wait for the input stage.
    #[inline]
    pub fn waiting_guarded(&self) -> usize {
        self.engine.waiting_guarded()
    }

    /// Whether other messages wait for the input stage.
    pub fn has_rest(&self) -> bool {
        self.engine.waiting() > self.engine.waiting_guarded()
    }

    /// Spends one quantum on a guarded message; false when none waits.
    #[inline]
    pub fn step_guarded(&mut self, now: Nanos) -> bool {
        let Some(quantum) = self.engine.step_guarded(now) else { return false };
        self.settle(quantum);
        true
    }

    /// Whether the guarded queue of a client has filled by half since [`Hub::gather_guarded`].
    #[inline]
    pub fn is_crowded_guarded(&self) -> bool {
        self.engine.is_crowded_guarded()
    }

    /// To be called after guarded steps: finds out who has guarded messages to be written now.
    pub fn gather_guarded(&mut self, now: Nanos) {
        while let Some(client) = self.engine.pop_ready_guarded() {
            if let Some(conn) = self.conn_of(client) {
                self.mark_guarded(conn);
            }
        }
        if self.config.engine.overflow == Overflow::Disconnect {
            self.part_with_slow(now);
        }
    }

    /// A connection with guarded messages or credits to be written, if there is one.
    #[inline]
    pub fn pop_dirty_guarded(&mut self) -> Option<ConnId> {
        while let Some(id) = self.urgent.dirty.pop_front() {
            if let Some(conn) = self.conns.get_mut(id) {
                conn.urgency.dirty = false;
                return Some(id);
            }
        }
        None
    }

    /// How many such connections there are.
    #[inline]
    pub fn dirty_guarded_count(&self) -> usize {
        self.urgent.dirty.len()
    }

    /// Bytes to be read of a connection at once in the guarded part of a turn; `None` if it is read with the rest.
    #[inline]
    pub fn portion_bytes(&self, id: ConnId) -> Option<usize> {
        self.conns.get(id)?.urgency.portion_bytes()
    }

    /// A connection that may have become urgent, or may be urgent no more.
    #[inline]
    pub fn pop_shift(&mut self) -> Option<ConnId> {
        self.urgent.shifts.pop_front()
    }

    /// How many such connections there are.
    #[inline]
    pub fn shift_count(&self) -> usize {
        self.urgent.shifts.len()
    }

    /// The connection has guarded messages to be written, or may have.
    #[inline]
    pub(super) fn mark_guarded(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(id) {
            mark_guarded(&mut self.urgent, conn);
        }
    }

    /// The part that a flow of a new offer has in the urgency of its connection.
    pub(super) fn begin_part(&mut self, id: ConnId, topic: TopicId, offer: &Offer) -> Part {
        let part = Part { bytes: offered_bytes(offer), guarded: self.engine.is_guarded(topic) };
        if let Some(conn) = self.conns.get_mut(id) {
            conn.urgency.bytes += part.bytes;
            conn.urgency.guarded += u32::from(part.guarded);
            self.urgent.shifts.extend(part.guarded.then_some(id));
        }
        part
    }

    /// A flow of another offer has another part in the urgency of its connection.
    pub(super) fn resize_part(&mut self, flow: FlowId, offer: &Offer) {
        let Some((id, part)) = self.flows.part_mut(flow) else { return };
        let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.state == State::Open) else { return };
        let before = std::mem::replace(&mut part.bytes, offered_bytes(offer));
        conn.urgency.bytes = conn.urgency.bytes - before + part.bytes;
        self.urgent.shifts.extend(part.guarded.then_some(id));
    }

    /// The flow has ended.
    pub(super) fn end_part(&mut self, id: ConnId, part: Part) {
        if let Some(conn) = self.conns.get_mut(id) {
            conn.urgency.bytes -= part.bytes;
            conn.urgency.guarded -= u32::from(part.guarded);
            self.urgent.shifts.extend(part.guarded.then_some(id));
        }
    }

    /// The connection is read with the rest from now on, if at all.
    pub(super) fn rest_for_good(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(id) {
            conn.urgency.bytes = 0;
            if std::mem::take(&mut conn.urgency.guarded) > 0 {
                self.urgent.shifts.push_back(id);
            }
        }
    }

    /// The topic's class has changed: so has the urgency of those who publish on it.
    pub(super) fn shift_publishers(&mut self, topic: TopicId, guarded: bool) {
        for &flow in self.engine.flows_of(topic) {
            let Some((id, part)) = self.flows.part_mut(flow) else { continue };
            if std::mem::replace(&mut part.guarded, guarded) == guarded {
                continue;
            }
            let is_due = guarded && self.flows.is_due(flow);
            if let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.state == State::Open) {
                conn.urgency.guarded =
                    if guarded { conn.urgency.guarded + 1 } else { conn.urgency.guarded - 1 };
                self.urgent.shifts.push_back(id);
                if is_due && !conn.due_guarded.contains(&flow) {
                    conn.due.retain(|&other| other != flow);
                    self.urgent.mark_due(conn, flow);
                }
            }
        }
    }

    /// Who has guarded messages to be written is among the dirty ones, since only those are looked at from now on.
    pub fn hand_back_dirty(&mut self) {
        while let Some(id) = self.pop_dirty_guarded() {
            self.mark(id);
        }
    }

    /// The connection has broken an offer.
    #[cold]
    pub(super) fn note_offence(&mut self, now: Nanos, id: ConnId) {
        let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.urgency.guarded > 0) else { return };
        if std::mem::replace(&mut conn.urgency.on_probation, true) {
            conn.urgency.relapsed = true;
            return;
        }
        self.urgent.probations.push_back((now.saturating_add(PROBATION_NS), id));
        self.urgent.shifts.push_back(id);
    }

    /// The connection has sent something else than a message: few of those are read as urgent.
    #[cold]
    pub(super) fn note_other(&mut self, now: Nanos, id: ConnId, bytes: usize) {
        let urgent = self.conns.get_mut(id).filter(|conn| conn.urgency.guarded > 0);
        if urgent.is_some_and(|conn| conn.urgency.exceeds_with(now, bytes)) {
            self.note_offence(now, id);
        }
    }

    /// A read of the connection has brought so many bytes, and no end of a frame.
    #[inline]
    pub fn note_partial(&mut self, now: Nanos, id: ConnId, bytes: usize) {
        if bytes < DRIBBLE_BYTES && self.is_guarded() {
            self.note_other(now, id, bytes);
        }
    }

    /// Ends probations that are over. Who has offended again begins another one.
    pub(super) fn end_probations(&mut self, now: Nanos, most: usize) {
        for _ in 0..most {
            let Some(id) = super::pop_due(&mut self.urgent.probations, now) else { break };
            let Some(conn) = self.conns.get_mut(id) else { continue };
            if std::mem::take(&mut conn.urgency.relapsed) {
                self.urgent.probations.push_back((now.saturating_add(PROBATION_NS), id));
            } else {
                conn.urgency.on_probation = false;
                self.urgent.shifts.push_back(id);
            }
        }
    }
}

impl Urgent {
    /// Credits of a flow on a guarded topic do not wait for the rest.
    #[inline]
    pub(super) fn mark_due(&mut self, conn: &mut Conn, flow: FlowId) {
        conn.due_guarded.push(flow);
        mark_guarded(self, conn);
    }
}

#[inline]
fn mark_guarded(urgent: &mut Urgent, conn: &mut Conn) {
    if !std::mem::replace(&mut conn.urgency.dirty, true) {
        urgent.dirty.push_back(conn.id);
    }
}
