//! What the thread that forwards keeps of each delivery: one row of fixed size, in a buffer that is swapped when it is drained.
//!
//! The one who drains brings an empty buffer whose memory the machine has already given, so that the thread that forwards never
//! waits for memory and converts nothing. [`super::Unfolding`] makes columns of what it has handed over.

use std::sync::Arc;

use super::own::Own;
use super::roster::{NO_ROW, Roster};
use super::row::{PLANNED, PROMISED, Plan, RECEIVED, Row, Rows, SELECTED, SENT_ON};
use super::sampling::{Sampling, name_hash};
use super::{CAPACITY_MAX, Outcome};
use crate::error::Invalid;
use crate::id::{ClientId, Nanos, SubscriptionId, TopicId};
use crate::output::{NO_DEADLINE_NS, Terms};

/// A delivery as whoever forwards it sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its topic, named by [`Ring::name_topic`].
    pub topic: TopicId,
    /// Who published it, named by [`Ring::name_publisher`].
    pub publisher: ClientId,
    /// The subscription that it was for, known from [`Ring::describe`].
    pub subscription: Option<SubscriptionId>,
    /// Its number in its flow.
    pub sequence: u64,
    /// Payload and attributes.
    pub size_bytes: u32,
    /// 0 (lowest) to 7.
    pub priority: u8,
    /// When the publisher meant to send it.
    pub t_intended_ns: Nanos,
    /// When the publisher sent it.
    pub t_sent_ns: Nanos,
    /// When it arrived here.
    pub t_ingress_ns: Nanos,
    /// When the input stage chose it.
    pub t_selected_ns: Option<Nanos>,
    /// When it was sent on.
    pub t_egress_ns: Option<Nanos>,
    /// Least separation that the publisher offered, 0 if none.
    pub min_sep_ns: Nanos,
    /// Whether the bound of the subscription holds for it.
    pub is_promised: bool,
    /// Whether here is the subscriber itself.
    pub is_received: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// A subscription as the records tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Party {
    /// Its client.
    pub subscriber: Arc<str>,
    /// Its number at the broker, if that is known.
    pub number: Option<u32>,
    /// Longest delay that it pays for.
    pub deadline_ns: Option<Nanos>,
    /// Longest delay that was proved for it.
    pub bound_ns: Option<Nanos>,
    /// What a message in time is worth, and what a late one costs.
    pub worth: Option<(f64, f64)>,
}

impl Party {
    /// A subscription of which nothing else is known.
    pub fn named(subscriber: &str) -> Self {
        Self { subscriber: subscriber.into(), number: None, deadline_ns: None, bound_ns: None, worth: None }
    }

    /// A subscription with what the output stage knows of it.
    pub fn new(subscriber: &str, number: u32, terms: Option<Terms>, bound_ns: Option<Nanos>) -> Self {
        Self {
            subscriber: subscriber.into(),
            number: Some(number),
            deadline_ns: terms.map(|terms| terms.deadline_ns).filter(|&span| span != NO_DEADLINE_NS),
            bound_ns,
            worth: terms.map(|terms| (terms.price, terms.penalty)),
        }
    }
}

/// What was handed over at once: rows, and what numbers stand for since the portion before.
#[derive(Debug, Default)]
pub struct Portion {
    pub(super) rows: Rows,
    pub(super) topics: Vec<(u32, Arc<str>)>,
    pub(super) publishers: Vec<(u32, Arc<str>)>,
    pub(super) parties: Vec<(u32, Party)>,
    /// Run and node from here on, if they have changed.
    pub(super) place: Option<(Arc<str>, Arc<str>)>,
    pub(super) dropped: u64,
    pub(super) skipped: u64,
}

impl Portion {
    /// The deliveries.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(super) fn has_news(&self) -> bool {
        let told = self.topics.len() + self.publishers.len() + self.parties.len();
        told > 0 || self.place.is_some()
    }

    /// Records that found no room since the portion before.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Records of messages that are not among the sampled ones, since the portion before.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The memory of the rows, empty, to be brought to a later drain.
    pub fn into_rows(mut self) -> Rows {
        self.rows.clear();
        self.rows
    }
}

/// A bounded store of rows.
#[derive(Clone, Debug)]
pub struct Ring {
    capacity: usize,
    kept: Rows,
    sampling: Sampling,
    place: Option<(Arc<str>, Arc<str>)>,
    dropped: u64,
    skipped: u64,
    topics: Roster<Arc<str>>,
    publishers: Roster<Arc<str>>,
    parties: Roster<Party>,
    own: Own,
    /// Rows that were handed over.
    handed_over: u64,
    /// Of the names of publishers, by row.
    hashes: Vec<u64>,
}

impl Ring {
    /// Room for `capacity` rows, taken from the machine at once. Of the messages one in `one_of` is kept.
    pub fn new(capacity: usize, one_of: u32) -> Result<Self, Invalid> {
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(Invalid::new("capacity", capacity, format!("1 to {CAPACITY_MAX} records")));
        }
        let no_room =
            || Invalid::new("capacity", capacity, "fewer records: the machine has no room for so many");
        Ok(Self {
            capacity,
            kept: Rows::new(capacity).ok_or_else(no_room)?,
            sampling: Sampling::new(one_of)?,
            place: None,
            dropped: 0,
            skipped: 0,
            topics: Roster::default(),
            publishers: Roster::default(),
            parties: Roster::default(),
            own: Own::default(),
            handed_over: 0,
            hashes: Vec::new(),
        })
    }

    /// Rows so far, handed over or not.
    fn records(&self) -> u64 {
        self.handed_over + self.kept.rows.len() as u64
    }

    /// From now on the topic `id` is called `name`.
    pub fn name_topic(&mut self, id: u32, name: &str) -> Result<(), Invalid> {
        self.topics.set(id, name.into(), self.records())?;
        self.own.name_topic(id, name);
        Ok(())
    }

    /// From now on `party` is what is known of the subscription `id`.
    pub fn describe(&mut self, id: u32, party: Party) -> Result<(), Invalid> {
        self.parties.set(id, party, self.records())
    }

    /// The subscription `id` has ended, and no row of it comes any more.
    pub fn forget_party(&mut self, id: u32) {
        self.parties.forget(id, self.records());
    }

    /// From now on the client `id` is called `name` where it publishes.
    pub fn name_publisher(&mut self, id: u32, name: &str) -> Result<(), Invalid> {
        self.publishers.set(id, name.into(), self.records())?;
        self.own.name_publisher(id, name);
        let row = self.publishers.row(id) as usize;
        self.hashes.resize(self.hashes.len().max(row + 1), 0);
        self.hashes[row] = name_hash(name);
        Ok(())
    }

    /// The next portion is of this run and node; what was kept before has been handed over.
    pub fn place(&mut self, run: &str, node: &str) {
        self.place = Some((run.into(), node.into()));
    }

    /// Keeps what was seen, unless it is of the bus itself or not among the sampled messages; counts it if there is no room.
    #[inline(always)]
    pub fn push(&mut self, seen: &Seen) {
        if self.own.has(seen.topic, seen.publisher) {
            return;
        }
        let publisher = self.publishers.row(seen.publisher.0);
        if self.sampling.is_on() && !self.is_sampled(publisher, seen.sequence) {
            self.skipped += 1;
            return;
        }
        if self.kept.rows.len() >= self.capacity {
            self.dropped += 1;
            return;
        }
        let is_planned = seen.t_intended_ns != seen.t_sent_ns || seen.min_sep_ns > 0;
        if is_planned {
            self.kept.plans.push(Plan { t_intended_ns: seen.t_intended_ns, min_sep_ns: seen.min_sep_ns });
        }
        self.kept.rows.push(Row {
            sequence: seen.sequence,
            t_sent_ns: seen.t_sent_ns,
            t_ingress_ns: seen.t_ingress_ns,
            t_selected_ns: seen.t_selected_ns.unwrap_or(0),
            t_egress_ns: seen.t_egress_ns.unwrap_or(0),
            topic: self.topics.row(seen.topic.0),
            publisher,
            party: seen.subscription.map_or(NO_ROW, |subscription| self.parties.row(subscription.0)),
            size_bytes: seen.size_bytes,
            priority: seen.priority,
            outcome: seen.outcome as u8,
            marks: mark(seen.t_selected_ns.is_some(), SELECTED)
                | mark(seen.t_egress_ns.is_some(), SENT_ON)
                | mark(seen.is_promised, PROMISED)
                | mark(seen.is_received, RECEIVED)
                | mark(is_planned, PLANNED),
        });
    }

    #[cold]
    #[inline(never)]
    fn is_sampled(&self, publisher: u32, sequence: u64) -> bool {
        self.sampling.keeps(self.hashes.get(publisher as usize).copied().unwrap_or(0), sequence)
    }

    /// Hands over what was kept since the last time, and goes on with `rows` if there is room enough in it.
    pub fn swap(&mut self, mut rows: Rows) -> Portion {
        rows.clear();
        if rows.capacity() < self.capacity {
            rows = Rows { rows: Vec::with_capacity(self.capacity), plans: Vec::new() };
        }
        self.handed_over += self.kept.rows.len() as u64;
        Portion {
            rows: std::mem::replace(&mut self.kept, rows),
            topics: self.topics.take_news(),
            publishers: self.publishers.take_news(),
            parties: self.parties.take_news(),
            place: self.place.take(),
            dropped: std::mem::take(&mut self.dropped),
            skipped: std::mem::take(&mut self.skipped),
        }
    }

    /// Rows kept since the last time.
    pub fn len(&self) -> usize {
        self.kept.rows.len()
    }

    /// Whether there is nothing to hand over.
    pub fn is_empty(&self) -> bool {
        self.kept.rows.is_empty()
    }

    /// Rows that it can keep between two drains.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }
}

const fn mark(is_set: bool, mark: u8) -> u8 {
    if is_set { mark } else { 0 }
}
