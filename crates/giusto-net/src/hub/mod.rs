//! The broker as one state machine: bytes of clients in, bytes for clients out, calls of the control plane.
//!
//! ```text
//! receive: frames of one connection ─▶ engine.ingest, or an event for the control plane
//! step:    one quantum of the engine; its flow gets its credit back
//! fill:    control frames, then what the output stage chooses, as bytes for one connection
//! ```
//!
//! A connection goes through five states:
//!
//! ```text
//! Hello ──hello──▶ Greeted ──connect()──▶ Open ──close(), error──▶ Leaving ──hang_up()──▶ Gone ──nothing left──▶
//!   └────────────────┴── handshake too slow ──────────────────────▶ Leaving
//! ```
//!
//! It does no I/O and reads no clock: whoever drives it (the data thread, a test) owns the sockets.

mod conn;
mod control;
mod credit;
mod delay;
mod departure;
mod fill;
mod naming;
mod news;
mod outbox;
mod receive;
mod status;
mod urgent;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use giusto_core::engine::{Config, Engine};
use giusto_core::error::Invalid;
use giusto_core::frame::{Decoder, Frame, Hello, LIMIT_BYTES, VERSION};
use giusto_core::id::{ClientId, Nanos};
use giusto_core::output::Overflow;

pub use conn::ConnId;
pub use fill::{Filled, Traffic};
pub(crate) use naming::NAMES_BYTES;
pub(crate) use news::News;
pub use receive::{Hold, Received};
pub use status::{ClientStatus, Longest, LossOf, Refusals, TopicStatus};

use conn::{Conn, Conns, State};
use credit::Flows;
use delay::Delays;
use departure::Departure;
use receive::CONTROL_BYTES_MAX;
use urgent::Urgent;

/// Topics, flows, subscriptions and clients that there is room for from the start: a table that grows would make all wait.
const ROOM: usize = 1 << 16;

/// Numbers in error frames.
pub mod code {
    /// Bytes that are not what the protocol allows.
    pub const PROTOCOL: u32 = 1;
    /// Something other than Connect came first.
    pub const NOT_CONNECTED: u32 = 2;
    /// As many connections as there may be.
    pub const OVERLOAD: u32 = 3;
    /// A subscriber that is to be disconnected when its queue is full.
    pub const SLOW: u32 = 4;
    /// Hello and Connect did not come in time.
    pub const HANDSHAKE: u32 = 5;
}

/// How a hub is made.
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// The pipeline.
    pub engine: Config,
    /// Longest frame taken from a client.
    pub frame_limit_bytes: u32,
    /// Time for hello and Connect.
    pub handshake_ns: Nanos,
    /// Connections at once at most.
    pub connections_max: usize,
    /// Events that may wait for the control plane before clients that would add more are held.
    pub control_capacity: usize,
    /// Time for the last frames of a connection that is being closed.
    pub grace_ns: Nanos,
    /// Whoever drives the hub carries datagrams.
    pub datagrams: bool,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            engine: Config::default(),
            frame_limit_bytes: LIMIT_BYTES,
            handshake_ns: 5_000_000_000,
            connections_max: 16_384,
            control_capacity: 4_096,
            grace_ns: 1_000_000_000,
            datagrams: false,
        }
    }
}

/// What the control plane is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody has connected; nothing is known of them yet.
    Opened {
        /// The connection.
        conn: ConnId,
        /// Where they are.
        address: String,
    },
    /// A control frame came.
    Control {
        /// The connection.
        conn: ConnId,
        /// The frame's body.
        body: Vec<u8>,
    },
    /// The connection is gone.
    Closed {
        /// The connection.
        conn: ConnId,
        /// Why.
        reason: String,
    },
}

/// The state of a live broker.
#[derive(Debug)]
pub struct Hub {
    config: HubConfig,
    engine: Engine,
    decoder: Decoder,
    /// For those who are not clients yet.
    narrow: Decoder,
    conns: Conns,
    flows: Flows,
    /// The connection of each client of the engine.
    conn_of: Vec<Option<ConnId>>,
    /// Connections that have something to send, each once.
    dirty: VecDeque<ConnId>,
    news: News,
    urgent: Urgent,
    /// Instants at which handshakes must be over, and last frames sent: both in order, since the spans are constant.
    handshakes: VecDeque<(Nanos, ConnId)>,
    farewells: VecDeque<(Nanos, ConnId)>,
    /// Clients that are gone and have not given back all that they had.
    departures: VecDeque<Departure>,
    /// Bytes of names that are waited for, of all connections.
    naming_bytes: usize,
    datagram_peers: HashMap<SocketAddr, ConnId>,
    delays: Delays,
    refusals: Refusals,
    longest: Longest,
    turns: u64,
    /// Messages that steps have queued for clients since the last gathering.
    queued: usize,
}

impl Hub {
    /// A broker without topics and clients.
    pub fn new(config: HubConfig) -> Result<Self, Invalid> {
        let mut engine = Engine::new(config.engine.clone())?;
        engine.reserve(ROOM);
        Ok(Self {
            engine,
            decoder: Decoder::new(config.frame_limit_bytes),
            narrow: Decoder::new(config.frame_limit_bytes.min(CONTROL_BYTES_MAX)),
            conns: Conns::default(),
            flows: Flows::with_room(ROOM),
            conn_of: Vec::with_capacity(ROOM),
            dirty: VecDeque::new(),
            news: News::default(),
            urgent: Urgent::default(),
            handshakes: VecDeque::new(),
            farewells: VecDeque::new(),
            departures: VecDeque::new(),
            naming_bytes: 0,
            datagram_peers: HashMap::new(),
            delays: Delays::with_room(ROOM),
            refusals: Refusals::default(),
            longest: Longest::default(),
            turns: 0,
            queued: 0,
            config,
        })
    }

    /// A connection from `address`; none if there are as many as there may be.
    pub fn open(&mut self, now: Nanos, address: String) -> Option<ConnId> {
        if self.conns.len() >= self.config.connections_max {
            self.refusals.connections += 1;
            return None;
        }
        let conn = self.conns.insert();
        self.handshakes.push_back((now.saturating_add(self.config.handshake_ns), conn));
        self.news.push(Event::Opened { conn, address });
        self.enqueue(conn, &Frame::Hello(Hello { version: VERSION }));
        Some(conn)
    }

    /// Spends one quantum of the processor; false when nothing waits.
    #[inline]
    pub fn step(&mut self, now: Nanos) -> bool {
        let Some(quantum) = self.engine.step(now) else { return false };
        self.settle(quantum);
        true
    }

    /// How many clients have got something by steps since [`Hub::gather`].
    #[inline]
    pub fn ready_count(&self) -> usize {
        self.engine.ready_count()
    }

    /// How many messages steps have queued for clients since [`Hub::gather`].
    #[inline]
    pub fn queued_count(&self) -> usize {
        self.queued
    }

    /// Whether the queue of a client has filled by half since [`Hub::gather`]: it should be written first.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.engine.is_crowded()
    }

    /// To be called after a number of steps: finds out who has something to send now.
    pub fn gather(&mut self, now: Nanos) {
        self.queued = 0;
        while let Some(client) = self.engine.pop_ready() {
            if let Some(conn) = self.conn_of(client) {
                self.mark(conn);
            }
        }
        while let Some(client) = self.engine.pop_ready_guarded() {
            if let Some(conn) = self.conn_of(client) {
                self.mark(conn);
            }
        }
        if self.config.engine.overflow == Overflow::Disconnect {
            self.part_with_slow(now);
        }
    }

    /// A connection that has something to send, if there is one.
    #[inline]
    pub fn pop_dirty(&mut self) -> Option<ConnId> {
        while let Some(id) = self.dirty.pop_front() {
            if let Some(conn) = self.conns.get_mut(id) {
                conn.dirty = false;
                return Some(id);
            }
        }
        None
    }

    /// How many connections have something to send.
    #[inline]
    pub fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// Whether messages wait for the input stage.
    pub fn has_work(&self) -> bool {
        self.engine.waiting() > 0
    }

    /// When [`Hub::expire`] has something to do.
    pub fn next_timer(&self) -> Option<Nanos> {
        let first = |queue: &VecDeque<(Nanos, ConnId)>| queue.front().map(|&(at, _)| at);
        [first(&self.handshakes), first(&self.farewells), first(&self.urgent.probations)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Ends probations that are over, and closes what is late: handshakes that are not over, last frames that are not
    /// out; at most so many of each. Returns connections whose time is up, to be hung up.
    pub fn expire(&mut self, now: Nanos, most: usize) -> Vec<ConnId> {
        self.end_probations(now, most);
        for _ in 0..most {
            let Some(id) = pop_due(&mut self.handshakes, now) else { break };
            if self.conns.get(id).is_some_and(|conn| matches!(conn.state, State::Hello | State::Greeted)) {
                self.refusals.handshakes += 1;
                self.part_at_once(now, id, code::HANDSHAKE, "no hello and Connect in time");
            }
        }
        let mut late = Vec::new();
        while late.len() < most {
            let Some(id) = pop_due(&mut self.farewells, now) else { break };
            late.extend(self.conns.get(id).map(|_| id));
        }
        late
    }

    /// What the control plane has not been told yet.
    pub fn events(&mut self) -> VecDeque<Event> {
        self.news.take()
    }

    /// The same, where it waits.
    pub(crate) fn news(&mut self) -> &mut News {
        &mut self.news
    }

    /// Whether the control plane is told less than happens: new connections should wait.
    pub fn is_deaf(&self) -> bool {
        self.news.is_full(self.config.control_capacity)
    }

    /// Whether nothing waits in any queue, and no connection has something to send.
    pub fn is_drained(&self) -> bool {
        self.engine.stored() == 0 && self.dirty.is_empty()
    }

    /// Every connection.
    pub fn connections(&self) -> Vec<ConnId> {
        self.conns.iter().filter(|conn| conn.state != State::Gone).map(|conn| conn.id).collect()
    }

    /// Counts a turn of whoever drives the hub.
    pub fn count_turn(&mut self) {
        self.turns += 1;
    }

    /// Turns so far.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// How it was made.
    pub fn config(&self) -> &HubConfig {
        &self.config
    }

    /// What was refused so far, to be added to by who owns the sockets.
    pub fn refusals(&mut self) -> &mut Refusals {
        &mut self.refusals
    }

    #[inline]
    fn conn_of(&self, client: ClientId) -> Option<ConnId> {
        self.conn_of.get(client.index()).copied().flatten()
    }

    /// The connection has something to send, or may have: that is looked for at the next opportunity.
    #[inline]
    pub fn mark(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(id) {
            mark(&mut self.dirty, conn);
        }
    }

    /// Appends a control, credit, probe or hello frame to what the connection sends before data.
    fn enqueue(&mut self, id: ConnId, frame: &Frame<'_>) {
        if let Some(conn) = self.conns.get_mut(id) {
            // Frames of a fixed length always fit; the bodies of control frames are checked where they come in.
            let _ = frame.encode(conn.outbox.bytes(), u32::MAX);
            mark(&mut self.dirty, conn);
        }
    }
}

/// The first connection whose instant has come.
fn pop_due(queue: &mut VecDeque<(Nanos, ConnId)>, now: Nanos) -> Option<ConnId> {
    queue.front().filter(|&&(at, _)| at <= now)?;
    queue.pop_front().map(|(_, id)| id)
}

#[inline]
fn mark(dirty: &mut VecDeque<ConnId>, conn: &mut Conn) {
    if !std::mem::replace(&mut conn.dirty, true) {
        dirty.push_back(conn.id);
    }
}
