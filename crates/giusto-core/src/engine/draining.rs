//! What becomes of messages that wait when their topic comes under contract: they go out first, without a promise, and
//! make nothing wait that was promised.
//!
//! **In the input stage.** A bound counts with what the offers allow at once, but the rest is served late, so that any number of
//! messages may wait. The topic *drains*: it is in a stage of its own, behind everything guarded and before the rest, with
//! whatever comes in meanwhile. When nothing of it waits it joins the guarded stage. That happens soon, since what is guarded, this
//! topic included, leaves some of the time free. A topic of which nothing waits drains too while guarded messages do: in the midst
//! of a cycle it would have no cell before the next one, which is later than its bound (A7).
//!
//! **For a client.** Deliveries that wait in its queue go into one of their own, behind its guarded queue and before the other.
//! As long as some of a topic are there, later ones of this topic go behind them: the order of a topic stays. Other topics
//! do not notice.
//!
//! What has come this way was not promised anything: its records have no bound.

use crate::effort::Effort;
use crate::engine::Engine;
use crate::engine::class::Class;
use crate::id::{ClientId, TopicId};
use crate::input::Share;

/// Messages in a queue that cost as much to look at as a topic.
const LOOKS_PER_UNIT: usize = 2;

impl Engine {
    /// A topic has come under contract with so many messages waiting, or while guarded ones wait.
    pub(super) fn drain(&mut self, id: TopicId, waiting: u32) {
        let Some(topic) = self.tables.topic_mut(id) else { return };
        (topic.drains, topic.draining) = (true, waiting);
        let share = plain(topic.share);
        self.stages.waiting_draining += waiting as usize;
        self.stages.of(Class::Draining).allot(id, &share);
        self.join_all(id, Class::Draining);
        if waiting == 0 {
            self.stages.late.push(id);
        }
    }

    /// A message of a draining topic has had its last quantum. After the last of them the topic is guarded: nothing guarded
    /// waits then, or this one would not have been served.
    pub(super) fn drained_one(&mut self, id: TopicId) {
        self.stages.waiting_draining -= 1;
        let Some(topic) = self.tables.topic_mut(id) else { return };
        topic.draining -= 1;
        if topic.draining == 0 {
            self.end_draining(id);
        }
    }

    /// Nothing guarded waits: topics that waited for that join, unless messages of them have come meanwhile.
    #[cold]
    pub(super) fn join_late(&mut self) {
        for id in std::mem::take(&mut self.stages.late) {
            let topic = self.tables.topics.get(id.0);
            if topic.is_some_and(|topic| topic.drains && topic.draining == 0) {
                self.end_draining(id);
            }
        }
    }

    fn end_draining(&mut self, id: TopicId) {
        self.tables.topic_mut(id).into_iter().for_each(|topic| topic.drains = false);
        self.stages.of(Class::Draining).withdraw(id);
        self.join_all(id, Class::Guarded);
    }

    /// Takes what waits for clients out of their queues of the rest, one client after the other; whether all is moved. What
    /// comes meanwhile follows it.
    pub(super) fn move_deliveries(&mut self, id: TopicId, effort: &mut Effort) -> bool {
        let clients = self.tables.clients.len() as u32;
        while let Some(topic) =
            self.tables.topic_mut(id).filter(|topic| topic.pending > 0 && topic.moved < clients)
        {
            if effort.is_spent() {
                return false;
            }
            let client = ClientId(topic.moved);
            topic.moved += 1;
            effort.spend(1);
            self.move_deliveries_to(client, id, effort);
        }
        true
    }

    fn move_deliveries_to(&mut self, client: ClientId, topic: TopicId, effort: &mut Effort) {
        let Some(entry) = self.tables.clients.get_mut(client.0) else { return };
        if entry.output.is_empty() {
            return;
        }
        effort.spend(entry.output.len() / LOOKS_PER_UNIT);
        let is_chosen = |token| self.deliveries.get(token).is_some_and(|delivery| delivery.topic == topic);
        let moved = entry.output.extract(&is_chosen);
        self.ensure_queue(client, Class::Draining);
        let entry = self.tables.clients.get_mut(client.0);
        let queue = entry.and_then(|entry| entry.draining.as_mut());
        queue.into_iter().for_each(|queue| queue.expect(&moved));
        for outgoing in moved {
            self.send(self.now, Class::Draining, outgoing);
        }
    }

    /// The class of a delivery of a topic that is about to be guarded: clients below a number have been moved.
    #[cold]
    pub(super) fn class_while_moving(&self, token: u32, moved: u32) -> Class {
        let is_moved = self.deliveries.get(token).is_some_and(|delivery| delivery.client.0 < moved);
        if is_moved { Class::Draining } else { Class::Rest }
    }
}

/// What a topic is allotted while it drains: as much as every other one.
fn plain(share: Share) -> Share {
    Share { weight: 1, ..share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Config, Offer};
    use crate::frame::{Data, DataHeader};

    #[test]
    fn what_drains_under_smooth_needs_no_table() {
        let mut engine = Engine::new(Config { input: "smooth".into(), ..Config::default() }).unwrap();
        let client = engine.connect("p").unwrap();
        engine.set_patient(true);
        let topics = [1_001, 1_003, 1_007].map(|weight| {
            let share = Share { weight, ..Share::default() };
            let topic = engine.declare(&format!("t{weight}"), share).unwrap();
            let stream = engine.advertise(client, topic, &Offer::default()).unwrap().0;
            let header = DataHeader { stream, ..DataHeader::default() };
            let data = Data { header, attributes: &[], payload: &[] };
            let mut frame = Vec::new();
            data.encode(&mut frame, u32::MAX).unwrap();
            (0..2).for_each(|_| engine.ingest(0, client, &frame, &data).map(drop).unwrap());
            topic
        });
        topics.iter().for_each(|&topic| assert!(engine.guard(topic, true).unwrap()));
        engine.allot(topics[0], Share { weight: 999, ..Share::default() }).unwrap();
        let stage = engine.stages.of(Class::Draining);
        stage.set_patient(true);
        assert!(stage.is_prepared());
        assert_eq!(std::iter::from_fn(|| engine.step(0)).count(), 6);
        assert!(topics.iter().all(|&topic| engine.class_of(topic) == Class::Guarded));
    }
}
