//! The steady state: a frame comes in, a quantum is spent, a message goes out.

use crate::engine::{Delivery, Engine, has_passed};
use crate::frame::attributes::{Attributes, BlockError};
use crate::frame::{Data, DataMut, Decoded, Decoder, Frame};
use crate::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use crate::output::{Lost, NO_DEADLINE_NS, Outgoing, Reason, SPAN_NS_MAX, Terms};
use crate::queue::Rejected;
use crate::record::{Outcome, Record};
use crate::store::MessageId;

/// Why a data frame was not taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IngestError {
    /// The client has no such flow: a protocol error of the client.
    #[error("unknown {0}")]
    UnknownFlow(FlowId),
    /// The attribute block cannot be read: a protocol error of the client.
    #[error("attributes: {0}")]
    Attributes(BlockError),
    /// It came sooner than the offer allows.
    #[error("{0} sends faster than it offered")]
    Policed(FlowId),
    /// The queue is full, or the message is larger than offered.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

/// What one quantum of the processor did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A part of a large message; nothing is complete yet.
    Fragment,
    /// A message was of no use any more.
    Expired,
    /// A message was put into the output queues of this many clients.
    Forwarded(usize),
}

impl Engine {
    /// Takes in a data frame of `client`: `frame` is what `data` was decoded from.
    #[inline]
    pub fn ingest(&mut self, now: Nanos, client: ClientId, frame: &[u8], data: &Data<'_>) -> Result<(), IngestError> {
        let flow = FlowId(data.header.stream);
        let topic = match self.queues.owner(flow) {
            Some((owner, topic)) if owner == client => topic,
            _ => return Err(IngestError::UnknownFlow(flow)),
        };
        if !data.attributes.is_empty() {
            Attributes::decode(data.attributes).map_err(IngestError::Attributes)?;
        }
        if let Some(policer) = self.tables.flows.get_mut(flow.0).and_then(|flow| flow.policer.as_mut())
            && !policer.conforms(now)
        {
            self.turn_away(now, topic, client, data, Outcome::Policed);
            return Err(IngestError::Policed(flow));
        }
        match self.queues.push(now, flow, data.header.priority, frame) {
            Ok(pushed) => {
                self.stamp(pushed.message, topic, client);
                if pushed.first {
                    self.stage.arrived(&self.queues, topic, flow);
                }
                self.count(topic, |counters| counters.ingested += 1);
                Ok(())
            }
            Err(rejected) => {
                self.turn_away(now, topic, client, data, Outcome::Overflow);
                Err(rejected.into())
            }
        }
    }

    /// Writes the topic and the publisher into a frame that is on its way to subscribers.
    fn stamp(&mut self, message: MessageId, topic: TopicId, client: ClientId) {
        if let Some(mut header) = DataMut::new(self.queues.store.frame_mut(message)) {
            header.set_stream(topic.0);
            header.set_source(client.0);
        }
    }

    #[cold]
    fn turn_away(&mut self, now: Nanos, topic: TopicId, client: ClientId, data: &Data<'_>, outcome: Outcome) {
        self.count(topic, |counters| match outcome {
            Outcome::Policed => counters.policed += 1,
            _ => counters.overflow += 1,
        });
        if let Some(records) = &mut self.records {
            records.push(&Record { outcome, ..arrived(now, topic, client, data) });
        }
    }

    /// Spends one quantum; `None` when nothing waits. Ask again when the quantum is over.
    #[inline]
    pub fn step(&mut self, now: Nanos) -> Option<Step> {
        let served = self.stage.next(now, &mut self.queues)?;
        if !served.complete {
            return Some(Step::Fragment);
        }
        let step = self.forward(now, served.message, served.flow);
        self.queues.store.release(served.message);
        if self.queues.is_drained(served.flow) {
            self.drained(served.flow);
        }
        Some(step)
    }

    /// A message has had its last quantum.
    fn forward(&mut self, now: Nanos, message: MessageId, flow: FlowId) -> Step {
        let topic = self.queues.topic(flow);
        let Some(data) = data(self.queues.store.frame(message)) else { return Step::Expired };
        let header = data.header;
        self.count(topic, |counters| counters.selected += 1);
        if has_passed(now, header.t_sent_ns, header.timeout_ns) {
            self.expire(topic, message);
            return Step::Expired;
        }
        self.match_up(topic, message);
        let tokens = std::mem::take(&mut self.scratch.tokens);
        let outgoing = Outgoing {
            token: 0,
            size_bytes: self.queues.store.message(message).size_bytes,
            priority: header.priority,
            published_ns: header.t_sent_ns.clamp(-SPAN_NS_MAX, SPAN_NS_MAX),
            timeout_ns: header.timeout_ns.min(SPAN_NS_MAX),
        };
        for &token in &tokens {
            self.queues.store.retain(message);
            self.send(now, Outgoing { token, ..outgoing });
        }
        let count = tokens.len();
        self.scratch.tokens = tokens;
        if count == 0 {
            self.count(topic, |counters| counters.unmatched += 1);
        }
        Step::Forwarded(count)
    }

    /// Makes one delivery per client that subscribed to the message; their tokens are in the scratch.
    fn match_up(&mut self, topic: TopicId, message: MessageId) {
        self.scratch.tokens.clear();
        self.tables.step += 1;
        let attributes = data(self.queues.store.frame(message)).map_or(&[][..], |data| data.attributes);
        let attributes = Attributes::decode(attributes).unwrap_or_default();
        if self.matcher.matching(topic, attributes, &mut self.scratch.matched).is_err() {
            return;
        }
        for &subscription in &self.scratch.matched {
            let Some(entry) = self.tables.subscriptions.get_mut(subscription.0) else { continue };
            entry.pending += 1;
            let Some(client) = self.tables.clients.get_mut(entry.client.0) else { continue };
            if client.delivery.0 == self.tables.step {
                let delivery = self.deliveries.get_mut(client.delivery.1);
                delivery.into_iter().for_each(|delivery| delivery.subscriptions.push(subscription));
            } else {
                let token = self.deliveries.insert(message, entry.client, subscription);
                client.delivery = (self.tables.step, token);
                self.scratch.tokens.push(token);
            }
        }
    }

    /// Puts a delivery into its client's output queue.
    fn send(&mut self, now: Nanos, outgoing: Outgoing) {
        let Some(delivery) = self.deliveries.get(outgoing.token) else { return };
        let client = delivery.client;
        collect_terms(&mut self.scratch.terms, &delivery.subscriptions, |id| {
            self.tables.subscriptions.get(id.0).and_then(|entry| entry.terms)
        });
        let mut lost = std::mem::take(&mut self.scratch.lost);
        if let Some(entry) = self.tables.clients.get_mut(client.0)
            && entry.output.push(now, outgoing, &self.scratch.terms, &mut lost).is_err()
        {
            lost.push(Lost { token: outgoing.token, reason: Reason::Refused });
        }
        self.bury(&mut lost);
        self.scratch.lost = lost;
    }

    /// The token of the message that `client`'s link carries next; `None` when nothing waits for it.
    #[inline]
    pub fn take(&mut self, now: Nanos, client: ClientId) -> Option<u32> {
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let entry = self.tables.clients.get_mut(client.0);
        let outgoing = entry.and_then(|entry| entry.output.pop(now, &mut lost));
        self.bury(&mut lost);
        self.scratch.lost = lost;
        let token = outgoing?.token;
        self.sent(now, token);
        Some(token)
    }

    /// What a token stands for, until it is finished.
    #[inline]
    pub fn delivery(&self, token: u32) -> Option<Delivery<'_>> {
        let waiting = self.deliveries.get(token)?;
        let flow = self.queues.store.message(waiting.message).flow;
        let frame = self.queues.store.frame(waiting.message);
        let header = data(frame)?.header;
        let _ = flow;
        Some(Delivery {
            frame,
            topic: TopicId(header.stream),
            source: ClientId(header.source),
            subscriptions: &waiting.subscriptions,
        })
    }

    /// The link has carried the message: its memory can go.
    #[inline]
    pub fn finish(&mut self, token: u32) {
        let Some(waiting) = self.deliveries.get(token) else { return };
        let message = waiting.message;
        for &subscription in &waiting.subscriptions {
            if let Some(entry) = self.tables.subscriptions.get_mut(subscription.0) {
                entry.pending -= 1;
            }
            self.tables.forget_subscription(subscription);
        }
        self.deliveries.remove(token);
        self.queues.store.release(message);
    }

    /// Messages that wait for a client.
    pub fn waiting_for(&self, client: ClientId) -> usize {
        self.tables.client(client).map_or(0, |entry| entry.output.len())
    }

    /// Everything that waits for a client is abandoned.
    pub(super) fn abandon(&mut self, client: ClientId) {
        let mut lost = Vec::new();
        while let Some(outgoing) =
            self.tables.clients.get_mut(client.0).and_then(|entry| entry.output.pop(Nanos::MIN, &mut lost))
        {
            self.close(outgoing.token, Outcome::Lost, None);
        }
        self.bury(&mut lost);
    }

    fn sent(&mut self, now: Nanos, token: u32) {
        self.record_delivery(token, Outcome::Delivered, Some(now));
    }

    /// Counts and frees what an output queue will not send.
    #[inline]
    fn bury(&mut self, lost: &mut Vec<Lost>) {
        for lost in lost.drain(..) {
            let outcome = if lost.reason == Reason::Expired { Outcome::Expired } else { Outcome::Overflow };
            self.close(lost.token, outcome, None);
        }
    }

    #[cold]
    fn close(&mut self, token: u32, outcome: Outcome, egress_ns: Option<Nanos>) {
        self.record_delivery(token, outcome, egress_ns);
        self.finish(token);
    }

    #[cold]
    fn expire(&mut self, topic: TopicId, message: MessageId) {
        self.count(topic, |counters| counters.expired += 1);
        let Some(records) = &mut self.records else { return };
        let entry = self.queues.store.message(message);
        if let Some(data) = data(self.queues.store.frame(message)) {
            let client = ClientId(data.header.source);
            let seen = arrived(entry.ingress_ns, topic, client, &data);
            let t_selected_ns = Some(entry.selected_ns);
            records.push(&Record { t_selected_ns, outcome: Outcome::Expired, ..seen });
        }
    }

    /// Counts a delivery, and records it once per subscription.
    fn record_delivery(&mut self, token: u32, outcome: Outcome, egress_ns: Option<Nanos>) {
        let Some(waiting) = self.deliveries.get(token) else { return };
        let message = self.queues.store.message(waiting.message);
        let Some(data) = data(self.queues.store.frame(waiting.message)) else { return };
        let topic = TopicId(data.header.stream);
        let seen = arrived(message.ingress_ns, topic, ClientId(data.header.source), &data);
        let Some(counters) = self.tables.topics.get_mut(topic.0).map(|topic| &mut topic.counters) else { return };
        for &subscription in &waiting.subscriptions {
            let entry = self.tables.subscriptions.get(subscription.0);
            let terms = entry.and_then(|entry| entry.terms);
            let deadline_ns = terms.map(|terms| terms.deadline_ns).filter(|&span| span != NO_DEADLINE_NS);
            let is_late = |at_ns| has_passed(at_ns, data.header.t_sent_ns, deadline_ns.unwrap_or(0));
            let outcome = if egress_ns.is_some_and(is_late) { Outcome::Late } else { outcome };
            counters.close(outcome);
            if let Some(records) = &mut self.records {
                records.push(&Record {
                    subscriber: Some(subscription),
                    t_selected_ns: Some(message.selected_ns),
                    t_egress_ns: egress_ns,
                    deadline_ns,
                    bound_ns: entry.and_then(|entry| entry.bound_ns),
                    price: terms.map(|terms| terms.price),
                    penalty: terms.map(|terms| terms.penalty),
                    outcome,
                    ..seen
                });
            }
        }
    }

    #[inline]
    fn count(&mut self, topic: TopicId, add: impl FnOnce(&mut super::Counters)) {
        if let Some(entry) = self.tables.topic_mut(topic) {
            add(&mut entry.counters);
        }
    }
}

/// A stored frame; what is in the store was decoded when it came in.
#[inline]
fn data(frame: &[u8]) -> Option<Data<'_>> {
    match Decoder::new(u32::MAX).decode(frame) {
        Ok(Decoded::Frame { frame: Frame::Data(data), .. }) => Some(data),
        _ => None,
    }
}

/// What is known of a message when it comes in.
fn arrived(now: Nanos, topic: TopicId, client: ClientId, data: &Data<'_>) -> Record {
    Record {
        run: 0,
        node: 0,
        hop: 0,
        topic,
        publisher: client,
        subscriber: None,
        sequence: data.header.sequence,
        size_bytes: (data.attributes.len() + data.payload.len()) as u32,
        priority: data.header.priority,
        t_intended_ns: Some(data.header.t_intended_ns),
        t_sent_ns: data.header.t_sent_ns,
        t_ingress_ns: now,
        t_selected_ns: None,
        t_egress_ns: None,
        t_received_ns: None,
        clock_error_ns: 0,
        min_sep_ns: None,
        deadline_ns: None,
        bound_ns: None,
        price: None,
        penalty: None,
        outcome: Outcome::Delivered,
    }
}

/// Terms of all subscriptions of a delivery; none at all if none of them has any.
fn collect_terms(terms: &mut Vec<Terms>, subscriptions: &[SubscriptionId], of: impl Fn(SubscriptionId) -> Option<Terms>) {
    terms.clear();
    if subscriptions.iter().any(|&id| of(id).is_some()) {
        terms.extend(subscriptions.iter().map(|&id| of(id).unwrap_or(Terms::NONE)));
    }
}
