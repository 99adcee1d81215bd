//! Says what became of each message: in the counters always, in the records if they are kept.

use crate::engine::class::Class;
use crate::engine::delivery::{Delivery, Waiting};
use crate::engine::forward::data;
use crate::engine::losses::{Cause, Loss};
use crate::engine::tables::Flow;
use crate::engine::{Counters, Engine, has_passed};
use crate::frame::data::HEADER_BYTES;
use crate::frame::{Data, DataHeader};
use crate::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use crate::output::{Lost, NO_DEADLINE_NS, Reason};
use crate::record::{Outcome, Seen};
use crate::store::MessageId;

impl Engine {
    /// A message was not taken in.
    #[cold]
    pub(super) fn turn_away(
        &mut self,
        now: Nanos,
        topic: TopicId,
        client: ClientId,
        data: &Data<'_>,
        outcome: Outcome,
    ) {
        self.count(topic, |counters| match outcome {
            Outcome::Policed => counters.policed += 1,
            _ => counters.overflow += 1,
        });
        let flow = FlowId(data.header.stream);
        let cause = if outcome == Outcome::Policed { Cause::Policed } else { Cause::Overflow };
        self.note_loss(Loss { client, topic, flow: Some(flow), cause });
        let seen = seen(now, self.min_sep_ns(flow), topic, client, &data.header);
        if let Some(records) = &mut self.records {
            records.push(&Seen { size_bytes: body_bytes(data), outcome, ..seen });
        }
    }

    /// A message was of no use any more when its turn came.
    #[cold]
    pub(super) fn expire(&mut self, topic: TopicId, message: MessageId) {
        self.count(topic, |counters| counters.expired += 1);
        let entry = self.queues.store.message(message);
        let Some(data) = data(self.queues.store.frame(message)) else { return };
        let (client, flow) = (ClientId(data.header.source), Some(entry.flow));
        let min_sep_ns = self.min_sep_ns(entry.flow);
        let seen = seen(entry.ingress_ns, min_sep_ns, topic, client, &data.header);
        let (t_selected_ns, size_bytes) = (Some(entry.selected_ns), body_bytes(&data));
        self.note_loss(Loss { client, topic, flow, cause: Cause::Expired });
        if let Some(records) = &mut self.records {
            records.push(&Seen { t_selected_ns, size_bytes, outcome: Outcome::Expired, ..seen });
        }
    }

    /// Counts and frees what an output queue will not send.
    #[inline]
    pub(super) fn bury(&mut self, lost: &mut Vec<Lost>) {
        for lost in lost.drain(..) {
            let outcome = if lost.reason == Reason::Expired { Outcome::Expired } else { Outcome::Overflow };
            self.close(lost.token, outcome);
        }
    }

    /// A delivery ended without going out.
    #[cold]
    pub(super) fn close(&mut self, token: u32, outcome: Outcome) {
        if let Some(&Waiting { client, topic, .. }) = self.deliveries.get(token) {
            let cause = match outcome {
                Outcome::Expired => Cause::ExpiredWaiting,
                Outcome::Lost => Cause::Abandoned,
                _ => Cause::Dropped,
            };
            self.note_loss(Loss { client, topic, flow: None, cause });
        }
        self.record_delivery(token, outcome, None);
        self.finish(token);
    }

    /// Counts a delivery, and records it, once per subscription; what it is, if it is there.
    #[inline]
    pub(super) fn record_delivery(
        &mut self,
        token: u32,
        outcome: Outcome,
        egress_ns: Option<Nanos>,
    ) -> Option<Delivery<'_>> {
        let waiting = self.deliveries.get(token)?;
        let message = self.queues.store.message(waiting.message);
        let delivery = waiting.as_delivery(message, self.queues.store.frame(waiting.message));
        // A topic that is gone counts nothing; the message goes out all the same.
        let Some(topic) = self.tables.topics.get_mut(waiting.topic.0) else { return Some(delivery) };
        let counters = &mut topic.counters;
        let with_terms = |subscription: &SubscriptionId| self.tables.subscriptions.get(subscription.0)?.terms;
        if self.records.is_none() && !delivery.subscriptions.iter().any(|id| with_terms(id).is_some()) {
            delivery.subscriptions.iter().for_each(|_| counters.close(outcome));
            return Some(delivery);
        }
        let header = DataHeader::of_checked(delivery.frame.first_chunk()?);
        let seen = Seen {
            t_selected_ns: Some(message.selected_ns),
            t_egress_ns: egress_ns,
            // What has not come through the guarded class was promised nothing.
            is_promised: waiting.class == Class::Guarded,
            size_bytes: (delivery.frame.len() - HEADER_BYTES) as u32,
            ..seen(message.ingress_ns, waiting.min_sep_ns, waiting.topic, waiting.source, &header)
        };
        for subscription in delivery.subscriptions {
            let deadline_ns = with_terms(subscription).map(|terms| terms.deadline_ns);
            let span_ns = deadline_ns.filter(|&span| span != NO_DEADLINE_NS).unwrap_or(0);
            let is_late = egress_ns.is_some_and(|at_ns| has_passed(at_ns, seen.t_sent_ns, span_ns));
            let outcome = if is_late { Outcome::Late } else { outcome };
            counters.close(outcome);
            if let Some(records) = &mut self.records {
                records.push(&Seen { subscription: Some(*subscription), outcome, ..seen });
            }
        }
        Some(delivery)
    }

    #[inline]
    pub(super) fn count(&mut self, topic: TopicId, add: impl FnOnce(&mut Counters)) {
        if let Some(entry) = self.tables.topic_mut(topic) {
            add(&mut entry.counters);
        }
    }

    fn min_sep_ns(&self, flow: FlowId) -> Nanos {
        self.tables.flows.get(flow.0).map_or(0, Flow::min_sep_ns)
    }
}

/// Bytes of attributes and payload.
fn body_bytes(data: &Data<'_>) -> u32 {
    (data.attributes.len() + data.payload.len()) as u32
}

/// What is known of a message when it comes in; a separation of 0 is none.
#[inline]
fn seen(now: Nanos, min_sep_ns: Nanos, topic: TopicId, client: ClientId, header: &DataHeader) -> Seen {
    Seen {
        topic,
        publisher: client,
        subscription: None,
        sequence: header.sequence,
        size_bytes: 0,
        priority: header.priority,
        t_intended_ns: header.t_intended_ns,
        t_sent_ns: header.t_sent_ns,
        t_ingress_ns: now,
        t_selected_ns: None,
        t_egress_ns: None,
        min_sep_ns,
        is_promised: false,
        is_received: false,
        outcome: Outcome::Delivered,
    }
}
