//! Whose messages were lost, on which topic and why, since somebody last asked.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::id::{ClientId, FlowId, TopicId};

/// Different losses remembered until they are taken at most; the counters of the topics know of all.
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

/// Losses since they were taken. A message counts once per client that should have received it.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// How many, and since when the numbers have meant this client and this topic.
    counts: BTreeMap<Loss, (u64, u64)>,
}

impl Losses {
    fn note(&mut self, loss: Loss, since: u64) {
        if let Some((count, noted)) = self.counts.get_mut(&loss) {
            // Nobody can be told what was lost to others that had the same numbers.
            *count = if *noted == since { *count + 1 } else { 1 };
            *noted = since;
        } else if self.counts.len() < LOSSES_MAX {
            self.counts.insert(loss, (1, since));
        }
    }
}

impl Engine {
    /// Looks at up to `most` losses since they were last taken, in the order of clients and topics: those of clients and
    /// topics that are still there, and whether more are left.
    pub fn take_losses(&mut self, most: usize) -> (Vec<(Loss, u64)>, bool) {
        let mut taken = Vec::new();
        for _ in 0..most {
            let Some((loss, (count, noted))) = self.losses.counts.pop_first() else { break };
            if self.since(&loss) == Some(noted) {
                taken.push((loss, count));
            }
        }
        (taken, !self.losses.counts.is_empty())
    }

    pub(super) fn note_loss(&mut self, loss: Loss) {
        if let Some(since) = self.since(&loss) {
            self.losses.note(loss, since);
        }
    }

    /// Since when the numbers have meant this client and this topic; `None` if one of them is gone.
    fn since(&self, loss: &Loss) -> Option<u64> {
        let client = self.tables.client(loss.client)?;
        let topic = self.tables.topics.get(loss.topic.0).filter(|topic| !topic.gone)?;
        Some(client.since.max(topic.since))
    }
}
