//! Which of many intervals hold a value: a balanced search tree that knows how far its parts reach.
//!
//! An AVL tree ordered by the lower bound; every node knows the greatest upper bound below it, so a
//! query turns back where nothing can reach the value. Insertion and removal take O(log n) steps, a
//! query O(log n) for each interval it finds. Many trees share one store; a tree is the number
//! of its root.

use std::cmp::Ordering;

/// The root of a tree without intervals.
pub(super) const EMPTY: u32 = u32::MAX;

/// A closed interval; `None` is unbounded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval<T> {
    pub(super) low: Option<T>,
    pub(super) high: Option<T>,
}

impl<T: Ord + Clone> Interval<T> {
    pub(super) fn everything() -> Self {
        Self { low: None, high: None }
    }

    /// Keeps what is at least `low`.
    pub(super) fn raise(&mut self, low: &T) {
        if self.low.as_ref().is_none_or(|old| old < low) {
            self.low = Some(low.clone());
        }
    }

    /// Keeps what is at most `high`.
    pub(super) fn lower(&mut self, high: &T) {
        if self.high.as_ref().is_none_or(|old| old > high) {
            self.high = Some(high.clone());
        }
    }

    /// Whether no value can lie in it.
    pub(super) fn is_empty(&self) -> bool {
        matches!((&self.low, &self.high), (Some(low), Some(high)) if low > high)
    }

    pub(super) fn is_two_sided(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }
}

/// The nodes of all trees over one type.
#[derive(Clone, Debug)]
pub(super) struct Intervals<T> {
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    interval: Interval<T>,
    /// The greatest `high` in this subtree; `None` is unbounded.
    reach: Option<T>,
    left: u32,
    right: u32,
    entry: u32,
    height: u8,
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new() }
    }
}

/// An unbounded upper end lies above every other.
fn compare_high<T: Ord>(a: &Option<T>, b: &Option<T>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

impl<T: Ord + Clone> Intervals<T> {
    /// Adds the interval of `entry` to the tree `root`; returns the new root.
    pub(super) fn insert(&mut self, root: u32, interval: Interval<T>, entry: u32) -> u32 {
        let node =
            Node { reach: interval.high.clone(), interval, left: EMPTY, right: EMPTY, entry, height: 1 };
        let new = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot as usize] = node;
                slot
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.attach(root, new)
    }

    /// Takes the interval of `entry` out of the tree `root`; returns the new root.
    pub(super) fn remove(&mut self, root: u32, interval: &Interval<T>, entry: u32) -> u32 {
        if root == EMPTY {
            return EMPTY;
        }
        let node = &self.nodes[root as usize];
        let (left, right) = (node.left, node.right);
        match self.position(interval, entry, root) {
            Ordering::Less => self.nodes[root as usize].left = self.remove(left, interval, entry),
            Ordering::Greater => self.nodes[root as usize].right = self.remove(right, interval, entry),
            Ordering::Equal => {
                self.free.push(root);
                if left == EMPTY || right == EMPTY {
                    return if left == EMPTY { right } else { left };
                }
                let (rest, least) = self.detach_least(right);
                let heir = &mut self.nodes[least as usize];
                (heir.left, heir.right) = (left, rest);
                return self.balance(least);
            }
        }
        self.balance(root)
    }

    /// Calls `hit` with the entry of every interval that holds the value, until it returns false.
    /// `order` says how a bound stands to the value.
    pub(super) fn holding(
        &self,
        root: u32,
        order: &impl Fn(&T) -> Ordering,
        hit: &mut impl FnMut(u32) -> bool,
    ) -> bool {
        if root == EMPTY {
            return true;
        }
        let node = &self.nodes[root as usize];
        let ends_before = |high: &Option<T>| high.as_ref().is_some_and(|high| order(high).is_lt());
        if ends_before(&node.reach) {
            return true;
        }
        if !self.holding(node.left, order, hit) {
            return false;
        }
        if node.interval.low.as_ref().is_some_and(|low| order(low).is_gt()) {
            return true;
        }
        if !ends_before(&node.interval.high) && !hit(node.entry) {
            return false;
        }
        self.holding(node.right, order, hit)
    }

    /// How `(interval, entry)` stands to the node `at`.
    fn position(&self, interval: &Interval<T>, entry: u32, at: u32) -> Ordering {
        let node = &self.nodes[at as usize];
        // None sorts first, as an unbounded lower end should.
        (interval.low.cmp(&node.interval.low))
            .then_with(|| compare_high(&interval.high, &node.interval.high))
            .then(entry.cmp(&node.entry))
    }

    fn attach(&mut self, root: u32, new: u32) -> u32 {
        if root == EMPTY {
            return new;
        }
        let (left, right) = self.children(root);
        let (node, entry) = (&self.nodes[new as usize], self.nodes[new as usize].entry);
        if self.position(&node.interval, entry, root).is_lt() {
            self.nodes[root as usize].left = self.attach(left, new);
        } else {
            self.nodes[root as usize].right = self.attach(right, new);
        }
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
        let mut reach = self.nodes[at as usize].interval.high.clone();
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
        self.nodes.capacity() * size_of::<Node<T>>() + self.free.capacity() * 4
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
            bounds in vec((option::of(0i64..30), option::of(0i64..30)), 1..60),
            removed in vec(any::<prop::sample::Index>(), 0..40),
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
        for i in 0..4096i64 {
            root = tree.insert(root, Interval { low: Some(i), high: None }, i as u32);
        }
        assert!(depth(&tree, root) <= 14);
        for i in 0..3072i64 {
            root = tree.remove(root, &Interval { low: Some(i), high: None }, i as u32);
        }
        assert!(depth(&tree, root) <= 13);
    }
}
