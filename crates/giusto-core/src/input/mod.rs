//! The input stage: which topic, and which client of it, gets the next quantum of the processor.
//!
//! A policy is one file here, one entry in [`REGISTRY`], and one entry in the contract suite
//! (`tests/property/contract`). It keeps its own order over lanes and is told what happens to them;
//! the messages stay in [`Queues`].

mod edf;
mod fair;
mod heap;
mod seats;
mod smooth;
mod table;
mod tags;
mod twrr;
mod weights;
mod wheel;

use std::fmt::Debug;

use crate::effort::Effort;
use crate::error::Invalid;
use crate::id::{FlowId, Nanos, TopicId};
use crate::queue::{Lanes, Queues, Served};

pub use fair::{RATE_MAX, TICKS};
pub use weights::WEIGHT_MAX;
pub use wheel::{CELLS_MAX, EFFORT_MAX};

/// What a topic is allotted; a policy reads the fields that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// `twrr`, `smooth`: cells of the topic in a cycle, relative to the other topics.
    pub weight: u32,
    /// `fair`: messages per unit of virtual time.
    pub rate: u32,
    /// `fair`: virtual deadline in 1/[`TICKS`] of virtual time, at most 1/rate; `None` means 1/rate.
    pub virtual_deadline: Option<u64>,
    /// `edf`: distance of the topic's tags, 1/μ_i.
    pub period_ns: Nanos,
    /// `edf`: relative deadline.
    pub deadline_ns: Nanos,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1, rate: 1, virtual_deadline: None, period_ns: 1_000_000, deadline_ns: 1_000_000 }
    }
}

/// Decides which lane is served next. `now` never decreases from call to call.
pub trait InputStage: Debug + Send + Sync {
    /// What has to share a lane.
    fn lanes(&self) -> Lanes;

    /// Whether `share` can be allotted to `topic`, beside what the other topics have.
    fn check(&self, topic: TopicId, share: &Share) -> Result<(), Invalid>;

    /// Allots a share that passed [`InputStage::check`] to a new topic or an old one. Takes effect
    /// where the policy's analysis allows it (assumption A7), at the latest when everything is idle.
    fn allot(&mut self, topic: TopicId, share: &Share);

    /// So many topics come without what is known of the others being moved.
    fn reserve(&mut self, _topics: usize) {}

    /// The topic is gone from this stage, with all its flows and whatever waits in them.
    fn withdraw(&mut self, topic: TopicId);

    /// Whether what takes time after a change is done by [`InputStage::prepare`] alone; else it is done when it is needed.
    fn set_patient(&mut self, _patient: bool) {}

    /// Whether nothing is left to prepare.
    fn is_prepared(&self) -> bool {
        true
    }

    /// Prepares what takes time after a change, as far as the effort goes.
    fn prepare(&mut self, _effort: &mut Effort) {}

    /// `flow` publishes on `topic` from now on.
    fn join(&mut self, queues: &mut Queues, topic: TopicId, flow: FlowId);

    /// `flow` is closed and drained.
    fn leave(&mut self, queues: &Queues, topic: TopicId, flow: FlowId);

    /// The lane of `flow` was empty and has a message now.
    fn arrived(&mut self, queues: &Queues, topic: TopicId, flow: FlowId);

    /// Spends one quantum on the lane whose turn it is; `None` when nothing waits. The server is
    /// idle when it is told `None`: a caller asks again only when the quantum before is over.
    fn next(&mut self, now: Nanos, queues: &mut Queues) -> Option<Served>;
}

/// A policy's name, what it does, and how to make one.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// As in configuration files.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    make: fn() -> Box<dyn InputStage>,
}

/// Every input policy.
pub const REGISTRY: &[Policy] = &[
    Policy {
        name: "twrr",
        summary: "weighted cells per topic in the order of [Li11] Fig. 3, a quantum per client in a cell",
        make: || Box::new(twrr::Twrr::default()),
    },
    Policy {
        name: "smooth",
        summary: "the same shares as twrr, cells of a topic spread evenly over the cycle",
        make: || Box::new(wheel::Wheel::new()),
    },
    Policy {
        name: "fair",
        summary: "virtual-time fair shares, with deadlines decoupled from rates",
        make: || Box::new(tags::Tags::new(fair::Fair::default())),
    },
    Policy {
        name: "edf",
        summary: "earliest deadline first on real-time tags: holds deadlines and isolates flooders",
        make: || Box::new(tags::Tags::new(edf::Edf::default())),
    },
];

/// The policy called `name`, with no topic yet.
pub fn policy(name: &str) -> Result<Box<dyn InputStage>, Invalid> {
    let found = REGISTRY.iter().find(|policy| policy.name == name);
    found.map(|policy| (policy.make)()).ok_or_else(|| {
        let names: Vec<_> = REGISTRY.iter().map(|policy| policy.name).collect();
        Invalid::new("input", format!("{name:?}"), format!("one of {}", names.join(", ")))
    })
}
