//! The primitives that change who publishes and who receives. Each is done as a whole or refused as
//! a whole.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::class::{Class, Fresh};
use crate::engine::tables::{Client, Flow, Topic};
use crate::error::{ChangeError, Invalid};
use crate::id::{ClientId, FlowId, Nanos, TopicId};
use crate::input::Share;
use crate::matching::topic::check_name;
use crate::output::{self, Terms};
use crate::policer::{Bucket, Limit, Rule};
use crate::queue::Bounds;
use crate::record::ID_MAX;

/// Longest name of a client.
pub const CLIENT_BYTES_MAX: usize = 255;

/// What a publisher promises on one topic.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Waiting messages and bytes per message at most.
    pub bounds: Bounds,
    /// How fast it will send; `None` is not policed.
    pub limit: Option<Limit>,
}

impl Default for Offer {
    fn default() -> Self {
        Self { bounds: Bounds { capacity: 256, limit_bytes: 1 << 20 }, limit: None }
    }
}

/// What a subscription asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Need {
    /// Deadline, price, penalty and the path to the subscriber, for the output stage.
    pub terms: Option<Terms>,
    /// The delay that was proved for it, for the records.
    pub bound_ns: Option<Nanos>,
}

impl Engine {
    /// A client is there from now on, with an output queue of its own.
    pub fn connect(&mut self, name: &str) -> Result<ClientId, ChangeError> {
        if name.is_empty() || name.len() > CLIENT_BYTES_MAX || name.chars().any(char::is_control) {
            let shown: String = name.chars().take(40).collect();
            let expected = format!("1 to {CLIENT_BYTES_MAX} bytes without control characters");
            return Err(Invalid::new("client", format!("{shown:?}"), expected).into());
        }
        if self.tables.client_names.contains_key(name) {
            return Err(ChangeError::duplicate("client", name));
        }
        let config = &self.config;
        let policy = output::policy(&config.output)?;
        let output = policy.queue(config.output_room(), config.overflow, config.expiry, config.link)?;
        let id = ClientId(bounded("clients", self.tables.clients.next())?);
        if let Some(records) = &mut self.records {
            records.name_publisher(id.0, name)?;
        }
        let (flows, subscriptions) = (Vec::new(), Vec::new());
        let entry = Client {
            name: name.into(),
            since: self.tables.next_age(),
            gone: false,
            muted: false,
            live_flows: 0,
            pending: 0,
            overflowed: false,
            fresh: Fresh::default(),
            fresh_guarded: Fresh::default(),
            output,
            guarded: None,
            draining: None,
            behind: Vec::new(),
            flows,
            subscriptions,
            with_terms: 0,
            delivery: (0, 0),
        };
        self.tables.clients.insert(entry);
        self.tables.client_names.insert(name.into(), id);
        Ok(id)
    }

    /// A topic exists from now on.
    pub fn declare(&mut self, name: &str, share: Share) -> Result<TopicId, ChangeError> {
        check_name(name)?;
        if self.tables.topic_names.contains_key(name) {
            return Err(ChangeError::duplicate("topic", name));
        }
        let id = TopicId(bounded("topics", self.tables.topics.next())?);
        self.stages.of(Class::Rest).check(id, &share)?;
        if let Some(records) = &mut self.records {
            records.name_topic(id.0, name)?;
        }
        self.matcher.add_topic(id, name)?;
        self.stages.of(Class::Rest).allot(id, &share);
        let (since, counters) = (self.tables.next_age(), Default::default());
        self.tables.topics.insert(Topic {
            name: name.into(),
            since,
            share,
            guarded: false,
            drains: false,
            draining: 0,
            moved: 0,
            flows: Vec::new(),
            pending: 0,
            gone: false,
            counters,
        });
        self.tables.topic_names.insert(name.into(), id);
        Ok(id)
    }

    /// A topic that nobody publishes on is gone.
    pub fn forget(&mut self, id: TopicId) -> Result<(), ChangeError> {
        let topic = self.topic(id)?;
        if !topic.flows.is_empty() {
            let problem = Invalid::new("topic", &topic.name, "a topic on which nobody publishes any more");
            return Err(problem.into());
        }
        self.matcher.remove_topic(id)?;
        self.withdraw(id);
        if let Some(topic) = self.tables.topics.get_mut(id.0) {
            topic.gone = true;
            self.stages.topics -= usize::from(std::mem::take(&mut topic.guarded));
            self.tables.topic_names.remove(&topic.name);
        }
        self.tables.forget_topic(id);
        Ok(())
    }

    /// Allots another share to a topic. While messages wait it takes effect when their cycle is over (A7): until then the
    /// bounds of the old share hold.
    pub fn allot(&mut self, id: TopicId, share: Share) -> Result<(), ChangeError> {
        let topic = self.topic(id)?;
        let class = if topic.guarded { Class::Guarded } else { Class::Rest };
        self.stages.of(class).check(id, &share)?;
        self.stages.of(class).allot(id, &share);
        if let Some(topic) = self.tables.topic_mut(id) {
            topic.share = share;
        }
        Ok(())
    }

    /// `client` publishes on `topic` from now on: an entry of MatrixIN becomes 1. A flow that ended but
    /// has messages left goes on: they stay before the new ones, and count against the new bounds.
    pub fn advertise(
        &mut self,
        client: ClientId,
        topic: TopicId,
        offer: &Offer,
    ) -> Result<FlowId, ChangeError> {
        self.topic(topic)?;
        let entry = self.tables.client(client).ok_or_else(|| ChangeError::unknown("client", client.0))?;
        let ended = entry.flow(topic);
        if ended.is_some_and(|flow| self.queues.owner(flow).is_some()) {
            return Err(ChangeError::duplicate("flow", format!("of {client} on {topic}")));
        }
        let rule = offer.limit.map(|limit| self.tables.rule(limit)).transpose()?;
        if let Some(flow) = ended {
            self.queues.reopen(flow, offer.bounds)?;
            self.install_rule(client, topic, flow, rule);
            return Ok(flow);
        }
        let flow = FlowId(self.tables.flows.next());
        self.queues.open(flow, client, topic, offer.bounds)?;
        let class = self.class_of(topic);
        self.stages.of(class).join(&mut self.queues, topic, flow);
        self.tables.flows.insert(Flow::default());
        self.install_rule(client, topic, flow, rule);
        if let Some(entry) = self.tables.client_mut(client) {
            entry.add_flow(topic, flow);
            entry.live_flows += 1;
        }
        if let Some(entry) = self.tables.topic_mut(topic) {
            entry.flows.push(flow);
        }
        Ok(flow)
    }

    fn install_rule(&mut self, client: ClientId, topic: TopicId, flow: FlowId, rule: Option<Arc<Rule>>) {
        let names = self.tables.clients.get(client.0).zip(self.tables.topics.get(topic.0));
        let bucket = names.zip(rule).map(|((client, topic), rule)| {
            self.debts.take(self.now, &client.name, &topic.name).bucket(self.now, rule)
        });
        if let Some(flow) = self.tables.flows.get_mut(flow.0) {
            flow.bucket = bucket;
        }
    }

    /// The messages of a flow are limited in another way from now on; what it has used up stays used up.
    pub fn reoffer(&mut self, flow: FlowId, limit: Limit) -> Result<(), ChangeError> {
        let rule = self.tables.rule(limit)?;
        let entry = self.tables.flows.get_mut(flow.0).filter(|_| self.queues.owner(flow).is_some());
        let entry = entry.ok_or_else(|| ChangeError::unknown("flow", flow.0))?;
        entry.bucket = Some(
            entry
                .bucket
                .take()
                .map_or_else(|| Bucket::new(Arc::clone(&rule)), |bucket| bucket.go_on(Arc::clone(&rule))),
        );
        Ok(())
    }

    /// A flow ends: its entry of MatrixIN becomes 0, and what waits in it is still forwarded.
    pub fn unadvertise(&mut self, flow: FlowId) -> Result<(), ChangeError> {
        self.queues.close(flow)?;
        let bucket = self.tables.flows.get_mut(flow.0).and_then(|flow| flow.bucket.take());
        let (client, topic) = (self.queues.client(flow), self.queues.topic(flow));
        let names = self.tables.clients.get(client.0).zip(self.tables.topics.get(topic.0));
        if let Some(((client, topic), bucket)) = names.zip(bucket) {
            self.debts.keep(self.now, &client.name, &topic.name, bucket);
        }
        if self.queues.is_drained(flow) {
            self.drained(flow);
        }
        Ok(())
    }

    /// The topic called `name`.
    pub fn topic_named(&self, name: &str) -> Option<TopicId> {
        self.tables.topic_names.get(name).copied()
    }

    /// The client called `name`.
    pub fn client_named(&self, name: &str) -> Option<ClientId> {
        self.tables.client_names.get(name).copied()
    }

    pub(super) fn topic(&self, id: TopicId) -> Result<&Topic, ChangeError> {
        self.tables
            .topics
            .get(id.0)
            .filter(|topic| !topic.gone)
            .ok_or_else(|| ChangeError::unknown("topic", id.0))
    }

    /// A closed flow has no message left: its number is free, and its client's if that is gone too.
    pub(super) fn drained(&mut self, flow: FlowId) {
        let (client, topic) = (self.queues.client(flow), self.queues.topic(flow));
        let class = self.class_of(topic);
        self.stages.of(class).leave(&self.queues, topic, flow);
        self.tables.flows.remove(flow.0);
        if let Some(entry) = self.tables.topic_mut(topic) {
            entry.flows.retain(|&other| other != flow);
        }
        if let Some(entry) = self.tables.clients.get_mut(client.0) {
            entry.live_flows -= 1;
            entry.remove_flow(topic);
        }
        self.tables.forget_client(client);
    }
}

/// Numbers must fit the dictionaries of the records.
pub(super) fn bounded(kind: &str, number: u32) -> Result<u32, Invalid> {
    if number > ID_MAX {
        return Err(Invalid::new(kind, number, format!("at most {ID_MAX}")));
    }
    Ok(number)
}
