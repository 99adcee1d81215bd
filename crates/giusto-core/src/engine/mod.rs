//! The whole pipeline as one state machine: what a broker does with a message between two sockets.
//!
//! ```text
//! ingest: police ─▶ VOQ matrix        one call per data frame that came in
//! step:   input stage ─▶ match ─▶ output queues        one call per quantum of the processor, guarded topics first
//! take:   output stage ─▶ record      one call per message that a link can carry
//! ```
//!
//! Around that are the five primitives (advertise, publish = ingest, subscribe, unsubscribe,
//! unadvertise), which change the tables that the views show: W, MatrixIN, MatrixOUT. Whoever drives
//! the engine (a broker on sockets, the simulator, a test) owns the clock and the links.

mod class;
mod counters;
mod debts;
mod delivery;
mod departure;
mod draining;
mod forward;
mod losses;
mod primitives;
mod recording;
mod subscriptions;
mod tables;
mod view;

use crate::error::Invalid;
use crate::frame::data::HEADER_BYTES;
use crate::id::{ClientId, Nanos, SubscriptionId, TopicId};
use crate::matching::{Errand, Matcher};
use crate::output::{self, Expiry, Link, Lost, Overflow, Room, Terms};
use crate::queue::Queues;
use crate::record::{Portion, Ring, Rows};

pub use counters::Counters;
pub use delivery::Delivery;
pub use departure::FLOW_UNITS;
pub use forward::{IngestError, Quantum, Step};
pub use losses::{Cause, Loss};
pub use primitives::{CLIENT_BYTES_MAX, Need, Offer};
pub use view::Views;

use class::{Fresh, Ready, Stages};
use debts::Debts;
use delivery::Deliveries;
use losses::Losses;
use tables::Tables;

/// How an engine is made. Everything else changes while it runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Input policy, see [`input::REGISTRY`].
    pub input: String,
    /// Output policy, see [`output::POLICIES`].
    pub output: String,
    /// Bytes of payload and attributes that one quantum of the processor handles.
    pub fragment_bytes: u32,
    /// Messages that may be stored for all flows and subscribers together.
    pub message_capacity: usize,
    /// Messages that may wait for a subscriber.
    pub output_capacity: usize,
    /// Bytes of frames that may wait for a subscriber; one message may always wait.
    pub output_bytes: u64,
    /// What happens when more would wait.
    pub overflow: Overflow,
    /// When waiting messages are dropped; `None` leaves it to the output policy.
    pub expiry: Option<Expiry>,
    /// What the output policies know of the links.
    pub link: Link,
    /// Records kept between two drains; 0 keeps none.
    pub record_capacity: usize,
    /// Records are kept of one message in so many.
    pub record_sampling: u32,
    /// Name of the run in the records.
    pub run: String,
    /// Name of this node in the records.
    pub node: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            input: "twrr".into(),
            output: "fifo".into(),
            fragment_bytes: 65_536,
            message_capacity: 1 << 20,
            output_capacity: 1_024,
            output_bytes: 64 << 20,
            overflow: Overflow::default(),
            expiry: None,
            link: Link::default(),
            record_capacity: 0,
            record_sampling: 1,
            run: "run".into(),
            node: "node".into(),
        }
    }
}

impl Config {
    /// How much may wait for a subscriber in each of its queues.
    fn output_room(&self) -> Room {
        Room { messages: self.output_capacity, bytes: self.output_bytes }
    }
}

/// The forwarding state of one broker.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    tables: Tables,
    stages: Stages,
    queues: Queues,
    matcher: Matcher,
    /// What topics have to be told of subscriptions, the latest last.
    errands: Vec<(SubscriptionId, Errand)>,
    deliveries: Deliveries,
    records: Option<Ring>,
    /// What is used within one call and kept for its memory.
    scratch: Scratch,
    /// Clients whose queue was full while the overflow policy is to disconnect them.
    overflowed: Vec<ClientId>,
    /// Who has got something of the rest, and who something guarded.
    ready: Ready,
    ready_guarded: Ready,
    losses: Losses,
    debts: Debts,
    /// The latest instant at which a message came in.
    now: Nanos,
}

#[derive(Debug, Default)]
struct Scratch {
    matched: Vec<SubscriptionId>,
    tokens: Vec<u32>,
    terms: Vec<Terms>,
    lost: Vec<Lost>,
}

impl Engine {
    /// An engine with no topic and no client.
    pub fn new(config: Config) -> Result<Self, Invalid> {
        let stages = Stages::new(&config.input)?;
        let mut queues = Queues::new(stages.lanes(), config.fragment_bytes)?.with_header(HEADER_BYTES as u32);
        queues.store.limit(config.message_capacity);
        let policy = output::policy(&config.output)
            .map_err(|invalid| Invalid { field: "output".into(), ..invalid })?;
        policy.queue(config.output_room(), config.overflow, config.expiry, config.link)?;
        let records = match config.record_capacity {
            0 => None,
            capacity => Some(Ring::new(capacity, config.record_sampling)?),
        };
        Ok(Self {
            config,
            tables: Tables::default(),
            stages,
            queues,
            matcher: Matcher::new(),
            errands: Vec::new(),
            deliveries: Deliveries::default(),
            records,
            scratch: Scratch::default(),
            overflowed: Vec::new(),
            ready: Ready::default(),
            ready_guarded: Ready::default(),
            losses: Losses::default(),
            debts: Debts::default(),
            now: Nanos::MIN,
        })
    }

    /// Makes room for so many topics, flows and subscriptions: until there are more, no table is moved to where it has room. Memory
    /// that is not used yet costs nothing but addresses.
    pub fn reserve(&mut self, count: usize) {
        self.tables.reserve(count);
        self.stages.reserve(count);
        self.queues.reserve(count);
        self.matcher.reserve(count);
        self.errands.reserve(count);
    }

    /// What was recorded since the last time, if records are kept; the engine goes on with `rows` (see [`Ring::swap`]).
    pub fn swap_records(&mut self, rows: Rows) -> Option<Portion> {
        self.records.as_mut().map(|records| records.swap(rows))
    }

    /// Records that wait for the next time.
    pub fn records(&self) -> usize {
        self.records.as_ref().map_or(0, Ring::len)
    }

    /// What has happened on one topic so far.
    pub fn counters(&self, topic: TopicId) -> Option<&Counters> {
        self.tables.topics.get(topic.0).map(|topic| &topic.counters)
    }

    /// What has happened on all topics so far, also on those that are gone.
    pub fn totals(&self) -> Counters {
        self.tables.totals()
    }

    /// What has happened on topics that are gone.
    pub fn past(&self) -> Counters {
        self.tables.past
    }

    /// Clients that are to be disconnected since their queue was full; each is named once per call.
    pub fn take_overflowed(&mut self) -> Vec<ClientId> {
        let mut clients = std::mem::take(&mut self.overflowed);
        clients.sort_unstable();
        for client in &clients {
            self.tables.client_mut(*client).into_iter().for_each(|entry| entry.overflowed = false);
        }
        clients
    }

    /// Topics that are there, from a number on, in the order of their numbers.
    pub fn topics_from(&self, first: TopicId) -> impl Iterator<Item = TopicId> {
        let there = self.tables.topics.iter_from(first.0).filter(|(_, topic)| !topic.gone);
        there.map(|(number, _)| TopicId(number))
    }

    /// A client for which something of the rest was queued since it was last named, if there is one.
    #[inline]
    pub fn pop_ready(&mut self) -> Option<ClientId> {
        self.ready.crowded = false;
        let client = self.ready.clients.pop()?;
        if let Some(entry) = self.tables.clients.get_mut(client.0) {
            entry.fresh = Fresh::default();
        }
        Some(client)
    }

    /// How many clients [`Engine::pop_ready`] would name.
    #[inline]
    pub fn ready_count(&self) -> usize {
        self.ready.clients.len()
    }

    /// Whether a client should be named and its messages taken before more steps fill its queue.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.ready.crowded
    }

    /// Messages that wait for the input stage.
    pub fn waiting(&self) -> usize {
        self.queues.len()
    }

    /// Messages that anything in the engine still refers to.
    pub fn stored(&self) -> usize {
        self.queues.store.len()
    }

    /// How the engine was made.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// Whether an instant lies after a span that began at `start_ns`; 0 is no span at all.
fn has_passed(now: Nanos, start_ns: Nanos, span_ns: Nanos) -> bool {
    span_ns != 0 && now.saturating_sub(start_ns) > span_ns
}
