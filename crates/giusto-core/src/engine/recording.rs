//! Says what became of each message: in the counters always, in the records if they are kept.

use crate::engine::class::Class;
use crate::engine::delivery::Waiting;
use crate::engine::forward::data;
use crate::engine::losses::{Cause, Loss};
use crate::engine::tables::Flow;
use crate::engine::{Counters, Engine, has_passed};
use crate::frame::Data;
use crate::id::{ClientId, FlowId, Nanos, TopicId};
use crate::output::{Lost, NO_DEADLINE_NS, Reason};
use crate::record::{Outcome, Record};
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
        let seen = seen(now, self.min_sep_ns(flow), topic, client, data);
        if let Some(records) = &mut self.records {
            records.push(&Record { outcome, ..seen });
        }
    }

    /// A message was of no use any more when its turn came.
    #[cold]
    pub(super) fn expire(&mut self, topic: TopicId, message: MessageId) {
        self.count(topic, |counters| counters.expired += 1);
        let entry = self.queues.store.message(message);
        let Some(data) = data(self.queues.store.frame(message)) else { return };
        let (client, flow) = (ClientId(data.header.source), Some(entry.flow));
        let seen = seen(entry.ingress_ns, self.min_sep_ns(entry.flow), topic, client, &data);
        let t_selected_ns = Some(entry.selected_ns);
        self.note_loss(Loss { client, topic, flow, cause: Cause::Expired });
        if let Some(records) = &mut self.records {
            records.push(&Record { t_selected_ns, outcome: Outcome::Expired, ..seen });
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

    /// Counts a delivery, and records it, once per subscription.
    pub(super) fn record_delivery(&mut self, token: u32, outcome: Outcome, egress_ns: Option<Nanos>) {
        let Some(waiting) = self.deliveries.get(token) else { return };
        let Some(counters) = self.tables.topics.get_mut(waiting.topic.0).map(|topic| &mut topic.counters)
        else {
            return;
        };
        let is_promised = waiting.class == Class::Guarded;
        for &subscription in waiting.subscriptions.as_slice() {
            let entry = self.tables.subscriptions.get(subscription.0);
            let terms = entry.and_then(|entry| entry.terms);
            if terms.is_none() && self.records.is_none() {
                counters.close(outcome);
                continue;
            }
            let message = self.queues.store.message(waiting.message);
            let Some(data) = data(self.queues.store.frame(waiting.message)) else { return };
            let deadline_ns = terms.map(|terms| terms.deadline_ns).filter(|&span| span != NO_DEADLINE_NS);
            let is_late = |at_ns| has_passed(at_ns, data.header.t_sent_ns, deadline_ns.unwrap_or(0));
            let outcome = if egress_ns.is_some_and(is_late) { Outcome::Late } else { outcome };
            counters.close(outcome);
            if let Some(records) = &mut self.records {
                let source = ClientId(data.header.source);
                records.push(&Record {
                    subscriber: Some(subscription),
                    t_selected_ns: Some(message.selected_ns),
                    t_egress_ns: egress_ns,
                    deadline_ns,
                    // What has not come through the guarded class was promised nothing.
                    bound_ns: entry.and_then(|entry| entry.bound_ns).filter(|_| is_promised),
                    price: terms.map(|terms| terms.price),
                    penalty: terms.map(|terms| terms.penalty),
                    outcome,
                    ..seen(message.ingress_ns, waiting.min_sep_ns, waiting.topic, source, &data)
                });
            }
        }
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

/// What is known of a message when it comes in; a separation of 0 is none.
fn seen(now: Nanos, min_sep_ns: Nanos, topic: TopicId, client: ClientId, data: &Data<'_>) -> Record {
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
        min_sep_ns: (min_sep_ns > 0).then_some(min_sep_ns),
        deadline_ns: None,
        bound_ns: None,
        price: None,
        penalty: None,
        outcome: Outcome::Delivered,
    }
}
