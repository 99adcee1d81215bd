//! Which class a topic is in: guarded topics are under contract, the rest is served when nothing guarded waits.
//!
//! Each class has an input stage of the configured policy, so that a guarded topic is served as if the rest were not
//! there, but for the quantum in progress. The guarded stage is never made anew, and topics join it while nothing waits there,
//! so that its bounds hold all the time (A7).
//! A client has a queue of its own for guarded deliveries, first come, first served, which goes before the other ones.
//!
//! Between the two is a class for topics that come under contract while messages of them wait (see `draining`).

use crate::effort::Effort;
use crate::engine::forward::Quantum;
use crate::engine::{Config, Delivery, Engine};
use crate::error::{ChangeError, Invalid};
use crate::id::{ClientId, FlowId, Nanos, TopicId};
use crate::input::{self, InputStage};
use crate::output::{self, OutputQueue, Room};
use crate::queue::Lanes;

/// The classes, in the order in which they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Guarded,
    /// Under contract, but what waited before is not out yet.
    Draining,
    Rest,
}

/// One input stage per class, and what is guarded.
#[derive(Debug)]
pub(super) struct Stages {
    rest: Box<dyn InputStage>,
    draining: Box<dyn InputStage>,
    guarded: Box<dyn InputStage>,
    /// Topics under contract.
    pub(super) topics: usize,
    /// Messages of the guarded class that wait, and those of the class after it.
    pub(super) waiting: usize,
    pub(super) waiting_draining: usize,
    /// Topics that join the guarded stage when nothing waits there.
    pub(super) late: Vec<TopicId>,
}

impl Stages {
    pub(super) fn new(policy: &str) -> Result<Self, Invalid> {
        let (rest, guarded) = (input::policy(policy)?, input::policy(policy)?);
        // Nothing is promised while a topic drains, so no table is made for it.
        let plain = if rest.lanes() == Lanes::PerFlow { "twrr" } else { policy };
        let draining = input::policy(plain)?;
        Ok(Self { rest, draining, guarded, topics: 0, waiting: 0, waiting_draining: 0, late: Vec::new() })
    }

    #[inline]
    pub(super) fn of(&mut self, class: Class) -> &mut dyn InputStage {
        match class {
            Class::Rest => &mut *self.rest,
            Class::Draining => &mut *self.draining,
            Class::Guarded => &mut *self.guarded,
        }
    }

    pub(super) fn lanes(&self) -> Lanes {
        self.rest.lanes()
    }

    pub(super) fn reserve(&mut self, topics: usize) {
        [&mut self.rest, &mut self.draining, &mut self.guarded]
            .into_iter()
            .for_each(|stage| stage.reserve(topics));
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

/// What was queued for a client since it was last named.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fresh {
    messages: usize,
    bytes: u64,
}

impl Fresh {
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.messages == 0
    }

    /// One more message is queued; whether these take half the room.
    #[inline]
    pub(super) fn add(&mut self, size_bytes: u32, room: Room) -> bool {
        self.messages += 1;
        self.bytes += u64::from(size_bytes);
        self.messages * 2 >= room.messages || self.bytes.saturating_mul(2) >= room.bytes
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
    /// Puts a topic under contract, or among the rest; whether it is there now. It comes under contract at once, but if
    /// messages of it wait, or guarded ones do, it is draining first. It goes back only when nothing of it waits anywhere.
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
        let class = if guarded { Class::Guarded } else { Class::Rest };
        let share = topic.share;
        self.stages.of(class).check(id, &share)?;
        if guarded && !self.move_deliveries(id, effort) {
            return Ok(false);
        }
        self.withdraw(id);
        self.stages.of(class).allot(id, &share);
        if let Some(topic) = self.tables.topic_mut(id) {
            (topic.guarded, topic.moved) = (guarded, 0);
        }
        if guarded {
            self.stages.topics += 1;
        } else {
            self.stages.topics -= 1;
        }
        if !guarded || (waiting == 0 && self.stages.waiting == 0) {
            self.join_all(id, class);
        } else {
            self.drain(id, waiting);
        }
        Ok(true)
    }

    /// A topic leaves its stages, with all that waits there.
    pub(super) fn withdraw(&mut self, id: TopicId) {
        let Some(topic) = self.tables.topic_mut(id) else { return };
        let class = if topic.guarded { Class::Guarded } else { Class::Rest };
        let drains = std::mem::take(&mut topic.drains);
        self.stages.of(class).withdraw(id);
        if drains {
            self.stages.of(Class::Draining).withdraw(id);
        }
    }

    /// All flows of a topic are in the stage of `class` from now on.
    pub(super) fn join_all(&mut self, id: TopicId, class: Class) {
        let Some(topic) = self.tables.topics.get(id.0) else { return };
        let stage = self.stages.of(class);
        for &flow in &topic.flows {
            stage.join(&mut self.queues, id, flow);
        }
        let waits = |flow: &&FlowId| self.queues.waiting(**flow) > 0;
        // Where a topic has one lane, it arrives with the first.
        let most = if self.queues.lanes() == Lanes::PerFlow { usize::MAX } else { 1 };
        topic.flows.iter().filter(waits).take(most).for_each(|&flow| stage.arrived(&self.queues, id, flow));
    }

    /// Spends one quantum on a guarded message; `None` when none waits.
    #[inline]
    pub fn step_guarded(&mut self, now: Nanos) -> Option<Quantum> {
        self.step_class(now, Class::Guarded)
    }

    /// Messages of guarded topics that wait for the input stage, without those of topics that are draining.
    #[inline]
    pub fn waiting_guarded(&self) -> usize {
        self.stages.waiting
    }

    /// Whether any topic is guarded.
    #[inline]
    pub fn has_guarded(&self) -> bool {
        self.stages.topics > 0
    }

    /// Whether a topic is guarded, draining or not.
    #[inline]
    pub fn is_guarded(&self, topic: TopicId) -> bool {
        self.stages.topics > 0 && self.tables.topics.get(topic.0).is_some_and(|topic| topic.guarded)
    }

    #[inline]
    pub(super) fn class_of(&self, topic: TopicId) -> Class {
        if self.stages.topics == 0 {
            return Class::Rest;
        }
        match self.tables.topics.get(topic.0) {
            Some(topic) if topic.drains => Class::Draining,
            Some(topic) if topic.guarded => Class::Guarded,
            _ => Class::Rest,
        }
    }

    /// The flows of a topic that are open or have messages left.
    pub fn flows_of(&self, topic: TopicId) -> &[FlowId] {
        self.tables.topics.get(topic.0).map_or(&[], |topic| &topic.flows)
    }

    /// The guarded message that `client`'s link carries next; `None` when none waits for it.
    #[inline]
    pub fn carry_guarded(&mut self, now: Nanos, client: ClientId) -> Option<(u32, Delivery<'_>)> {
        self.carry_from(now, client, |entry, now, lost| entry.guarded.as_mut()?.pop(now, lost))
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
            entry.fresh_guarded = Fresh::default();
        }
        Some(client)
    }

    /// Whether a client should be named and its guarded messages taken before more steps fill its queue.
    #[inline]
    pub fn is_crowded_guarded(&self) -> bool {
        self.ready_guarded.crowded
    }

    /// The client has a queue for deliveries of this class from now on.
    #[inline]
    pub(super) fn ensure_queue(&mut self, client: ClientId, class: Class) {
        let Some(entry) = self.tables.clients.get_mut(client.0) else { return };
        let queue = match class {
            Class::Guarded => &mut entry.guarded,
            Class::Draining => &mut entry.draining,
            Class::Rest => return,
        };
        if queue.is_none() {
            // The configuration was checked when the engine was made.
            *queue = guarded_queue(&self.config).ok();
        }
    }
}

#[cold]
fn guarded_queue(config: &Config) -> Result<Box<OutputQueue>, Invalid> {
    let fifo = output::policy("fifo")?;
    fifo.queue(config.output_room(), config.overflow, config.expiry, config.link).map(Box::new)
}
