//! How a connection goes: it is muted at once, and what its client had is given back in portions.
//!
//! While nothing is guarded all of it is given back at once. While something is, [`Hub::finish_some`] does a bounded part
//! whenever the rest has its turn, and the control plane is told of the end when nothing is left.

use giusto_core::effort::Effort;
use giusto_core::engine::FLOW_UNITS;
use giusto_core::frame::{Failure, Frame, LIMIT_BYTES};
use giusto_core::id::{ClientId, FlowId, Nanos};

use super::conn::ConnId;
use super::{Event, Hub, State, code};

/// What a client that goes still has.
#[derive(Debug)]
pub(super) struct Departure {
    conn: ConnId,
    client: ClientId,
    flows: Vec<FlowId>,
    /// What waits for it is abandoned; else it can still be taken.
    for_good: bool,
}

impl Hub {
    /// The connection is gone, whatever waited for it.
    pub fn hang_up(&mut self, id: ConnId, reason: &str) {
        self.disconnect(id);
        let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.state != State::Gone) else { return };
        conn.state = State::Gone;
        conn.reason.get_or_insert_with(|| reason.to_owned());
        self.forgive_names(id);
        self.bury(id);
    }

    /// Sends a last frame and lets go of the client at once: it has broken the rules, or its queue is full.
    pub fn part_at_once(&mut self, now: Nanos, id: ConnId, code: u32, text: &str) {
        self.disconnect(id);
        self.leave(now, id, code, text);
    }

    /// Sends what waits, then a last frame.
    pub fn part(&mut self, now: Nanos, id: ConnId, code: u32, text: &str) {
        if let Some(client) = self.conns.get(id).and_then(|conn| conn.client) {
            self.begin_departure(id, client, false);
        }
        self.leave(now, id, code, text);
    }

    fn leave(&mut self, now: Nanos, id: ConnId, code: u32, text: &str) {
        let Some(conn) = self.conns.get_mut(id).filter(|conn| !conn.is_leaving()) else { return };
        let last = if code == 0 { Frame::Goodbye } else { Frame::Error(Failure { code, text }) };
        conn.state = State::Leaving;
        conn.reason = Some(text.to_owned());
        // Too long a text is sent without one: there is nothing else to say.
        let encoded = last.encode(&mut conn.farewell, LIMIT_BYTES);
        let plain = Frame::Error(Failure { code, text: "" });
        let _ = encoded.or_else(|_| plain.encode(&mut conn.farewell, LIMIT_BYTES));
        self.farewells.push_back((now.saturating_add(self.config.grace_ns), id));
        self.mark(id);
    }

    /// Nothing comes from the connection's client any more, and nothing goes to it.
    fn disconnect(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        let Some(client) = conn.client.take() else { return };
        if let Some(peer) = conn.datagrams.take() {
            self.datagram_peers.remove(&peer.address);
        }
        self.begin_departure(id, client, true);
    }

    fn begin_departure(&mut self, id: ConnId, client: ClientId, for_good: bool) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        let flows = std::mem::take(&mut conn.flows);
        conn.due.clear();
        conn.due_guarded.clear();
        conn.departures += 1;
        self.rest_for_good(id);
        // Known to the engine as long as the connection has it.
        let _ = self.engine.mute(client);
        self.departures.push_back(Departure { conn: id, client, flows, for_good });
        if !self.is_guarded() {
            self.finish_all();
        }
    }

    /// Whether clients that are gone still have something, topics have to be told of subscriptions, or an input stage is to
    /// be prepared.
    #[inline]
    pub fn has_unfinished(&self) -> bool {
        !self.departures.is_empty() || self.engine.is_spreading() || !self.engine.is_prepared()
    }

    /// Gives back what clients that are gone had, tells topics of subscriptions, and prepares the input stages: all of it.
    pub fn finish_all(&mut self) {
        while self.has_unfinished() {
            self.finish_some(Effort::ALL);
        }
    }

    /// The same as far as the effort goes.
    pub fn finish_some(&mut self, mut effort: Effort) {
        while !effort.is_spent() {
            let Some(mut departure) = self.departures.pop_front() else { break };
            if self.give_back(&mut departure, &mut effort) {
                self.end_departure(&departure);
            } else {
                self.departures.push_front(departure);
            }
        }
        self.engine.spread_some(&mut effort);
        self.engine.prepare_some(&mut effort);
    }

    /// Whether all is given back.
    fn give_back(&mut self, departure: &mut Departure, effort: &mut Effort) -> bool {
        while !effort.is_spent() {
            let Some(flow) = departure.flows.pop() else { break };
            effort.spend(FLOW_UNITS);
            let (served, _) = self.flows.end(flow);
            self.conns.get_mut(departure.conn).into_iter().for_each(|conn| conn.served += served);
            // The engine may give the number to others from now on.
            let _ = self.engine.unadvertise(flow);
        }
        let client = departure.client;
        if !departure.for_good {
            return self.engine.retire_some(client, effort).unwrap_or(true);
        }
        let is_gone = self.engine.disconnect_some(client, effort).unwrap_or(true);
        if is_gone {
            self.conn_of.get_mut(client.index()).into_iter().for_each(|place| *place = None);
        }
        is_gone
    }

    fn end_departure(&mut self, departure: &Departure) {
        if let Some(conn) = self.conns.get_mut(departure.conn) {
            conn.departures -= 1;
            self.bury(departure.conn);
        }
    }

    /// Forgets a connection that is gone and whose client has nothing left.
    fn bury(&mut self, id: ConnId) {
        let is_over =
            self.conns.get(id).is_some_and(|conn| conn.state == State::Gone && conn.departures == 0);
        let Some(gone) = is_over.then(|| self.conns.remove(id)).flatten() else { return };
        self.news.push(Event::Closed { conn: id, reason: gone.reason.unwrap_or_default() });
    }

    pub(super) fn part_with_slow(&mut self, now: Nanos) {
        for client in self.engine.take_overflowed() {
            if let Some(id) = self.conn_of(client) {
                self.part_at_once(now, id, code::SLOW, "too slow: the queue for this subscriber is full");
            }
        }
    }
}
