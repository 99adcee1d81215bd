//! Everything that is known before a run: the trees of the brokers that have publishers, and that they suffice.

use std::collections::BTreeSet;

use giusto_core::error::Invalid;
use giusto_core::matching::topic;
use giusto_core::output::{self, SPAN_NS_MAX, TERMS_MAX, Terms};

use super::link::{LinkState, Needs};
use super::routes::{Graph, NONE, Tree};
use super::scenario::Scenario;
use super::service::client;

/// The trees of a scenario.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) trees: Vec<Tree>,
    /// The tree of each broker, or [`NONE`].
    pub(super) tree_of: Vec<u32>,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut wanted = vec![false; scenario.brokers.len()];
        for subscriber in &scenario.subscribers {
            wanted[subscriber.broker as usize] = true;
        }
        let graph = Graph::new(scenario);
        let mut plan = Self { trees: Vec::new(), tree_of: vec![NONE; scenario.brokers.len()] };
        for publisher in &scenario.publishers {
            let tree = &mut plan.tree_of[publisher.broker as usize];
            if *tree == NONE {
                *tree = plan.trees.len() as u32;
                plan.trees.push(graph.tree(publisher.broker, &wanted));
            }
        }
        plan
    }

    /// Refuses a subscriber that a message may be for and cannot reach, and paths that cannot be scheduled.
    pub(super) fn check(&self, scenario: &Scenario, links: &[LinkState]) -> Result<(), Invalid> {
        for (n, subscriber) in scenario.subscribers.iter().enumerate() {
            let missed = |tree: &Tree| tree.node_of[subscriber.broker as usize] == NONE;
            if self.trees.iter().any(missed) {
                self.check_reached(scenario, n)?;
            }
        }
        self.check_paths(scenario)?;
        self.check_terms(scenario, links)
    }

    /// The flows, as (client, topic), that each broker's processor may see; see [`client`].
    pub(super) fn flows(&self, scenario: &Scenario) -> Vec<Vec<(u32, u32)>> {
        let mut flows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); scenario.brokers.len()];
        if scenario.brokers.iter().all(|broker| broker.processor.is_none()) {
            return flows;
        }
        let mut topics: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.trees.len()];
        for (n, publisher) in scenario.publishers.iter().enumerate() {
            topics[self.tree_of[publisher.broker as usize] as usize].insert(publisher.topic);
            let client = client(scenario.links.len(), NONE, n as u32);
            flows[publisher.broker as usize].push((client, publisher.topic));
        }
        for (tree, topics) in self.trees.iter().zip(&topics) {
            for node in &tree.nodes[1..] {
                flows[node.broker as usize].extend(topics.iter().map(|&topic| (node.link, topic)));
            }
        }
        for flows in &mut flows {
            flows.sort_unstable();
            flows.dedup();
        }
        flows
    }

    /// For each link, the mean size of the messages that may cross it, each of their publishers counted once.
    pub(super) fn mean_size_bytes(&self, scenario: &Scenario) -> Vec<u32> {
        let mut by_tree = vec![(0_u64, 0_u64); self.trees.len()];
        for publisher in &scenario.publishers {
            let (sum, count) = &mut by_tree[self.tree_of[publisher.broker as usize] as usize];
            *sum += (u64::from(publisher.size_bytes.0) + u64::from(publisher.size_bytes.1)) / 2;
            *count += 1;
        }
        let mut by_link = vec![(0_u64, 0_u64); scenario.links.len()];
        for (tree, sizes) in self.trees.iter().zip(by_tree) {
            for node in &tree.nodes[1..] {
                let (sum, count) = &mut by_link[node.link as usize];
                (*sum, *count) = (*sum + sizes.0, *count + sizes.1);
            }
        }
        by_link.iter().map(|(sum, count)| sum.checked_div(*count).map_or(0, |mean| mean as u32)).collect()
    }

    fn check_reached(&self, scenario: &Scenario, number: usize) -> Result<(), Invalid> {
        let subscriber = &scenario.subscribers[number];
        for publisher in &scenario.publishers {
            let tree = &self.trees[self.tree_of[publisher.broker as usize] as usize];
            let reached = tree.node_of[subscriber.broker as usize] != NONE;
            if !reached
                && topic::matches(&subscriber.pattern, &scenario.topics[publisher.topic as usize].name)
            {
                let at = &scenario.brokers[subscriber.broker as usize].name;
                let from = &scenario.brokers[publisher.broker as usize].name;
                let expected =
                    format!("a broker with a path from {from:?}, where {:?} publishes", publisher.name);
                return Err(Invalid::new(
                    format!("subscribers[{number}].broker"),
                    format!("{at:?}"),
                    expected,
                ));
            }
        }
        Ok(())
    }

    /// Whether the longest path of every tree stays within the span of time, for the largest message.
    fn check_paths(&self, scenario: &Scenario) -> Result<(), Invalid> {
        let size_bytes =
            scenario.publishers.iter().map(|publisher| publisher.size_bytes.1).max().unwrap_or(0);
        let slowest = scenario.subscribers.iter().map(|subscriber| subscriber.delay_ns).max().unwrap_or(0);
        let link = output::Link { processing_delay_ns: 0, ..output::Link::default() };
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            let terms = Terms {
                mean_ns_per_kb: node.mean_ns_per_kb,
                variance_ns2_per_kb2: node.variance_ns2_per_kb2,
                subscriber_delay_ns: node.fixed_ns.saturating_add(slowest),
                ..Terms::NONE
            };
            if terms.check(size_bytes, &link).is_err() {
                let broker = &scenario.brokers[node.broker as usize].name;
                let expected = format!("delays that add up to at most {SPAN_NS_MAX} ns on every path");
                return Err(Invalid::new("links", format!("a path to {broker:?}"), expected));
            }
        }
        Ok(())
    }

    /// Whether no copy can carry more terms than a queue takes.
    fn check_terms(&self, scenario: &Scenario, links: &[LinkState]) -> Result<(), Invalid> {
        if scenario.subscribers.len() <= TERMS_MAX {
            return Ok(());
        }
        let mut at_broker = vec![0_usize; scenario.brokers.len()];
        for subscriber in &scenario.subscribers {
            at_broker[subscriber.broker as usize] += 1;
        }
        for tree in &self.trees {
            let mut behind: Vec<usize> = vec![0];
            for node in &tree.nodes {
                behind.push(behind[behind.len() - 1] + at_broker[node.broker as usize]);
            }
            for (n, node) in tree.nodes.iter().enumerate().skip(1) {
                let count = behind[node.end as usize] - behind[n];
                if count > TERMS_MAX && links[node.link as usize].needs == Needs::Terms {
                    let field = format!("links[{}].policy", node.link);
                    let expected = format!(
                        "fifo or priority with expiry none or dead: others take at most {TERMS_MAX} \
                         subscriptions behind a link, and here are {count}"
                    );
                    let policy = scenario.links[node.link as usize].policy.name();
                    return Err(Invalid::new(field, policy, expected));
                }
            }
        }
        Ok(())
    }
}
