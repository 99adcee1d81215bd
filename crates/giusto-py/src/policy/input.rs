//! An input policy written in Python: it chooses among the lanes that have messages.

use std::collections::BTreeSet;

use giusto_core::error::Invalid;
use giusto_core::id::{FlowId, Nanos, TopicId};
use giusto_core::input::{InputStage, Share};
use giusto_core::queue::{Lanes, Queues, Served};
use pyo3::prelude::*;

use super::{Complaint, Object};
use crate::errors::Raise;
use crate::input::PyShare;

/// Calls `allot(topic, share)`, `join(topic, flow)`, `arrived(lane, topic, oldest_ns)`, `choose(now_ns)`, which returns
/// a lane, and `served(lane, oldest_ns)`. Its attribute `lanes` says what a lane is: "flow" or "topic".
#[derive(Debug)]
pub(crate) struct PythonInput {
    object: Object,
    lanes: Lanes,
    /// Lanes that have messages.
    waiting: BTreeSet<u32>,
}

impl PythonInput {
    pub(crate) fn new(factory: &Py<PyAny>, complaint: Complaint) -> Self {
        let mut object = Object::new(factory, complaint);
        let lanes = object.with(|object| {
            let given = object.getattr("lanes")?;
            match given.extract::<String>().as_deref() {
                Ok("flow") => Ok(Lanes::PerFlow),
                Ok("topic") => Ok(Lanes::PerTopic),
                _ => Err(Invalid::new("lanes", given, "flow or topic").raise()),
            }
        });
        Self { object, lanes: lanes.unwrap_or(Lanes::PerFlow), waiting: BTreeSet::new() }
    }

    fn lane(&self, topic: TopicId, flow: FlowId) -> u32 {
        match self.lanes {
            Lanes::PerFlow => flow.0,
            Lanes::PerTopic => topic.0,
        }
    }
}

impl InputStage for PythonInput {
    fn lanes(&self) -> Lanes {
        self.lanes
    }

    fn check(&self, _topic: TopicId, _share: &Share) -> Result<(), Invalid> {
        Ok(())
    }

    fn allot(&mut self, topic: TopicId, share: &Share) {
        let arguments = (topic.0, PyShare(*share));
        self.object.with(|object| object.call_method1("allot", arguments).map(drop));
    }

    fn withdraw(&mut self, topic: TopicId) {
        self.object.with(|object| object.call_method1("withdraw", (topic.0,)).map(drop));
    }

    fn join(&mut self, _queues: &mut Queues, topic: TopicId, flow: FlowId) {
        self.object.with(|object| object.call_method1("join", (topic.0, flow.0)).map(drop));
    }

    fn leave(&mut self, _queues: &Queues, topic: TopicId, flow: FlowId) {
        self.object.with(|object| object.call_method1("leave", (topic.0, flow.0)).map(drop));
    }

    fn arrived(&mut self, queues: &Queues, topic: TopicId, flow: FlowId) {
        let lane = self.lane(topic, flow);
        self.waiting.insert(lane);
        let oldest_ns = queues.oldest_ns(lane as usize);
        self.object.with(|object| object.call_method1("arrived", (lane, topic.0, oldest_ns)).map(drop));
    }

    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served> {
        if self.waiting.is_empty() {
            return None;
        }
        let waiting = &self.waiting;
        let lane: u32 = self.object.with(|object| {
            let chosen = object.call_method1("choose", (now,))?;
            let known = chosen.extract().ok().filter(|lane| waiting.contains(lane));
            known.ok_or_else(|| Invalid::new("choose", chosen, "a lane that has messages").raise())
        })?;
        let served = queues.serve(now, lane as usize);
        let is_empty = queues.is_lane_empty(lane as usize);
        let oldest_ns = if is_empty { None } else { queues.oldest_ns(lane as usize) };
        if is_empty {
            self.waiting.remove(&lane);
        }
        self.object.with(|object| object.call_method1("served", (lane, oldest_ns)).map(drop));
        served
    }
}
