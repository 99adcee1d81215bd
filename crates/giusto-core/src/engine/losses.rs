//! Whose messages were lost, on which topic and why, since somebody last asked.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::id::{ClientId, FlowId, TopicId};

/// Different losses remembered between two drains at most; the counters of the topics know of all.
const LOSSES_MAX: usize = 1 << 16;

/// Why a message was not delivered. The names are those of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Broke its offer.
    Policed,
    /// Met a full queue, or was larger than offered.
    Overflow,
    /// Was of no use any more when its turn came.
    Expired,
    /// Was of no use any more to the subscriber that it waited for.
    ExpiredWaiting,
    /// Made room for a newer one, or found the subscriber's queue full.
    Dropped,
    /// Waited for a subscriber that went away.
    Abandoned,
}

impl Cause {
    /// What the counter is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policed => "policed",
            Self::Overflow => "overflow",
            Self::Expired => "expired",
            Self::ExpiredWaiting => "expired_waiting",
            Self::Dropped => "dropped",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Messages of one client, or for one client, that were not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// Who published them, if there is a flow; else who should have received them.
    pub client: ClientId,
    /// Their topic.
    pub topic: TopicId,
    /// The client's own flow.
    pub flow: Option<FlowId>,
    /// Why.
    pub cause: Cause,
}

/// Losses since the last drain. A message counts once per client that should have received it.
#[derive(Debug, Default)]
pub(super) struct Losses {
    counts: BTreeMap<Loss, u64>,
}

impl Losses {
    pub(super) fn note(&mut self, loss: Loss) {
        if let Some(count) = self.counts.get_mut(&loss) {
            *count += 1;
        } else if self.counts.len() < LOSSES_MAX {
            self.counts.insert(loss, 1);
        }
    }
}

impl Engine {
    /// What was lost since the last call, in the order of clients and topics.
    pub fn drain_losses(&mut self) -> Vec<(Loss, u64)> {
        std::mem::take(&mut self.losses.counts).into_iter().collect()
    }
}
