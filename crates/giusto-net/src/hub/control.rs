//! What the control plane may ask: each call is done as a whole or refused as a whole.

use std::net::SocketAddr;

use giusto_core::effort::Effort;
use giusto_core::engine::{Need, Offer, Views};
use giusto_core::error::{ChangeError, Invalid};
use giusto_core::frame::Frame;
use giusto_core::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::input::Share;
use giusto_core::matching::Filter;
use giusto_core::queue::CAPACITY_MAX;
use giusto_core::record::{Portion, Rows};

use super::conn::{ConnId, DatagramPeer};
use super::{Hub, State, code};
use crate::session::notice;

/// Bytes of control frames that may wait for a connection that does not read them.
const OUTBOX_BYTES_MAX: usize = 64 << 20;
/// Bytes of control frames that a connection has to take before it is told what can wait.
const UNREAD_BYTES: usize = 64 << 10;

/// Work that is done in one call beside what was asked for.
const UNITS: usize = 256;

impl Hub {
    /// The connection is a client from now on, whose data goes to and comes from `datagrams`, if given.
    pub fn connect(
        &mut self,
        id: ConnId,
        name: &str,
        datagrams: Option<SocketAddr>,
    ) -> Result<ClientId, ChangeError> {
        match self.conns.get(id).map(|conn| conn.state) {
            Some(State::Greeted) => {}
            Some(State::Open) => return Err(ChangeError::duplicate("client", name)),
            _ => return Err(unknown(id)),
        }
        if let Some(address) = datagrams.filter(|_| !self.config.datagrams) {
            let expected = "no address: this broker does not listen for datagrams";
            return Err(Invalid::new("udp", address, expected).into());
        }
        if datagrams.is_some_and(|address| self.datagram_peers.contains_key(&address)) {
            let value = datagrams.map_or_else(String::new, |address| address.to_string());
            return Err(Invalid::new("udp", value, "an address that no other client has").into());
        }
        let client = self.engine.connect(name)?;
        if client.index() >= self.conn_of.len() {
            self.conn_of.resize(client.index() + 1, None);
        }
        self.conn_of[client.index()] = Some(id);
        if let Some(address) = datagrams {
            self.datagram_peers.insert(address, id);
        }
        if let Some(conn) = self.conns.get_mut(id) {
            conn.state = State::Open;
            conn.client = Some(client);
            conn.datagrams = datagrams.map(|address| DatagramPeer { address, held: Vec::new() });
        }
        Ok(client)
    }

    /// A topic exists from now on.
    pub fn declare(&mut self, name: &str, share: Share) -> Result<TopicId, ChangeError> {
        let topic = self.engine.declare(name, share)?;
        self.delays.forget(topic);
        Ok(topic)
    }

    /// A topic that nobody publishes on is gone.
    pub fn forget(&mut self, topic: TopicId) -> Result<(), ChangeError> {
        self.engine.forget(topic)?;
        self.engine.set_patient(self.is_guarded());
        Ok(())
    }

    /// Allots another share to a topic.
    pub fn allot(&mut self, topic: TopicId, share: Share) -> Result<(), ChangeError> {
        self.engine.allot(topic, share)
    }

    /// Puts a topic under contract, or among the rest; whether it is there now. If much waits for its subscribers, it takes
    /// some calls until it is under contract, while others are.
    pub fn guard(&mut self, topic: TopicId, guarded: bool) -> Result<bool, ChangeError> {
        let mut effort = self.effort();
        let is_so = self.engine.guard_some(topic, guarded, &mut effort)?;
        if is_so {
            self.shift_publishers(topic, guarded);
        }
        self.engine.set_patient(self.is_guarded());
        Ok(is_so)
    }

    /// Prepares what takes time after a change of guarded topics or their shares, some of it; whether nothing is left.
    pub fn prepare(&mut self) -> bool {
        self.engine.prepare_some(&mut Effort::units(UNITS));
        self.engine.is_prepared_guarded()
    }

    /// The connection publishes on the topic from now on. It may send as many messages as the offer's queue holds;
    /// those of an earlier flow that still wait do not take their places.
    pub fn advertise(&mut self, id: ConnId, topic: TopicId, offer: &Offer) -> Result<FlowId, ChangeError> {
        let client = self.client(id)?;
        let inherited = self.engine.waiting_in(client, topic);
        let mut offer = *offer;
        let capacity = offer.bounds.capacity;
        offer.bounds.capacity = capacity.saturating_add(inherited).min(CAPACITY_MAX.max(capacity));
        let flow = self.engine.advertise(client, topic, &offer)?;
        let part = self.begin_part(id, topic, &offer);
        if let Some(conn) = self.conns.get_mut(id) {
            conn.flows.push(flow);
            let portion = if conn.datagrams.is_some() { 0 } else { (capacity / 4).max(1) };
            self.flows.begin(flow, id, portion, inherited, part);
        }
        Ok(flow)
    }

    /// The messages of a flow of the connection are limited in another way from now on.
    pub fn reoffer(&mut self, id: ConnId, flow: FlowId, offer: &Offer) -> Result<(), ChangeError> {
        let client = self.client(id)?;
        if self.engine.owner(flow) != Some(client) {
            return Err(ChangeError::unknown("flow", flow.0));
        }
        let limit = offer.limit.ok_or_else(|| Invalid::new("min_sep_ns", "none", "a limit"))?;
        self.engine.reoffer(flow, limit)?;
        self.resize_part(flow, offer);
        Ok(())
    }

    /// A flow of the connection ends; what waits in it is still forwarded.
    pub fn unadvertise(&mut self, id: ConnId, flow: FlowId) -> Result<(), ChangeError> {
        let client = self.client(id)?;
        if self.engine.owner(flow) != Some(client) {
            return Err(ChangeError::unknown("flow", flow.0));
        }
        self.engine.unadvertise(flow)?;
        let (served, part) = self.flows.end(flow);
        self.end_part(id, part);
        if let Some(conn) = self.conns.get_mut(id) {
            conn.end_flow(flow, served);
        }
        Ok(())
    }

    /// The connection receives what matches from now on, all of it when [`Hub::spread`] says so.
    pub fn subscribe(
        &mut self,
        id: ConnId,
        pattern: &str,
        filter: Option<&Filter>,
        need: &Need,
    ) -> Result<SubscriptionId, ChangeError> {
        let client = self.client(id)?;
        let subscription = self.engine.begin_subscribe(client, pattern, filter, need)?;
        self.spread(subscription);
        Ok(subscription)
    }

    /// A subscription of the connection ends; what already waits for it is still delivered.
    pub fn unsubscribe(&mut self, id: ConnId, subscription: SubscriptionId) -> Result<(), ChangeError> {
        let client = self.client(id)?;
        if self.engine.subscriber(subscription) != Some(client) {
            return Err(ChangeError::unknown("subscription", subscription.0));
        }
        self.engine.begin_unsubscribe(subscription)?;
        self.spread(subscription);
        Ok(())
    }

    /// Whether all topics have been told of a subscription, or of its end.
    pub fn is_spread(&self, subscription: SubscriptionId) -> bool {
        self.engine.is_spread(subscription)
    }

    /// Tells topics of a subscription, or of its end: all at once, or some of them while something is guarded. Whether
    /// all have been told.
    pub fn spread(&mut self, subscription: SubscriptionId) -> bool {
        if !self.engine.is_spread(subscription) {
            self.engine.spread_some(&mut self.effort());
        }
        self.engine.is_spread(subscription)
    }

    /// Sends a control frame, in order with all that was sent before; but names of topics and sources go before what has not
    /// gone out. One that does not read them is closed.
    pub fn send(&mut self, now: Nanos, id: ConnId, body: &[u8]) -> Result<(), ChangeError> {
        let conn = self.conns.get(id).filter(|conn| !conn.is_leaving()).ok_or_else(|| unknown(id))?;
        if conn.outbox.len() + body.len() > OUTBOX_BYTES_MAX {
            self.part_at_once(now, id, code::SLOW, "too slow: control frames are not read");
            return Ok(());
        }
        let is_name = conn.datagrams.is_none() && notice::read(body).is_some();
        if let (true, Some(conn)) = (is_name, self.conns.get_mut(id)) {
            let had_bytes = conn.outbox.names_bytes();
            let _ = Frame::Control(body).encode(conn.outbox.names(), u32::MAX);
            if had_bytes == conn.naming_bytes {
                self.count_names(id);
            }
            self.mark(id);
        } else {
            self.enqueue(id, &Frame::Control(body));
        }
        Ok(())
    }

    /// Connections in so many slots from one on that do not take the control frames for them: what can wait should. And
    /// whether there are more slots behind them.
    pub fn unread(&self, first: usize, slots: usize) -> (Vec<ConnId>, bool) {
        let (conns, more) = self.conns.portion(first, slots);
        (conns.filter(|conn| conn.outbox.len() > UNREAD_BYTES).map(|conn| conn.id).collect(), more)
    }

    /// Sends what waits, then an error frame (a goodbye if `code` is 0), and lets the connection go.
    pub fn close(&mut self, now: Nanos, id: ConnId, code: u32, text: &str) -> Result<(), ChangeError> {
        self.conns.get(id).filter(|conn| !conn.is_leaving()).ok_or_else(|| unknown(id))?;
        self.part(now, id, code, text);
        Ok(())
    }

    /// W, MatrixIN and MatrixOUT. The whole broker waits for as long as it takes.
    pub fn views(&self) -> Views {
        self.engine.views()
    }

    /// What was recorded since the last time, if records are kept; the engine goes on with `rows`.
    pub fn swap_records(&mut self, rows: Rows) -> Option<Portion> {
        self.engine.swap_records(rows)
    }

    /// Records that wait for the next time.
    pub fn records(&self) -> usize {
        self.engine.records()
    }

    /// What one call may do while something is promised.
    fn effort(&self) -> Effort {
        if self.is_guarded() { Effort::units(UNITS) } else { Effort::ALL }
    }

    fn client(&self, id: ConnId) -> Result<ClientId, ChangeError> {
        let conn = self.conns.get(id).filter(|conn| conn.state == State::Open);
        conn.and_then(|conn| conn.client).ok_or_else(|| unknown(id))
    }
}

fn unknown(id: ConnId) -> ChangeError {
    ChangeError::unknown("connection", id.0)
}
