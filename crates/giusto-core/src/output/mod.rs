//! Output stage: which message next on this link.
//!
//! An [`OutputQueue`] holds the messages that wait for one neighbour or subscriber. Its policy, an
//! [`OutputStage`], decides which of them the link carries next; the queue around it checks input, keeps the
//! capacity, finds the instant at which each message expires, and counts what is lost by reason.
//!
//! To add a policy: one file that implements [`OutputStage`], one entry in [`POLICIES`].

mod fifo;
mod heap;
mod link;
mod lrt;
mod message;
pub mod mtep;
mod normal;
mod priority;
mod queue;
mod slab;
mod stage;
mod target;

pub use fifo::Fifo;
pub use link::{EPSILON_MAX, Expiry, Link};
pub use lrt::Lrt;
pub use message::{
    BYTES_PER_KB, MONEY_MAX, NO_DEADLINE_NS, Outgoing, PRIORITY_MAX, SPAN_NS_MAX, TERMS_MAX, Terms,
};
pub use mtep::{Metrics, Mtep, MtepReference, Work};
pub use normal::cumulative;
pub use priority::Priority;
pub use queue::{Admission, CAPACITY_MAX, Counts, Lost, OutputQueue, Overflow, Reason, Room};
pub use stage::{Arrival, OutputStage};
pub use target::{Target, expired};

use crate::error::Invalid;

/// A policy of the output stage, by name.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// What configurations call it.
    pub name: &'static str,
    /// The expiry mode that it has unless told otherwise.
    pub expiry: Expiry,
    /// Makes an empty stage. `Expiry` is only for those that decide expiry themselves.
    build: fn(&Link, Expiry) -> Box<dyn OutputStage>,
}

/// Every policy that may be configured; the contract suite runs over all of them.
pub const POLICIES: [Policy; 4] = [
    Policy { name: "fifo", expiry: Expiry::Dead, build: |_, _| Box::new(Fifo::default()) },
    Policy { name: "priority", expiry: Expiry::Dead, build: |_, _| Box::new(Priority::default()) },
    Policy { name: "lrt", expiry: Expiry::Dead, build: |_, _| Box::new(Lrt::default()) },
    Policy { name: "mtep", expiry: Expiry::Eps, build: |link, _| Box::new(Mtep::new(link)) },
];

/// The pseudocode of S1 as it stands, to compare `mtep` with; too slow to be configured.
const REFERENCE: Policy = Policy {
    name: "mtep-reference",
    expiry: Expiry::Eps,
    build: |link, expiry| Box::new(MtepReference::new(link, expiry)),
};

/// The policy called `name`.
pub fn policy(name: &str) -> Result<Policy, Invalid> {
    let known = POLICIES.into_iter().chain([REFERENCE]).find(|policy| policy.name == name);
    known.ok_or_else(|| {
        let names = POLICIES.map(|policy| policy.name).join(", ");
        Invalid::new("policy", name, format!("one of {names}"))
    })
}

impl Policy {
    /// A queue of this policy; `expiry` replaces the policy's own mode.
    pub fn queue(
        &self,
        room: impl Into<Room>,
        overflow: Overflow,
        expiry: Option<Expiry>,
        link: Link,
    ) -> Result<OutputQueue, Invalid> {
        let expiry = expiry.unwrap_or(self.expiry);
        link.validate()?;
        OutputQueue::new((self.build)(&link, expiry), room.into(), overflow, expiry, link)
    }
}
