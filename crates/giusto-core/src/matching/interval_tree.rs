//! Which of many intervals hold a value: a balanced search tree that knows how far its parts reach.
//!
//! An AVL tree ordered by the lower bound, with a block of up to 32 neighbours in each node; every
//! node knows the greatest upper bound below it, so a query turns back where nothing can reach the
//! value. Insertion and removal take O(log n) steps, a query O(log n) for each block in which it
//! finds something. Many trees share one store; a tree is the number of its root.

use std::cmp::Ordering;

use super::interval::{Interval, compare_high};

/// The root of a tree without intervals.
pub(super) const EMPTY: u32 = u32::MAX;
/// How many intervals a node holds before it is split.
const BLOCK: usize = 32;

/// The nodes of all trees over one type.
#[derive(Clone, Debug)]
pub(super) struct Intervals<T> {
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    /// Ascending, and between what lies left and what lies right of this node.
    block: Vec<Item<T>>,
    /// The greatest upper bound in the block; `None` is unbounded.
    block_reach: Option<T>,
    /// The same for the whole subtree.
    reach: Option<T>,
    left: u32,
    right: u32,
    height: u8,
}

#[derive(Clone, Debug)]
struct Item<T> {
    interval: Interval<T>,
    entry: u32,
}

impl<T: Ord> Item<T> {
    fn order(&self, other: &Self) -> Ordering {
        // None sorts first, as an unbounded lower end should.
        (self.interval.low.cmp(&other.interval.low))
            .then_with(|| compare_high(&self.interval.high, &other.interval.high))
            .then(self.entry.cmp(&other.entry))
    }
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new() }
    }
}

impl<T: Ord + Clone> Node<T> {
    fn new(block: Vec<Item<T>>) -> Self {
        let mut node = Self { block, block_reach: None, reach: None, left: EMPTY, right: EMPTY, height: 1 };
        node.measure();
        node
    }

    /// Recomputes how far the block reaches.
    fn measure(&mut self) {
        let highs = self.block.iter().map(|item| &item.interval.high);
        self.block_reach = highs.max_by(|a, b| compare_high(a, b)).cloned().flatten();
        self.reach = self.block_reach.clone();
    }

    /// On which side of the block `item` belongs; `Equal` for within.
    fn side(&self, item: &Item<T>) -> Ordering {
        match (self.block.first(), self.block.last()) {
            (Some(first), _) if item.order(first).is_lt() => Ordering::Less,
            (_, Some(last)) if item.order(last).is_gt() => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

impl<T: Ord + Clone> Intervals<T> {
    /// Adds the interval of `entry` to the tree `root`; returns the new root.
    pub(super) fn insert(&mut self, root: u32, interval: Interval<T>, entry: u32) -> u32 {
        self.place(root, Item { interval, entry })
    }

    /// Takes the interval of `entry` out of the tree `root`; returns the new root.
    pub(super) fn remove(&mut self, root: u32, interval: &Interval<T>, entry: u32) -> u32 {
        self.take(root, &Item { interval: interval.clone(), entry })
    }

    /// Calls `hit` with the entry of every interval that holds the value, until it returns false.
    /// `order` says how a bound stands to the value.
    pub(super) fn holding(
        &self,
        root: u32,
        order: &impl Fn(&T) -> Ordering,
        hit: &mut impl FnMut(u32) -> bool,
    ) -> bool {
        let Some(node) = self.nodes.get(root as usize) else { return true };
        let ends_before = |high: &Option<T>| high.as_ref().is_some_and(|high| order(high).is_lt());
        let begins_after = |low: &Option<T>| low.as_ref().is_some_and(|low| order(low).is_gt());
        if ends_before(&node.reach) {
            return true;
        }
        if !self.holding(node.left, order, hit) {
            return false;
        }
        if !ends_before(&node.block_reach) {
            for item in &node.block {
                if begins_after(&item.interval.low) {
                    return true;
                }
                if !ends_before(&item.interval.high) && !hit(item.entry) {
                    return false;
                }
            }
        } else if node.block.first().is_some_and(|first| begins_after(&first.interval.low)) {
            return true;
        }
        self.holding(node.right, order, hit)
    }

    fn place(&mut self, root: u32, item: Item<T>) -> u32 {
        if root == EMPTY {
            return self.grow(vec![item]);
        }
        let (left, right) = self.children(root);
        let node = &mut self.nodes[root as usize];
        match node.side(&item) {
            Ordering::Less if left != EMPTY => {
                let left = self.place(left, item);
                self.nodes[root as usize].left = left;
            }
            Ordering::Greater if right != EMPTY => {
                let right = self.place(right, item);
                self.nodes[root as usize].right = right;
            }
            _ => {
                let at = node.block.partition_point(|other| other.order(&item).is_lt());
                node.block.insert(at, item);
                if node.block.len() > BLOCK {
                    let upper = node.block.split_off(BLOCK / 2);
                    let new = self.grow(upper);
                    let right = self.attach_least(right, new);
                    self.nodes[root as usize].right = right;
                }
                self.nodes[root as usize].measure();
            }
        }
        self.balance(root)
    }

    fn take(&mut self, root: u32, item: &Item<T>) -> u32 {
        if root == EMPTY {
            return EMPTY;
        }
        let (left, right) = self.children(root);
        let node = &mut self.nodes[root as usize];
        match node.side(item) {
            Ordering::Less => {
                let left = self.take(left, item);
                self.nodes[root as usize].left = left;
            }
            Ordering::Greater => {
                let right = self.take(right, item);
                self.nodes[root as usize].right = right;
            }
            Ordering::Equal => {
                if let Ok(at) = node.block.binary_search_by(|other| other.order(item)) {
                    node.block.remove(at);
                }
                if node.block.is_empty() {
                    return self.drop_node(root);
                }
                if node.block.len() < node.block.capacity() / 4 {
                    node.block.shrink_to_fit();
                }
                node.measure();
            }
        }
        self.balance(root)
    }

    fn grow(&mut self, block: Vec<Item<T>>) -> u32 {
        let node = Node::new(block);
        match self.free.pop() {
            Some(slot) => {
                self.nodes[slot as usize] = node;
                slot
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    fn drop_node(&mut self, at: u32) -> u32 {
        let (left, right) = self.children(at);
        self.nodes[at as usize].block = Vec::new();
        self.free.push(at);
        if left == EMPTY || right == EMPTY {
            return if left == EMPTY { right } else { left };
        }
        let (rest, least) = self.detach_least(right);
        let heir = &mut self.nodes[least as usize];
        (heir.left, heir.right) = (left, rest);
        self.balance(least)
    }

    fn attach_least(&mut self, root: u32, new: u32) -> u32 {
        if root == EMPTY {
            return new;
        }
        let left = self.attach_least(self.nodes[root as usize].left, new);
        self.nodes[root as usize].left = left;
        self.balance(root)
    }

    fn detach_least(&mut self, root: u32) -> (u32, u32) {
        let (left, right) = self.children(root);
        if left == EMPTY {
            return (right, root);
        }
        let (rest, least) = self.detach_least(left);
        self.nodes[root as usize].left = rest;
        (self.balance(root), least)
    }

    fn children(&self, at: u32) -> (u32, u32) {
        let node = &self.nodes[at as usize];
        (node.left, node.right)
    }

    fn height(&self, at: u32) -> u8 {
        if at == EMPTY { 0 } else { self.nodes[at as usize].height }
    }

    /// Recomputes what `at` knows about its subtree.
    fn refresh(&mut self, at: u32) {
        let (left, right) = self.children(at);
        let mut reach = self.nodes[at as usize].block_reach.clone();
        for child in [left, right] {
            if child != EMPTY && compare_high(&self.nodes[child as usize].reach, &reach).is_gt() {
                reach = self.nodes[child as usize].reach.clone();
            }
        }
        let height = 1 + self.height(left).max(self.height(right));
        let node = &mut self.nodes[at as usize];
        (node.reach, node.height) = (reach, height);
    }

    fn balance(&mut self, at: u32) -> u32 {
        let (left, right) = self.children(at);
        let (left_height, right_height) = (self.height(left), self.height(right));
        if left_height > right_height + 1 {
            let (outer, inner) = self.children(left);
            if self.height(inner) > self.height(outer) {
                self.nodes[at as usize].left = self.rotate_left(left);
            }
            return self.rotate_right(at);
        }
        if right_height > left_height + 1 {
            let (inner, outer) = self.children(right);
            if self.height(inner) > self.height(outer) {
                self.nodes[at as usize].right = self.rotate_right(right);
            }
            return self.rotate_left(at);
        }
        self.refresh(at);
        at
    }

    fn rotate_left(&mut self, at: u32) -> u32 {
        let pivot = self.nodes[at as usize].right;
        self.nodes[at as usize].right = self.nodes[pivot as usize].left;
        self.nodes[pivot as usize].left = at;
        self.refresh(at);
        self.refresh(pivot);
        pivot
    }

    fn rotate_right(&mut self, at: u32) -> u32 {
        let pivot = self.nodes[at as usize].left;
        self.nodes[at as usize].left = self.nodes[pivot as usize].right;
        self.nodes[pivot as usize].right = at;
        self.refresh(at);
        self.refresh(pivot);
        pivot
    }

    /// Bytes of the store itself.
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.nodes.iter().map(|node| node.block.capacity()).sum();
        self.nodes.capacity() * size_of::<Node<T>>()
            + blocks * size_of::<Item<T>>()
            + self.free.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn depth(tree: &Intervals<i64>, root: u32) -> usize {
        if root == EMPTY {
            return 0;
        }
        let (left, right) = tree.children(root);
        1 + depth(tree, left).max(depth(tree, right))
    }

    proptest! {
        #[test]
        fn a_query_finds_what_a_scan_finds(
            bounds in vec((option::of(0i64..30), option::of(0i64..30)), 1..300),
            removed in vec(any::<prop::sample::Index>(), 0..300),
        ) {
            let mut tree = Intervals::default();
            let mut root = EMPTY;
            let mut live: Vec<Option<Interval<i64>>> = Vec::new();
            for (i, (low, high)) in bounds.iter().enumerate() {
                let interval = Interval { low: *low, high: *high };
                root = tree.insert(root, interval.clone(), i as u32);
                live.push(Some(interval));
            }
            for index in removed {
                let i = index.index(live.len());
                if let Some(interval) = live[i].take() {
                    root = tree.remove(root, &interval, i as u32);
                }
            }
            for value in -1..31 {
                let mut found = Vec::new();
                tree.holding(root, &|bound| bound.cmp(&value), &mut |entry| { found.push(entry); true });
                found.sort_unstable();
                let holds = |interval: &Interval<i64>| {
                    interval.low.is_none_or(|low| low <= value) && interval.high.is_none_or(|high| high >= value)
                };
                let expected: Vec<u32> = (0..live.len() as u32)
                    .filter(|&i| live[i as usize].as_ref().is_some_and(holds))
                    .collect();
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn the_tree_stays_balanced_when_bounds_arrive_in_order() {
        let mut tree = Intervals::default();
        let mut root = EMPTY;
        for i in 0..65_536i64 {
            root = tree.insert(root, Interval { low: Some(i), high: None }, i as u32);
        }
        assert!(depth(&tree, root) <= 14);
        for i in 0..49_152i64 {
            root = tree.remove(root, &Interval { low: Some(i), high: None }, i as u32);
        }
        assert!(depth(&tree, root) <= 13);
    }
}
