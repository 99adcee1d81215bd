//! A link at work: one message at a time, chosen by its output queue.

use std::collections::HashMap;

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{self, Expiry, NO_DEADLINE_NS, OutputQueue, Terms};

use super::chance::Chance;
use super::delay::Delay;
use super::directory::{Group, Matched, Seeker};
use super::fault::Trouble;
use super::plan::Plan;
use super::policy::OutputPolicy;
use super::routes::{Node, Tree};
use super::scenario::{Link, Scenario};

/// What the queue of a link has to know of the subscriptions behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: they change neither the order nor what is dropped.
    Nothing,
    /// Only the latest deadline.
    Latest,
    /// The terms of each.
    Terms,
}

impl Needs {
    fn of(policy: &OutputPolicy, expiry: Expiry) -> Self {
        match (policy.name(), expiry) {
            ("fifo" | "priority", Expiry::None) => Self::Nothing,
            ("fifo" | "priority", Expiry::Dead) => Self::Latest,
            _ => Self::Terms,
        }
    }

    /// Puts what is needed to know of `groups`, seen from `here`, into `terms`.
    pub(super) fn fill(
        self,
        terms: &mut Vec<Terms>,
        (tree, here): (&Tree, &Node),
        matched: &Matched,
        groups: &[Group],
        seekers: &[Seeker],
    ) {
        terms.clear();
        let members = |group: &Group| &matched.seekers[group.from as usize..group.to as usize];
        match self {
            Self::Nothing => {}
            Self::Latest => {
                let deadlines = groups.iter().flat_map(members).map(|&id| seekers[id as usize].deadline_ns);
                let latest = deadlines.max().filter(|&deadline_ns| deadline_ns < NO_DEADLINE_NS);
                terms.extend(latest.map(|deadline_ns| Terms { deadline_ns, ..Terms::NONE }));
            }
            Self::Terms => {
                let mut asked = false;
                for group in groups {
                    let there = &tree.nodes[group.node as usize];
                    for &id in members(group) {
                        let seeker = &seekers[id as usize];
                        asked |= seeker.asks();
                        terms.push(terms_of(seeker, here, there));
                    }
                }
                if !asked {
                    terms.clear();
                }
            }
        }
    }
}

/// What `seeker`, at node `there`, asks of a message that leaves node `here`.
fn terms_of(seeker: &Seeker, here: &Node, there: &Node) -> Terms {
    let rest_ns = there.fixed_ns.saturating_sub(here.fixed_ns);
    Terms {
        deadline_ns: seeker.deadline_ns,
        price: seeker.price,
        penalty: seeker.penalty,
        nodenum: there.depth - here.depth,
        // The differences of two sums may lie below 0 by a rounding.
        mean_ns_per_kb: (there.mean_ns_per_kb - here.mean_ns_per_kb).max(0.0),
        variance_ns2_per_kb2: (there.variance_ns2_per_kb2 - here.variance_ns2_per_kb2).max(0.0),
        subscriber_delay_ns: rest_ns.saturating_add(seeker.delay_ns),
    }
}

/// What a link did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Transmissions.
    pub sent: u64,
    /// Time spent on them.
    pub busy_ns: Nanos,
    /// The most copies that ever waited.
    pub waiting_max: usize,
    /// Copies dropped as useless.
    pub expired: u64,
    /// Copies dropped by a full queue.
    pub overflow: u64,
    /// Copies lost with the link or its broker.
    pub lost: u64,
}

/// A link and what waits for it.
#[derive(Debug)]
pub(super) struct LinkState {
    pub(super) queue: OutputQueue,
    pub(super) delay: Delay,
    pub(super) propagation_ns: Nanos,
    pub(super) needs: Needs,
    pub(super) chance: Chance,
    pub(super) busy_until_ns: Nanos,
    /// Whether the agenda has an event that lets it choose again.
    pub(super) is_due: bool,
    /// Whether it is among those that choose at the end of this instant.
    pub(super) is_choosing: bool,
    pub(super) medium: Option<u32>,
    pub(super) trouble: Option<Box<Trouble>>,
    pub(super) counts: LinkCounts,
}

impl LinkState {
    /// The idle `link`; `mean_size_bytes` is of the messages that may cross it.
    fn new(link: &Link, mean_size_bytes: u32, chance: Chance) -> Result<Self, Invalid> {
        let mean_ns = link.mean_transmission_ns.unwrap_or_else(|| link.believed().mean_ns(mean_size_bytes));
        // PD is part of the path's fixed time, since brokers may differ in it.
        let parameters = output::Link {
            processing_delay_ns: 0,
            mean_transmission_ns: mean_ns,
            epsilon: link.epsilon,
            weight: link.weight,
        };
        let expiry = link.expiry.map_or_else(|| link.policy.expiry(), Ok)?;
        Ok(Self {
            queue: link.policy.queue(link, parameters)?,
            delay: link.delay,
            propagation_ns: link.propagation_ns,
            needs: Needs::of(&link.policy, expiry),
            chance,
            busy_until_ns: Nanos::MIN,
            is_due: false,
            is_choosing: false,
            medium: link.medium,
            trouble: None,
            counts: LinkCounts::default(),
        })
    }
}

/// All links of a scenario.
pub(super) fn links(scenario: &Scenario, plan: &Plan) -> Result<Vec<LinkState>, Invalid> {
    let mean_size_bytes = plan.mean_size_bytes(scenario);
    let made = scenario.links.iter().zip(streams(scenario, "link")).enumerate().map(|(n, (link, chance))| {
        let wrong = |fault: Invalid| Invalid { field: format!("links[{n}].{}", fault.field), ..fault };
        LinkState::new(link, mean_size_bytes[n], chance).map_err(wrong)
    });
    made.collect()
}

/// One stream per link. Links have no names: theirs are their ends, and the place among links with the same ends.
pub(super) fn streams(scenario: &Scenario, what: &str) -> impl Iterator<Item = Chance> {
    let mut twins: HashMap<(u32, u32), u32> = HashMap::new();
    scenario.links.iter().map(move |link| {
        let before = twins.entry((link.source, link.target)).or_default();
        let name = |broker: u32| scenario.brokers[broker as usize].name.as_str();
        let parts = [what, name(link.source), name(link.target), &before.to_string()];
        *before += 1;
        Chance::new(scenario.seed, &parts)
    })
}
