//! The steady state: a frame comes in, a quantum is spent, a message goes out.

use crate::engine::class::Class;
use crate::engine::delivery::{Matched, Waiting};
use crate::engine::tables::{Client, Flow};
use crate::engine::{Delivery, Engine, has_passed};
use crate::frame::attributes::{Attributes, BlockError};
use crate::frame::{Data, DataMut, Decoded, Decoder, Frame};
use crate::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use crate::output::{Admission, Lost, Outgoing, Reason, SPAN_NS_MAX, Terms};
use crate::queue::{Pushed, Rejected};
use crate::record::Outcome;
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

/// One quantum: what it did, and on whose message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantum {
    /// The flow that was served.
    pub flow: FlowId,
    /// What was done.
    pub step: Step,
}

impl Engine {
    /// Takes in a data frame of `client`: `frame` is what `data` was decoded from.
    #[inline]
    pub fn ingest(
        &mut self,
        now: Nanos,
        client: ClientId,
        frame: &[u8],
        data: &Data<'_>,
    ) -> Result<(), IngestError> {
        let flow = FlowId(data.header.stream);
        let topic = match self.queues.owner(flow) {
            Some((owner, topic)) if owner == client => topic,
            _ => return Err(IngestError::UnknownFlow(flow)),
        };
        if !data.attributes.is_empty() {
            Attributes::decode(data.attributes).map_err(IngestError::Attributes)?;
        }
        self.now = self.now.max(now);
        let class = self.class_of(topic);
        match self.admit(now, flow, class, data.header.priority, frame) {
            Ok(pushed) => {
                self.stamp(pushed.message, topic, client, class);
                if pushed.first {
                    self.stages.of(class).arrived(&self.queues, topic, flow);
                }
                self.stages.waiting += usize::from(class == Class::Guarded);
                self.stages.waiting_draining += usize::from(class == Class::Draining);
                if let Some(entry) = self.tables.topic_mut(topic) {
                    entry.counters.ingested += 1;
                    entry.draining += u32::from(class == Class::Draining);
                }
                Ok(())
            }
            Err(error) => {
                let policed = matches!(error, IngestError::Policed(_));
                let outcome = if policed { Outcome::Policed } else { Outcome::Overflow };
                self.turn_away(now, topic, client, data, outcome);
                Err(error)
            }
        }
    }

    /// Polices and queues a frame. One that the offer does not allow at all takes no token. Guarded ones are served in the
    /// order in which they came: the bounds are of that.
    #[inline]
    fn admit(
        &mut self,
        now: Nanos,
        flow: FlowId,
        class: Class,
        priority: u8,
        frame: &[u8],
    ) -> Result<Pushed, IngestError> {
        if let Some(bucket) = self.tables.flows.get_mut(flow.0).and_then(|flow| flow.bucket.as_mut()) {
            self.queues.check(flow, priority, frame)?;
            if !bucket.conforms(now) {
                return Err(IngestError::Policed(flow));
            }
        }
        Ok(match class {
            Class::Guarded | Class::Draining => self.queues.push_promised(now, flow, 0, frame)?,
            Class::Rest => self.queues.push(now, flow, priority, frame)?,
        })
    }

    /// Writes the topic, the publisher and whether it is under contract into a frame that is on its way to subscribers.
    fn stamp(&mut self, message: MessageId, topic: TopicId, client: ClientId, class: Class) {
        if let Some(mut header) = DataMut::new(self.queues.store.frame_mut(message)) {
            header.set_stream(topic.0);
            header.set_source(client.0);
            header.set_promised(class == Class::Guarded);
        }
    }

    /// Spends one quantum, on a guarded message if one waits; `None` when nothing does. Ask again when the quantum is over.
    #[inline]
    pub fn step(&mut self, now: Nanos) -> Option<Quantum> {
        if self.has_guarded() {
            if let Some(quantum) = self.step_class(now, Class::Guarded) {
                return Some(quantum);
            }
            if self.stages.waiting_draining > 0 {
                return self.step_class(now, Class::Draining);
            }
        }
        self.step_class(now, Class::Rest)
    }

    #[inline]
    pub(super) fn step_class(&mut self, now: Nanos, class: Class) -> Option<Quantum> {
        let served = self.stages.of(class).next(now, &mut self.queues)?;
        let flow = served.flow;
        if !served.complete {
            return Some(Quantum { flow, step: Step::Fragment });
        }
        self.stages.waiting -= usize::from(class == Class::Guarded);
        let topic = self.queues.topic(flow);
        let step = self.forward(now, class, served.message, flow);
        self.queues.store.release(served.message);
        if self.queues.is_drained(flow) {
            self.drained(flow);
        }
        if class == Class::Draining {
            self.drained_one(topic);
        } else if self.stages.waiting == 0 && !self.stages.late.is_empty() {
            self.join_late();
        }
        Some(Quantum { flow, step })
    }

    /// A message has had its last quantum.
    fn forward(&mut self, now: Nanos, class: Class, message: MessageId, flow: FlowId) -> Step {
        let (topic, source) = (self.queues.topic(flow), self.queues.client(flow));
        let Some(data) = data(self.queues.store.frame(message)) else { return Step::Expired };
        let (header, has_attributes) = (data.header, !data.attributes.is_empty());
        if has_passed(now, header.t_sent_ns, header.timeout_ns) {
            self.count(topic, |counters| counters.selected += 1);
            self.expire(topic, message);
            return Step::Expired;
        }
        self.match_up(flow, message, has_attributes);
        let tokens = std::mem::take(&mut self.scratch.tokens);
        let mut moved = 0;
        if let Some(entry) = self.tables.topic_mut(topic) {
            moved = entry.moved;
            entry.pending += tokens.len() as u32;
            entry.counters.selected += 1;
            entry.counters.unmatched += u64::from(tokens.is_empty());
        }
        if let Some(source) = self.tables.clients.get_mut(source.0) {
            source.pending += tokens.len() as u32;
        }
        let outgoing = Outgoing {
            token: 0,
            size_bytes: self.queues.store.message(message).size_bytes,
            priority: header.priority,
            published_ns: header.t_sent_ns.clamp(-SPAN_NS_MAX, SPAN_NS_MAX),
            timeout_ns: header.timeout_ns.min(SPAN_NS_MAX),
        };
        for &token in &tokens {
            self.queues.store.retain(message);
            let class = if moved > 0 { self.class_while_moving(token, moved) } else { class };
            self.send(now, class, Outgoing { token, ..outgoing });
        }
        let count = tokens.len();
        self.scratch.tokens = tokens;
        Step::Forwarded(count)
    }

    /// Makes one delivery per client that subscribed to the message; their tokens are in the scratch.
    fn match_up(&mut self, flow: FlowId, message: MessageId, has_attributes: bool) {
        let (topic, source) = (self.queues.topic(flow), self.queues.client(flow));
        self.scratch.tokens.clear();
        self.tables.step += 1;
        let attributes =
            if has_attributes { attributes(self.queues.store.frame(message)) } else { Attributes::default() };
        if self.matcher.matching(topic, attributes, &mut self.scratch.matched).is_err() {
            return;
        }
        let flow = self.records.as_ref().and_then(|_| self.tables.flows.get(flow.0));
        let min_sep_ns = flow.map_or(0, Flow::min_sep_ns);
        for &subscription in &self.scratch.matched {
            let Some(entry) = self.tables.subscriptions.get_mut(subscription.0) else { continue };
            let Some(client) = self.tables.clients.get_mut(entry.client.0) else { continue };
            if entry.gone || client.muted {
                continue;
            }
            entry.pending += 1;
            if client.delivery.0 == self.tables.step {
                let delivery = self.deliveries.get_mut(client.delivery.1);
                delivery.into_iter().for_each(|delivery| delivery.subscriptions.push(subscription));
            } else {
                let subscriptions = Matched::One([subscription]);
                let (class, client_id) = (Class::Rest, entry.client);
                let new =
                    Waiting { message, client: client_id, topic, source, min_sep_ns, class, subscriptions };
                let token = self.deliveries.insert(new);
                client.delivery = (self.tables.step, token);
                self.scratch.tokens.push(token);
            }
        }
    }

    /// Puts a delivery into its client's output queue.
    pub(super) fn send(&mut self, now: Nanos, class: Class, outgoing: Outgoing) {
        let Some(delivery) = self.deliveries.get_mut(outgoing.token) else { return };
        let (client, topic) = (delivery.client, delivery.topic);
        let mut class = class;
        if class != Class::Rest {
            if let Some(entry) = self.tables.clients.get_mut(client.0) {
                class = entry.class_for(topic, class);
                (class == Class::Draining).then(|| entry.put_behind(topic));
            }
            delivery.class = class;
            self.ensure_queue(client, class);
        }
        let Some(delivery) = self.deliveries.get(outgoing.token) else { return };
        let entry = self.tables.clients.get_mut(client.0);
        self.scratch.terms.clear();
        if entry.as_ref().is_some_and(|entry| entry.with_terms > 0) {
            collect_terms(&mut self.scratch.terms, delivery.subscriptions.as_slice(), |id| {
                self.tables.subscriptions.get(id.0).and_then(|entry| entry.terms)
            });
        }
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let admission = entry.map(|entry| {
            let (fresh, ready, queue) = match (class, &mut entry.guarded, &mut entry.draining) {
                (Class::Guarded, Some(queue), _) => {
                    (&mut entry.fresh_guarded, &mut self.ready_guarded, &mut **queue)
                }
                (Class::Draining, _, Some(queue)) => (&mut entry.fresh, &mut self.ready, &mut **queue),
                _ => (&mut entry.fresh, &mut self.ready, &mut entry.output),
            };
            if fresh.is_empty() {
                ready.clients.push(client);
            }
            ready.crowded |= fresh.add(outgoing.size_bytes, queue.room());
            queue.push(now, outgoing, &self.scratch.terms, &mut lost)
        });
        match admission {
            Some(Ok(Admission::Queued | Admission::Refused)) => {}
            Some(Ok(Admission::Disconnect)) => self.note_overflow(client),
            Some(Err(_)) | None => lost.push(Lost { token: outgoing.token, reason: Reason::Refused }),
        }
        self.bury(&mut lost);
        self.scratch.lost = lost;
    }

    /// The queue of `client` was full: it is to be disconnected.
    #[cold]
    fn note_overflow(&mut self, client: ClientId) {
        let Some(entry) = self.tables.client_mut(client) else { return };
        if !std::mem::replace(&mut entry.overflowed, true) {
            self.overflowed.push(client);
        }
    }

    /// The token of the message that `client`'s link carries next, a guarded one if there is one; `None` when nothing
    /// waits for it.
    #[inline]
    pub fn take(&mut self, now: Nanos, client: ClientId) -> Option<u32> {
        self.carry(now, client).map(|(token, _)| token)
    }

    /// The same, and what it stands for.
    #[inline]
    pub fn carry(&mut self, now: Nanos, client: ClientId) -> Option<(u32, Delivery<'_>)> {
        self.carry_from(now, client, Client::pop)
    }

    /// What `pop` takes out of the queues of `client`.
    #[inline]
    pub(super) fn carry_from(
        &mut self,
        now: Nanos,
        client: ClientId,
        pop: impl Fn(&mut Client, Nanos, &mut Vec<Lost>) -> Option<Outgoing>,
    ) -> Option<(u32, Delivery<'_>)> {
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let entry = self.tables.clients.get_mut(client.0);
        let outgoing = entry.and_then(|entry| pop(entry, now, &mut lost));
        self.bury(&mut lost);
        self.scratch.lost = lost;
        let token = outgoing?.token;
        Some((token, self.record_delivery(token, Outcome::Delivered, Some(now))?))
    }

    /// What a token stands for, until it is finished.
    #[inline]
    pub fn delivery(&self, token: u32) -> Option<Delivery<'_>> {
        let waiting = self.deliveries.get(token)?;
        let message = self.queues.store.message(waiting.message);
        Some(waiting.as_delivery(message, self.queues.store.frame(waiting.message)))
    }

    /// The link has carried the message: its memory can go.
    #[inline]
    pub fn finish(&mut self, token: u32) {
        let Some(waiting) = self.deliveries.get(token) else { return };
        let (message, topic, source) = (waiting.message, waiting.topic, waiting.source);
        if waiting.class == Class::Draining {
            let client = self.tables.clients.get_mut(waiting.client.0);
            client.into_iter().for_each(|client| client.settle_behind(topic));
        }
        for &subscription in waiting.subscriptions.as_slice() {
            self.tables.settle_subscription(subscription);
        }
        self.tables.settle_topic(topic);
        self.tables.settle_client(source);
        self.deliveries.remove(token);
        self.queues.store.release(message);
    }

    /// Whether a client of this number is connected.
    pub fn is_connected(&self, client: ClientId) -> bool {
        self.tables.client(client).is_some()
    }

    /// The client that publishes an open flow.
    pub fn owner(&self, flow: FlowId) -> Option<ClientId> {
        self.queues.owner(flow).map(|(client, _)| client)
    }

    /// Messages that wait in the flow that a client has or had on a topic.
    pub fn waiting_in(&self, client: ClientId, topic: TopicId) -> u32 {
        let flow = self.tables.client(client).and_then(|entry| entry.flow(topic));
        flow.map_or(0, |flow| self.queues.waiting(flow))
    }

    /// Messages that wait for a client.
    pub fn waiting_for(&self, client: ClientId) -> usize {
        self.tables.client(client).map_or(0, Client::waiting)
    }

    /// Bytes of them.
    pub fn waiting_bytes_for(&self, client: ClientId) -> u64 {
        self.tables.client(client).map_or(0, Client::waiting_bytes)
    }
}

/// A stored frame; what is in the store was decoded when it came in.
#[inline]
pub(super) fn data(frame: &[u8]) -> Option<Data<'_>> {
    match Decoder::new(u32::MAX).decode(frame) {
        Ok(Decoded::Frame { frame: Frame::Data(data), .. }) => Some(data),
        _ => None,
    }
}

/// The attributes of a stored frame; they were checked when it came in.
fn attributes(frame: &[u8]) -> Attributes<'_> {
    let block = data(frame).map_or(&[][..], |data| data.attributes);
    Attributes::decode(block).unwrap_or_default()
}

/// Appends the terms of all subscriptions of a delivery; none at all if none of them has any. Those that have none
/// want it whenever it comes: one entry says so for all of them.
fn collect_terms(
    terms: &mut Vec<Terms>,
    subscriptions: &[SubscriptionId],
    of: impl Fn(SubscriptionId) -> Option<Terms>,
) {
    terms.extend(subscriptions.iter().filter_map(|&id| of(id)));
    if !terms.is_empty() && terms.len() < subscriptions.len() {
        terms.push(Terms::NONE);
    }
}
