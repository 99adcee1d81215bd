//! What happened so far, for people: delays per topic, messages per client, losses, refusals.

use giusto_core::engine::{Cause, Counters, Loss};
use giusto_core::id::{FlowId, Nanos, TopicId};
use hdrhistogram::Histogram;

use super::Hub;
use super::conn::ConnId;

/// Delays above this count as this: an hour.
const DELAY_NS_MAX: u64 = 3_600_000_000_000;
/// Two digits would cost eight times the memory, and nobody reads the second.
const DIGITS: u8 = 1;

/// The delays of one topic; the longest is exact.
#[derive(Debug)]
struct Delay {
    histogram: Histogram<u32>,
    max_ns: u64,
}

impl Delay {
    #[inline]
    fn note(&mut self, delay_ns: Nanos) {
        let delay_ns = u64::try_from(delay_ns).unwrap_or(0);
        self.max_ns = self.max_ns.max(delay_ns);
        // It resizes itself up to the largest value there is.
        let _ = self.histogram.record(delay_ns.min(DELAY_NS_MAX));
    }
}

/// Time between ingress and egress, per topic; a histogram is made when a topic has its first delivery.
#[derive(Debug, Default)]
pub struct Delays {
    topics: Vec<Option<Box<Delay>>>,
}

impl Delays {
    /// One delivery.
    #[inline]
    pub fn record(&mut self, topic: TopicId, delay_ns: Nanos) {
        match self.topics.get_mut(topic.index()) {
            Some(Some(delay)) => delay.note(delay_ns),
            _ => self.begin(topic, delay_ns),
        }
    }

    #[cold]
    fn begin(&mut self, topic: TopicId, delay_ns: Nanos) {
        let Ok(mut histogram) = Histogram::new(DIGITS) else { return };
        histogram.auto(true);
        let mut delay = Delay { histogram, max_ns: 0 };
        delay.note(delay_ns);
        if topic.index() >= self.topics.len() {
            self.topics.resize_with(topic.index() + 1, || None);
        }
        self.topics[topic.index()] = Some(Box::new(delay));
    }

    /// The number stands for another topic now.
    pub(super) fn forget(&mut self, topic: TopicId) {
        if let Some(place) = self.topics.get_mut(topic.index()) {
            *place = None;
        }
    }

    fn of(&self, topic: TopicId) -> Option<&Delay> {
        self.topics.get(topic.index())?.as_deref()
    }
}

/// A topic since it was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicStatus {
    /// Its number.
    pub topic: TopicId,
    /// What became of its messages.
    pub counters: Counters,
    /// Median delay between ingress and egress.
    pub delay_p50_ns: u64,
    /// 99 of 100 were not later.
    pub delay_p99_ns: u64,
    /// The longest.
    pub delay_max_ns: u64,
}

/// A client since it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientStatus {
    /// Its connection.
    pub conn: ConnId,
    /// Messages of it that the input stage served.
    pub served: u64,
    /// Messages that wait for it.
    pub waiting: usize,
}

/// What was turned away before it was a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Connections beyond the most that there may be.
    pub connections: u64,
    /// Times that the process had no file descriptor for another connection.
    pub files: u64,
    /// Connections that did not finish their handshake.
    pub handshakes: u64,
    /// Connections closed for breaking the protocol.
    pub protocol: u64,
    /// Datagrams, or frames in them, from unknown senders or malformed.
    pub datagrams: u64,
}

impl Refusals {
    /// Each count with its name.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("connections", self.connections),
            ("files", self.files),
            ("handshakes", self.handshakes),
            ("protocol", self.protocol),
            ("datagrams", self.datagrams),
        ]
    }
}

/// Messages that were not delivered, and whose they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossOf {
    /// The connection, if it was there when this was noted.
    pub conn: Option<ConnId>,
    /// Their topic.
    pub topic: TopicId,
    /// The flow, if they were the connection's own.
    pub flow: Option<FlowId>,
    /// Why.
    pub cause: Cause,
    /// How many.
    pub count: u64,
}

/// Losses noted at disconnections that nobody asked for since, at most.
const LOSSES_MAX: usize = 1 << 16;

impl Hub {
    /// The status of up to `most` topics from the number `first` on; less than that many when there are no more.
    pub fn topic_status(&self, first: u32, most: usize) -> Vec<TopicStatus> {
        self.engine.topics_from(TopicId(first)).take(most).map(|topic| self.one_topic(topic)).collect()
    }

    fn one_topic(&self, topic: TopicId) -> TopicStatus {
        let delays = self.delays.of(topic);
        let quantile =
            |q| delays.map_or(0, |delays| delays.histogram.value_at_quantile(q).min(delays.max_ns));
        TopicStatus {
            topic,
            counters: self.engine.counters(topic).copied().unwrap_or_default(),
            delay_p50_ns: quantile(0.5),
            delay_p99_ns: quantile(0.99),
            delay_max_ns: delays.map_or(0, |delays| delays.max_ns),
        }
    }

    /// The status of all clients.
    pub fn client_status(&self) -> Vec<ClientStatus> {
        let clients = self.conns.iter().filter_map(|conn| Some((conn, conn.client?)));
        let status = clients.map(|(conn, client)| ClientStatus {
            conn: conn.id,
            served: conn.served + conn.flows.iter().map(|&flow| self.flows.served(flow)).sum::<u64>(),
            waiting: self.engine.waiting_for(client),
        });
        status.collect()
    }

    /// What became of all messages.
    pub fn totals(&self) -> Counters {
        self.engine.totals()
    }

    /// What was lost since the last call.
    pub fn losses(&mut self) -> Vec<LossOf> {
        self.note_losses();
        std::mem::take(&mut self.losses)
    }

    /// Puts connections to losses while they are known.
    pub(super) fn note_losses(&mut self) {
        for (Loss { client, topic, flow, cause }, count) in self.engine.drain_losses() {
            if self.losses.len() < LOSSES_MAX {
                let conn = self.conn_of(client);
                self.losses.push(LossOf { conn, topic, flow, cause, count });
            }
        }
    }
}
