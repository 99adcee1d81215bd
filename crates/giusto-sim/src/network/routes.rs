//! Which way messages go: for each broker with publishers, the tree of single paths that are shortest on average.
//!
//! A path minimises the sum of its links' mean times for 1 KB (S1 1.3); of equal ones the one through the broker
//! with the smallest number is taken. A tree is numbered in depth-first order, so that what lies behind a
//! broker is a contiguous range of numbers: a copy that carries some of them is split by comparing numbers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use giusto_core::id::Nanos;
use giusto_core::output::BYTES_PER_KB;

use super::scenario::{Link, Scenario};

/// No broker, link or node.
pub(super) const NONE: u32 = u32::MAX;

/// A broker in a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) broker: u32,
    /// The link on which messages come; [`NONE`] at the root.
    pub(super) link: u32,
    /// The first node that does not lie behind this one.
    pub(super) end: u32,
    /// Where its children begin in the list of children, and how many they are.
    children: (u32, u32),
    /// Links from the root.
    pub(super) depth: u32,
    /// PD of the broker.
    pub(super) processing_ns: Nanos,
    /// μ of the path from the root, per KB.
    pub(super) mean_ns_per_kb: f64,
    /// σ² of the path from the root, per KB².
    pub(super) variance_ns2_per_kb2: f64,
    /// What else the path takes: processing behind the root, propagation, what does not depend on the size.
    pub(super) fixed_ns: Nanos,
}

/// The paths from one broker to all that have subscribers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// In depth-first order, the root first.
    pub(super) nodes: Vec<Node>,
    /// Nodes, ascending for each parent.
    children: Vec<u32>,
    /// The node of each broker, or [`NONE`].
    pub(super) node_of: Vec<u32>,
}

impl Tree {
    /// The children of `node`, ascending.
    #[inline]
    pub(super) fn children(&self, node: u32) -> &[u32] {
        let (from, count) = self.nodes[node as usize].children;
        &self.children[from as usize..(from + count) as usize]
    }
}

/// The links that leave each broker.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    scenario: &'a Scenario,
    outgoing: Vec<Vec<u32>>,
}

/// The last step of the best path to a broker.
#[derive(Clone, Copy)]
struct Step {
    cost_ns: u64,
    link: u32,
    settled: bool,
}

fn cost_ns(link: &Link) -> u64 {
    link.believed().mean_ns(BYTES_PER_KB as u32).saturating_add(link.propagation_ns).unsigned_abs()
}

impl<'a> Graph<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let mut outgoing = vec![Vec::new(); scenario.brokers.len()];
        for (n, link) in scenario.links.iter().enumerate() {
            outgoing[link.source as usize].push(n as u32);
        }
        Self { scenario, outgoing }
    }

    /// The tree of `root`; only paths to brokers that are `wanted` are in it.
    pub(super) fn tree(&self, root: u32, wanted: &[bool]) -> Tree {
        let steps = self.steps(root);
        let source = |broker: usize| {
            (steps[broker].link != NONE)
                .then(|| self.scenario.links[steps[broker].link as usize].source as usize)
        };
        let mut behind: Vec<Vec<u32>> = vec![Vec::new(); wanted.len()];
        let mut kept = vec![false; wanted.len()];
        for broker in (0..wanted.len()).filter(|&broker| wanted[broker]) {
            let mut at = broker;
            while !kept[at] {
                kept[at] = true;
                let Some(before) = source(at) else { break };
                behind[before].push(at as u32);
                at = before;
            }
        }
        behind.iter_mut().for_each(|children| children.sort_unstable());
        self.number(root, &steps, &behind)
    }

    /// The best last step to every broker (Dijkstra).
    fn steps(&self, root: u32) -> Vec<Step> {
        let unknown = Step { cost_ns: u64::MAX, link: NONE, settled: false };
        let mut steps = vec![unknown; self.outgoing.len()];
        steps[root as usize].cost_ns = 0;
        let mut next = BinaryHeap::from([Reverse((0_u64, root))]);
        while let Some(Reverse((cost, broker))) = next.pop() {
            if std::mem::replace(&mut steps[broker as usize].settled, true) {
                continue;
            }
            for &number in &self.outgoing[broker as usize] {
                let link = &self.scenario.links[number as usize];
                let total = cost.saturating_add(cost_ns(link));
                let step = &mut steps[link.target as usize];
                if !step.settled && self.is_better(total, number, step) {
                    (step.cost_ns, step.link) = (total, number);
                    next.push(Reverse((total, link.target)));
                }
            }
        }
        steps
    }

    fn is_better(&self, cost_ns: u64, link: u32, step: &Step) -> bool {
        let key = |link: u32| (self.scenario.links[link as usize].source, link);
        step.link == NONE || (cost_ns, key(link)) < (step.cost_ns, key(step.link))
    }

    fn number(&self, root: u32, steps: &[Step], behind: &[Vec<u32>]) -> Tree {
        let mut tree = Tree { node_of: vec![NONE; behind.len()], ..Tree::default() };
        let mut open = vec![(root, NONE)];
        while let Some((broker, parent)) = open.pop() {
            let node = tree.nodes.len() as u32;
            tree.node_of[broker as usize] = node;
            tree.nodes.push(self.node(broker, steps[broker as usize].link, tree.nodes.get(parent as usize)));
            open.extend(behind[broker as usize].iter().rev().map(|&child| (child, node)));
        }
        tree.close(behind);
        tree
    }

    fn node(&self, broker: u32, link: u32, parent: Option<&Node>) -> Node {
        let processing_ns = self.scenario.brokers[broker as usize].processing_ns;
        let first = Node {
            broker,
            link: NONE,
            end: 0,
            children: (0, 0),
            depth: 0,
            processing_ns,
            mean_ns_per_kb: 0.0,
            variance_ns2_per_kb2: 0.0,
            fixed_ns: 0,
        };
        let (Some(parent), Some(described)) = (parent, self.scenario.links.get(link as usize)) else {
            return first;
        };
        let (mean, variance, fixed_ns) = described.believed().model();
        let here_ns = fixed_ns.saturating_add(described.propagation_ns).saturating_add(processing_ns);
        Node {
            link,
            depth: parent.depth + 1,
            mean_ns_per_kb: parent.mean_ns_per_kb + mean,
            variance_ns2_per_kb2: parent.variance_ns2_per_kb2 + variance,
            fixed_ns: parent.fixed_ns.saturating_add(here_ns),
            ..first
        }
    }
}

impl Tree {
    /// Fills in where each node's range ends, and its children.
    fn close(&mut self, behind: &[Vec<u32>]) {
        for node in (0..self.nodes.len()).rev() {
            let children = &behind[self.nodes[node].broker as usize];
            let last = children.last().map(|&child| self.node_of[child as usize]);
            let end = last.map_or(node as u32 + 1, |last| self.nodes[last as usize].end);
            let from = self.children.len() as u32;
            self.children.extend(children.iter().map(|&child| self.node_of[child as usize]));
            self.nodes[node].end = end;
            self.nodes[node].children = (from, children.len() as u32);
        }
    }
}
