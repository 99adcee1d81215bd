//! Connections by number: slots are used again, numbers never.

use std::collections::VecDeque;
use std::net::SocketAddr;

use giusto_core::id::{ClientId, FlowId};

use super::outbox::Outbox;
use super::urgent::Urgency;

const SLOT_BITS: u32 = 24;
/// Flows of a connection that are remembered after their end.
const ENDED_MAX: usize = 256;

/// A connection. The lower 24 bits are its slot, the others say which connection of that slot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

impl ConnId {
    /// A small number that connections which are there have each for itself: an index for tables beside the hub's.
    #[inline]
    pub fn slot(self) -> usize {
        (self.0 & ((1 << SLOT_BITS) - 1)) as usize
    }

    fn next(self) -> Self {
        Self(self.0 + (1 << SLOT_BITS))
    }
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing came yet.
    Hello,
    /// Hello came; the control plane decides on the rest.
    Greeted,
    /// It is a client.
    Open,
    /// Only what waits and the last frame go out; what comes in is not looked at.
    Leaving,
    /// Its socket is closed; what its client had is being given back.
    Gone,
}

/// Where the data of a connection goes as datagrams.
#[derive(Debug)]
pub(super) struct DatagramPeer {
    pub(super) address: SocketAddr,
    /// A frame that did not fit into the last datagram.
    pub(super) held: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) state: State,
    pub(super) client: Option<ClientId>,
    pub(super) datagrams: Option<DatagramPeer>,
    pub(super) outbox: Outbox,
    /// Bytes of names in it that are waited for.
    pub(super) naming_bytes: usize,
    /// The last frame, once there is one.
    pub(super) farewell: Vec<u8>,
    pub(super) reason: Option<String>,
    pub(super) dirty: bool,
    pub(super) urgency: Urgency,
    /// Times that a write was put off.
    pub(super) deferrals: u8,
    pub(super) flows: Vec<FlowId>,
    /// Flows that have ended, the latest last: data that the client sent before it heard of the end may still come.
    pub(super) ended: VecDeque<FlowId>,
    /// Those of its flows whose credits go out with the next write.
    pub(super) due: Vec<FlowId>,
    /// The same for guarded topics: these do not wait for the rest.
    pub(super) due_guarded: Vec<FlowId>,
    /// Messages of flows that have ended.
    pub(super) served: u64,
    /// Control frames of this connection in the batch of news that was being filled.
    pub(super) asked: u32,
    pub(super) asked_in: u64,
    /// Times that its client has begun to go and is not gone.
    pub(super) departures: u32,
}

impl Conn {
    /// Whether what comes in is not looked at any more.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.state, State::Leaving | State::Gone)
    }

    /// A flow ends; `served` messages of it were.
    pub(super) fn end_flow(&mut self, flow: FlowId, served: u64) {
        self.flows.retain(|&other| other != flow);
        self.due.retain(|&other| other != flow);
        self.due_guarded.retain(|&other| other != flow);
        self.served += served;
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(flow);
    }

    /// Whether the connection had this flow not long ago.
    pub(super) fn had(&self, flow: FlowId) -> bool {
        self.ended.contains(&flow)
    }
}

#[derive(Debug)]
enum Place {
    Taken(Box<Conn>),
    /// The number that the next connection here will have.
    Free(ConnId),
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Conns {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Conns {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn insert(&mut self) -> ConnId {
        let slot = self.free.pop().map_or(self.places.len(), |slot| slot as usize);
        let id = match self.places.get(slot) {
            Some(Place::Free(id)) => *id,
            _ => ConnId(slot as u64),
        };
        let conn = Place::Taken(Box::new(Conn {
            id,
            state: State::Hello,
            client: None,
            datagrams: None,
            outbox: Outbox::default(),
            naming_bytes: 0,
            farewell: Vec::new(),
            reason: None,
            dirty: false,
            urgency: Urgency::default(),
            deferrals: 0,
            flows: Vec::new(),
            ended: VecDeque::new(),
            due: Vec::new(),
            due_guarded: Vec::new(),
            served: 0,
            asked: 0,
            asked_in: 0,
            departures: 0,
        }));
        match self.places.get_mut(slot) {
            Some(place) => *place = conn,
            None => self.places.push(conn),
        }
        id
    }

    pub(super) fn remove(&mut self, id: ConnId) -> Option<Box<Conn>> {
        self.get(id)?;
        let place = self.places.get_mut(id.slot())?;
        let Place::Taken(conn) = std::mem::replace(place, Place::Free(id.next())) else { return None };
        self.free.push(id.slot() as u32);
        Some(conn)
    }

    #[inline]
    pub(super) fn get(&self, id: ConnId) -> Option<&Conn> {
        match self.places.get(id.slot()) {
            Some(Place::Taken(conn)) if conn.id == id => Some(conn),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        match self.places.get_mut(id.slot()) {
            Some(Place::Taken(conn)) if conn.id == id => Some(conn),
            _ => None,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Conn> {
        self.iter_from(0, usize::MAX)
    }

    /// Those in so many slots, and whether there are more behind them.
    pub(super) fn portion(&self, first: usize, slots: usize) -> (impl Iterator<Item = &Conn>, bool) {
        (self.iter_from(first, slots), first.saturating_add(slots) < self.places.len())
    }

    fn iter_from(&self, first: usize, slots: usize) -> impl Iterator<Item = &Conn> {
        self.places.iter().skip(first).take(slots).filter_map(|place| match place {
            Place::Taken(conn) => Some(&**conn),
            Place::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_but_a_number_never() {
        let mut conns = Conns::default();
        let first = conns.insert();
        conns.remove(first);
        let second = conns.insert();
        assert_eq!((first.slot(), second.slot()), (0, 0));
        assert!(first != second && conns.get(first).is_none() && conns.get(second).is_some());
        assert!(conns.remove(first).is_none());
        assert_eq!(conns.len(), 1);
    }
}
