//! What goes out to a client next: control frames, then what the output stage chooses, then the last frame. Guarded messages
//! wait for names only.

use std::net::SocketAddr;

use giusto_core::engine::{Delivery, Engine};
use giusto_core::frame::DataMut;
use giusto_core::id::{ClientId, Nanos};

use super::conn::ConnId;
use super::naming::note_told;
use super::{Hub, State, mark};

/// Largest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Frames are put together up to this size where datagrams would be cut into packets.
const PACKET_BYTES: usize = 1_400;

/// Frames that fit into no datagram are left in the queue while this much waits to be written.
const SPILL_BYTES_MAX: usize = 1 << 20;

/// What is left for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Nothing.
    All,
    /// More than fitted: it is among the dirty ones again.
    Part,
    /// The last frame is in: close when it is out.
    Last,
}

/// Which messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Guarded ones first.
    All,
    /// Guarded ones only.
    Guarded,
}

impl Traffic {
    #[inline]
    fn carry(self, engine: &mut Engine, now: Nanos, client: ClientId) -> Option<(u32, Delivery<'_>)> {
        match self {
            Self::All => engine.carry(now, client),
            Self::Guarded => engine.carry_guarded(now, client),
        }
    }
}

/// Appends a frame as its client is to see it: others that get it may have been promised more.
#[inline]
fn append(out: &mut Vec<u8>, delivery: &Delivery<'_>) {
    let start = out.len();
    out.extend_from_slice(delivery.frame);
    if delivery.behind {
        DataMut::new(&mut out[start..]).into_iter().for_each(|mut header| header.set_promised(false));
    }
}

/// Messages for one client that are worth a write of their own.
const BULK: usize = 256;
/// Bytes that are.
const BULK_BYTES: u64 = 256 << 10;
/// Below this many a client is not in the midst of a stream, and waits for nothing.
const FEW: usize = 8;
/// Turns that a write is put off at most.
const DEFERRALS_MAX: u8 = 7;

impl Hub {
    /// Whether to write to the connection in a later turn: it is in the midst of a stream, and more of that will
    /// follow at once. A write costs as much as many messages; who gets few messages is not made to wait for that.
    pub fn defer(&mut self, id: ConnId) -> bool {
        let Some(conn) = self.conns.get_mut(id) else { return false };
        let waiting = conn.client.map_or(0, |client| self.engine.waiting_for(client));
        let bytes = conn.client.map_or(0, |client| self.engine.waiting_bytes_for(client));
        let enough = BULK.min(self.config.engine.output_capacity / 4);
        let put_off = (FEW..enough).contains(&waiting)
            && bytes < BULK_BYTES.min(self.config.engine.output_bytes / 4)
            && conn.outbox.is_empty()
            && conn.due.is_empty()
            && conn.due_guarded.is_empty()
            && conn.state == State::Open
            && conn.deferrals < DEFERRALS_MAX
            && self.engine.waiting() > 0;
        conn.deferrals = if put_off { conn.deferrals + 1 } else { 0 };
        if put_off {
            mark(&mut self.dirty, conn);
        }
        put_off
    }

    /// Appends what goes to the connection to `out` until that has `limit_bytes` or more.
    pub fn fill(&mut self, now: Nanos, id: ConnId, out: &mut Vec<u8>, limit_bytes: usize) -> Filled {
        let Some(conn) = self.conns.get_mut(id) else { return Filled::All };
        let is_poured = conn.outbox.pour(out, limit_bytes);
        note_told(&mut self.naming_bytes, conn);
        if !is_poured {
            mark(&mut self.dirty, conn);
            return Filled::Part;
        }
        if conn.state == State::Open {
            conn.outbox.settle();
        }
        self.flows.write_due(conn.due_guarded.drain(..), out);
        self.flows.write_due(conn.due.drain(..), out);
        let drained = match (conn.client, &conn.datagrams) {
            (Some(client), None) => {
                self.fill_data(now, client, out, limit_bytes);
                self.engine.waiting_for(client) == 0
            }
            (Some(client), Some(peer)) => peer.held.is_empty() && self.engine.waiting_for(client) == 0,
            (None, _) => true,
        };
        let Some(conn) = self.conns.get_mut(id) else { return Filled::All };
        conn.urgency.left = conn.client.map_or(0, |client| self.engine.waiting_guarded_for(client));
        if !drained {
            mark(&mut self.dirty, conn);
            return Filled::Part;
        }
        if conn.state != State::Leaving {
            return Filled::All;
        }
        out.append(&mut conn.farewell);
        Filled::Last
    }

    /// Appends names, credits, and the guarded messages that were made since the last write. Of names, and what else has to go
    /// before messages, `names_bytes` at most; returns how many these were. If there are more, messages wait for a later turn.
    pub fn fill_guarded(&mut self, now: Nanos, id: ConnId, out: &mut Vec<u8>, names_bytes: usize) -> usize {
        let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.state == State::Open) else { return 0 };
        // Names are not ahead of datagrams in any way: only messages are there that did not fit into one.
        let has_datagrams = conn.datagrams.is_some();
        if conn.outbox.names_bytes() > conn.naming_bytes && !has_datagrams {
            // It has not read them in time: they go with the rest.
            self.put_behind(id);
            return 0;
        }
        let is_told = conn.outbox.pour_first(out, if has_datagrams { usize::MAX } else { names_bytes });
        note_told(&mut self.naming_bytes, conn);
        let told_bytes = if has_datagrams { 0 } else { out.len() };
        if !is_told {
            self.mark_guarded(id);
            return told_bytes;
        }
        self.flows.write_due(conn.due_guarded.drain(..), out);
        if let (Some(client), false) = (conn.client, has_datagrams) {
            let made = self.engine.waiting_guarded_for(client).saturating_sub(conn.urgency.left);
            let _ = (0..made).try_for_each(|_| self.fill_one(now, client, Traffic::Guarded, out));
            self.put_behind(id);
        }
        told_bytes
    }

    /// The guarded messages that wait for the connection go with the rest from now on: it does not take them in time.
    pub fn put_behind(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        conn.urgency.left = conn.client.map_or(0, |client| self.engine.waiting_guarded_for(client));
        if conn.urgency.left > 0 {
            mark(&mut self.dirty, conn);
        }
    }

    #[inline]
    fn fill_data(&mut self, now: Nanos, client: ClientId, out: &mut Vec<u8>, limit_bytes: usize) {
        while out.len() < limit_bytes && self.fill_one(now, client, Traffic::All, out).is_some() {}
    }

    /// Appends the next message; none if there is none.
    #[inline]
    fn fill_one(&mut self, now: Nanos, client: ClientId, traffic: Traffic, out: &mut Vec<u8>) -> Option<()> {
        let (token, delivery) = traffic.carry(&mut self.engine, now, client)?;
        append(out, &delivery);
        self.delays.record(delivery.topic, now - delivery.ingress_ns);
        self.engine.finish(token);
        Some(())
    }

    /// Where the connection's data goes as datagrams, if it does.
    pub fn datagram_address(&self, id: ConnId) -> Option<SocketAddr> {
        self.conns.get(id)?.datagrams.as_ref().map(|peer| peer.address)
    }

    /// Appends the next datagram to the empty `out`; false if nothing waits. A frame that fits into none goes with
    /// the control frames.
    pub fn fill_datagram(&mut self, now: Nanos, id: ConnId, traffic: Traffic, out: &mut Vec<u8>) -> bool {
        let Some(conn) = self.conns.get_mut(id) else { return false };
        let (Some(client), Some(peer)) = (conn.client, conn.datagrams.as_mut()) else { return false };
        let limit = if peer.address.ip().is_loopback() { DATAGRAM_BYTES_MAX } else { PACKET_BYTES };
        let mut spilled = false;
        out.append(&mut peer.held);
        while out.len() < limit && conn.outbox.len() < SPILL_BYTES_MAX {
            let Some((token, delivery)) = traffic.carry(&mut self.engine, now, client) else { break };
            self.delays.record(delivery.topic, now - delivery.ingress_ns);
            let bytes = delivery.frame.len();
            if bytes > DATAGRAM_BYTES_MAX {
                let line = match traffic {
                    Traffic::All => conn.outbox.bytes(),
                    Traffic::Guarded => conn.outbox.names(),
                };
                append(line, &delivery);
                spilled = true;
            } else if out.is_empty() || out.len() + bytes <= limit {
                append(out, &delivery);
            } else {
                append(&mut peer.held, &delivery);
            }
            self.engine.finish(token);
            if !peer.held.is_empty() {
                break;
            }
        }
        if spilled {
            mark(&mut self.dirty, conn);
        }
        !out.is_empty()
    }
}
