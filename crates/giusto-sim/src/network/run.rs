//! A run from its first event to its last, and what it leaves.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::record::Batch;

use super::link::LinkCounts;
use super::medium::MediumCounts;
use super::processor::BrokerCounts;
use super::scenario::Scenario;
use super::tally::{Counters, Earning, Total};
use super::world::World;

/// How many events happen between two questions whether to go on.
const PATIENCE: u32 = 1 << 16;

/// Why a run did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The scenario cannot run.
    Invalid(Invalid),
    /// The caller did not want to go on.
    Interrupted,
}

impl From<Invalid> for Error {
    fn from(fault: Invalid) -> Self {
        Self::Invalid(fault)
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub struct Run {
    /// Counters over all.
    pub counters: Counters,
    /// One per subscriber.
    pub totals: Vec<Total>,
    /// The money.
    pub earning: Earning,
    /// One per link.
    pub links: Vec<LinkCounts>,
    /// One per broker.
    pub brokers: Vec<BrokerCounts>,
    /// One per medium.
    pub media: Vec<MediumCounts>,
    /// The records, in the order in which things ended.
    pub batches: Vec<Batch>,
    /// The instant of the last event; 0 if nothing happened.
    pub ended_ns: Nanos,
}

impl Scenario {
    /// Whether it can run until `until_ns`: the first thing that is wrong, with its path.
    pub fn validate(&self, until_ns: Nanos) -> Result<(), Invalid> {
        World::new(self, until_ns).map(|_| ())
    }

    /// Lets publishers send until `until_ns` and everything arrive, or cuts it off there unless `drains`.
    ///
    /// Now and then `goes_on` is asked whether to continue.
    pub fn run(
        &self,
        until_ns: Nanos,
        drains: bool,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Run, Error> {
        let mut world = World::new(self, until_ns)?;
        let last_ns = if drains { Nanos::MAX } else { until_ns };
        let mut now = Nanos::MIN;
        let mut left = PATIENCE;
        // What has come up at the last instant still begins at it.
        while world.is_choosing() || world.agenda.next_ns().is_some_and(|next_ns| next_ns <= last_ns) {
            let Some(then) = world.step(now)? else { break };
            now = then;
            left -= 1;
            if left == 0 {
                left = PATIENCE;
                if !goes_on() {
                    return Err(Error::Interrupted);
                }
            }
        }
        let (world, totals) = world.finish();
        Ok(Run {
            counters: world.counters,
            earning: Earning::of(&self.subscribers, &totals),
            totals,
            links: world.links.iter().map(|link| link.counts).collect(),
            brokers: world.brokers,
            media: world.media.iter().map(|medium| medium.counts).collect(),
            batches: world.recorder.finish(),
            ended_ns: now.max(0),
        })
    }
}
