//! What happened so far, for people: delays per topic, messages per client, losses, refusals.

use giusto_core::engine::{Cause, Counters, Loss};
use giusto_core::id::{FlowId, Nanos, TopicId};

use super::Hub;
use super::conn::ConnId;

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
    /// Messages that came after the end of their flow.
    pub ended: u64,
}

impl Refusals {
    /// Each count with its name.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("connections", self.connections),
            ("files", self.files),
            ("handshakes", self.handshakes),
            ("protocol", self.protocol),
            ("datagrams", self.datagrams),
            ("ended", self.ended),
        ]
    }
}

/// The longest times that the data thread was seen to take for one thing, while topics were guarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// A slice of the rest.
    pub slice_ns: Nanos,
    /// A call of the control plane.
    pub call_ns: Nanos,
    /// A turn of guarded traffic: read, step, write.
    pub turn_ns: Nanos,
}

/// Messages that were not delivered, and whose they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossOf {
    /// The connection.
    pub conn: ConnId,
    /// Their topic.
    pub topic: TopicId,
    /// The flow, if they were the connection's own.
    pub flow: Option<FlowId>,
    /// Why.
    pub cause: Cause,
    /// How many.
    pub count: u64,
}

impl Hub {
    /// The status of up to `most` topics from the number `first` on; less than that many when there are no more.
    pub fn topic_status(&self, first: u32, most: usize) -> Vec<TopicStatus> {
        self.engine.topics_from(TopicId(first)).take(most).map(|topic| self.one_topic(topic)).collect()
    }

    fn one_topic(&self, topic: TopicId) -> TopicStatus {
        let delays = self.delays.of(topic);
        let quantile = |q| delays.map_or(0, |delays| delays.quantile_ns(q));
        TopicStatus {
            topic,
            counters: self.engine.counters(topic).copied().unwrap_or_default(),
            delay_p50_ns: quantile(0.5),
            delay_p99_ns: quantile(0.99),
            delay_max_ns: delays.map_or(0, |delays| delays.max_ns),
        }
    }

    /// The status of the clients in so many slots from one on, and whether there are more behind them.
    pub fn client_status(&self, first: usize, slots: usize) -> (Vec<ClientStatus>, bool) {
        let (conns, more) = self.conns.portion(first, slots);
        let clients = conns.filter_map(|conn| Some((conn, conn.client?)));
        let status = clients.map(|(conn, client)| ClientStatus {
            conn: conn.id,
            served: conn.served + conn.flows.iter().map(|&flow| self.flows.served(flow)).sum::<u64>(),
            waiting: self.engine.waiting_for(client),
        });
        (status.collect(), more)
    }

    /// What became of the messages of topics that are gone.
    pub fn past_totals(&self) -> Counters {
        self.engine.past()
    }

    /// What became of all messages.
    pub fn totals(&self) -> Counters {
        self.engine.totals()
    }

    /// The longest times, to be noted by who owns the clock.
    pub fn longest(&mut self) -> &mut Longest {
        &mut self.longest
    }

    /// What was lost since they were last asked for, up to `most` of it, and whether there is more.
    pub fn losses(&mut self, most: usize) -> (Vec<LossOf>, bool) {
        let (taken, more) = self.engine.take_losses(most);
        let of = |(Loss { client, topic, flow, cause }, count)| {
            let conn = self.conn_of(client)?;
            Some(LossOf { conn, topic, flow, cause, count })
        };
        (taken.into_iter().filter_map(of).collect(), more)
    }
}
