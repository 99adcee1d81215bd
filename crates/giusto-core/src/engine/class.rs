//! Which of the two classes a topic is in: guarded topics are under contract, the rest is served when nothing guarded waits.
//!
//! Each class has an input stage of the configured policy, so that a guarded topic is served as if the rest were not
//! there, but for the quantum in progress. The guarded stage is never made anew: its bounds hold all the time (A7).
//! A client has a queue of its own for guarded deliveries, first come, first served, which goes before the other one.

use crate::effort::Effort;
use crate::engine::forward::Quantum;
use crate::engine::{Config, Engine};
use crate::error::{ChangeError, Invalid};
use crate::id::{ClientId, FlowId, Nanos, TopicId};
use crate::input::{self, InputStage};
use crate::output::{self, OutputQueue};
use crate::queue::Lanes;

/// Messages in a queue that cost as much to look at as a topic.
const LOOKS_PER_UNIT: usize = 2;

/// The two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Rest,
    Guarded,
}

impl Class {
    #[inline]
    pub(super) fn of(guarded: bool) -> Self {
        if guarded { Self::Guarded } else { Self::Rest }
    }

    fn other(self) -> Self {
        Self::of(self == Self::Rest)
    }
}

/// One input stage per class, and what is guarded.
#[derive(Debug)]
pub(super) struct Stages {
    rest: Box<dyn InputStage>,
    guarded: Box<dyn InputStage>,
    /// Topics that are guarded.
    pub(super) topics: usize,
    /// Messages of them that wait.
    pub(super) waiting: usize,
}

impl Stages {
    pub(super) fn new(policy: &str) -> Result<Self, Invalid> {
        let (rest, guarded) = (input::policy(policy)?, input::policy(policy)?);
        Ok(Self { rest, guarded, topics: 0, waiting: 0 })
    }

    #[inline]
    pub(super) fn of(&mut self, class: Class) -> &mut dyn InputStage {
        match class {
            Class::Rest => &mut *self.rest,
            Class::Guarded => &mut *self.guarded,
        }
    }

    pub(super) fn lanes(&self) -> Lanes {
        self.rest.lanes()
    }
}

impl Engine {
    /// Whether what takes time after a change of topics or shares is done by [`Engine::prepare_some`] alone; else it is
    /// done when it is needed.
    pub fn set_patient(&mut self, patient: bool) {
        self.stages.rest.set_patient(patient);
        self.stages.guarded.set_patient(patient);
    }

    /// Whether nothing is left to prepare for guarded topics.
    pub fn is_prepared_guarded(&self) -> bool {
        self.stages.guarded.is_prepared()
    }

    /// Whether nothing is left to prepare.
    #[inline]
    pub fn is_prepared(&self) -> bool {
        self.stages.guarded.is_prepared() && self.stages.rest.is_prepared()
    }

    /// Prepares what takes time after a change, as far as the effort goes, for guarded topics first. Who promises something
    /// on them does it while no guarded message waits.
    pub fn prepare_some(&mut self, effort: &mut Effort) {
        self.stages.guarded.prepare(effort);
        self.stages.rest.prepare(effort);
    }
}

/// Clients for which something was queued since they were last named, each once.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pub(super) clients: Vec<ClientId>,
    /// One of them has got half of what its queue holds.
    pub(super) crowded: bool,
}

impl Engine {
    /// Puts a topic under contract, or among the rest; whether it is there now. It is guarded whatever waits: what waits for
    /// clients goes into their guarded queues, in order. It goes back only when nothing of it waits anywhere.
    pub fn guard(&mut self, id: TopicId, guarded: bool) -> Result<bool, ChangeError> {
        self.guard_some(id, guarded, &mut Effort::ALL.clone())
    }

    /// The same as far as the effort goes: a topic for which much waits is not guarded before all of that is moved.
    pub fn guard_some(
        &mut self,
        id: TopicId,
        guarded: bool,
        effort: &mut Effort,
    ) -> Result<bool, ChangeError> {
        let topic = self.topic(id)?;
        if topic.guarded == guarded {
            self.tables.topic_mut(id).into_iter().for_each(|topic| topic.moved = 0);
            return Ok(true);
        }
        let waiting: u32 = topic.flows.iter().map(|&flow| self.queues.waiting(flow)).sum();
        if !guarded && (waiting > 0 || topic.pending > 0) {
            return Ok(false);
        }
        let share = topic.share;
        self.stages.of(Class::of(guarded)).check(id, &share)?;
        if guarded && !self.move_deliveries(id, effort) {
            return Ok(false);
        }
        self.move_input(id, Class::of(guarded));
        if let Some(topic) = self.tables.topic_mut(id) {
            (topic.guarded, topic.moved) = (guarded, 0);
        }
        if guarded {
            self.stages.topics += 1;
            self.stages.waiting += waiting as usize;
        } else {
            self.stages.topics -= 1;
        }
        Ok(true)
    }

    /// Takes a topic with its flows and messages from one stage to the other.
    fn move_input(&mut self, id: TopicId, class: Class) {
        let Some(topic) = self.tables.topics.get(id.0) else { return };
        self.stages.of(class.other()).withdraw(id);
        let stage = self.stages.of(class);
        stage.allot(id, &topic.share);
        for &flow in &topic.flows {
            stage.join(&mut self.queues, id, flow);
        }
        match self.queues.lanes() {
            Lanes::PerFlow => {
                let waiting = |flow: &&FlowId| self.queues.waiting(**flow) > 0;
                topic.flows.iter().filter(waiting).for_each(|&flow| stage.arrived(&self.queues, id, flow));
            }
            Lanes::PerTopic => {
                let first = topic.flows.iter().find(|&&flow| self.queues.waiting(flow) > 0);
                first.into_iter().for_each(|&flow| stage.arrived(&self.queues, id, flow));
            }
        }
    }

    /// Takes what waits for clients over into their guarded queues, one client after the other; whether all is there. What
    /// comes meanwhile follows it there.
    fn move_deliveries(&mut self, id: TopicId, effort: &mut Effort) -> bool {
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
        for outgoing in entry.output.extract(&is_chosen) {
            self.send(Nanos::MIN, Class::Guarded, outgoing);
        }
    }

    /// Spends one quantum on a guarded message; `None` when none waits.
    #[inline]
    pub fn step_guarded(&mut self, now: Nanos) -> Option<Quantum> {
        self.step_class(now, Class::Guarded)
    }

    /// Messages of guarded topics that wait for the input stage.
    #[inline]
    pub fn waiting_guarded(&self) -> usize {
        self.stages.waiting
    }

    /// Whether any topic is guarded.
    #[inline]
    pub fn has_guarded(&self) -> bool {
        self.stages.topics > 0
    }

    /// Whether a topic is guarded.
    #[inline]
    pub fn is_guarded(&self, topic: TopicId) -> bool {
        self.stages.topics > 0 && self.tables.topics.get(topic.0).is_some_and(|topic| topic.guarded)
    }

    #[inline]
    pub(super) fn class_of(&self, topic: TopicId) -> Class {
        Class::of(self.is_guarded(topic))
    }

    /// The flows of a topic that are open or have messages left.
    pub fn flows_of(&self, topic: TopicId) -> &[FlowId] {
        self.tables.topics.get(topic.0).map_or(&[], |topic| &topic.flows)
    }

    /// The token of the guarded message that `client`'s link carries next; `None` when none waits for it.
    #[inline]
    pub fn take_guarded(&mut self, now: Nanos, client: ClientId) -> Option<u32> {
        self.take_from(now, client, |entry, now, lost| entry.guarded.as_mut()?.pop(now, lost))
    }

    /// Guarded messages that wait for a client.
    #[inline]
    pub fn waiting_guarded_for(&self, client: ClientId) -> usize {
        let queue = self.tables.clients.get(client.0).and_then(|entry| entry.guarded.as_ref());
        queue.map_or(0, |queue| queue.len())
    }

    /// A client for which a guarded message was queued since it was last named, if there is one.
    #[inline]
    pub fn pop_ready_guarded(&mut self) -> Option<ClientId> {
        self.ready_guarded.crowded = false;
        let client = self.ready_guarded.clients.pop()?;
        if let Some(entry) = self.tables.clients.get_mut(client.0) {
            entry.fresh_guarded = 0;
        }
        Some(client)
    }

    /// Whether a client should be named and its guarded messages taken before more steps fill its queue.
    #[inline]
    pub fn is_crowded_guarded(&self) -> bool {
        self.ready_guarded.crowded
    }

    /// The client has a queue for guarded deliveries from now on.
    #[inline]
    pub(super) fn ensure_guarded_queue(&mut self, client: ClientId) {
        let Some(entry) = self.tables.clients.get_mut(client.0) else { return };
        if entry.guarded.is_none() {
            // The configuration was checked when the engine was made.
            entry.guarded = guarded_queue(&self.config).ok();
        }
    }
}

#[cold]
fn guarded_queue(config: &Config) -> Result<Box<OutputQueue>, Invalid> {
    let fifo = output::policy("fifo")?;
    fifo.queue(config.output_capacity, config.overflow, config.expiry, config.link).map(Box::new)
}
