//! Names or patterns by their levels: which patterns cover a name, and which names a pattern covers.
//!
//! `+` and `#` are levels like any other here; the two walks give them their meaning. Either walk
//! visits only nodes that agree with the levels so far, however many others there are.

use std::collections::BTreeMap;

use super::topic::is_reserved;

const ROOT: u32 = 0;

/// A tree of levels whose ends carry a number.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    free: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    children: BTreeMap<Box<str>, u32>,
    value: Option<u32>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], free: Vec::new() }
    }
}

impl Trie {
    pub(super) fn reserve(&mut self, levels: usize) {
        self.nodes.reserve(levels);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// Gives `path` the number `value`, in place of the one it had.
    pub(super) fn insert(&mut self, path: &str, value: u32) {
        let mut at = ROOT;
        for level in path.split('/') {
            at = match self.child(at, level) {
                Some(child) => child,
                None => self.grow(at, level),
            };
        }
        self.nodes[at as usize].value = Some(value);
    }

    /// Takes `path` out, and the levels that only it used.
    pub(super) fn remove(&mut self, path: &str) {
        let mut steps = Vec::new();
        let mut at = ROOT;
        for level in path.split('/') {
            let Some(child) = self.child(at, level) else { return };
            steps.push((at, level));
            at = child;
        }
        self.nodes[at as usize].value = None;
        while let Some((parent, level)) = steps.pop() {
            let node = &self.nodes[at as usize];
            if node.value.is_some() || !node.children.is_empty() {
                return;
            }
            self.nodes[parent as usize].children.remove(level);
            self.free.push(at);
            at = parent;
        }
    }

    /// The values of the patterns that cover `name`.
    pub(super) fn covering(&self, name: &str, found: &mut Vec<u32>) {
        let levels: Vec<&str> = name.split('/').collect();
        self.walk_patterns(ROOT, &levels, found);
    }

    /// The values of the names that `pattern` covers, if few levels have to be looked at; `None` if there are more.
    pub(super) fn covered_within(&self, pattern: &str, most: usize) -> Option<Vec<u32>> {
        let levels: Vec<&str> = pattern.split('/').collect();
        let (mut found, mut open, mut looks) = (Vec::new(), vec![(ROOT, levels.as_slice())], 0);
        while let Some((at, levels)) = open.pop() {
            let node = &self.nodes[at as usize];
            looks += 1;
            let below = node.children.iter().filter(|(level, _)| at != ROOT || !is_reserved(level));
            match levels.split_first() {
                None => found.extend(node.value),
                Some((&"#", _)) => {
                    found.extend(node.value);
                    open.extend(below.take(most).map(|(_, &child)| (child, levels)));
                }
                Some((&"+", deeper)) => open.extend(below.take(most).map(|(_, &child)| (child, deeper))),
                Some((level, deeper)) => open.extend(self.child(at, level).map(|child| (child, deeper))),
            }
            if looks + open.len() > most {
                return None;
            }
        }
        Some(found)
    }

    fn child(&self, at: u32, level: &str) -> Option<u32> {
        self.nodes[at as usize].children.get(level).copied()
    }

    fn grow(&mut self, at: u32, level: &str) -> u32 {
        let child = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            self.nodes.len() as u32 - 1
        });
        self.nodes[at as usize].children.insert(level.into(), child);
        child
    }

    fn walk_patterns(&self, at: u32, levels: &[&str], found: &mut Vec<u32>) {
        let is_wild = at != ROOT || !levels.first().is_some_and(|level| is_reserved(level));
        // '#' covers the rest, also an empty rest.
        if let Some(rest) = self.child(at, "#").filter(|_| is_wild) {
            found.extend(self.nodes[rest as usize].value);
        }
        let Some((level, deeper)) = levels.split_first() else {
            found.extend(self.nodes[at as usize].value);
            return;
        };
        for child in [self.child(at, level), self.child(at, "+").filter(|_| is_wild)].into_iter().flatten() {
            self.walk_patterns(child, deeper, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::topic;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn path(levels: &'static [&'static str]) -> impl Strategy<Value = String> {
        vec(proptest::sample::select(levels), 1..5).prop_map(|levels| levels.join("/"))
    }

    fn pattern() -> impl Strategy<Value = String> {
        (path(&["a", "b", "_", "+"]), any::<bool>())
            .prop_map(|(path, rest)| if rest { format!("{path}/#") } else { path })
    }

    proptest! {
        #[test]
        fn both_walks_agree_with_the_definition(
            names in vec(path(&["a", "b", "_", "$c"]), 1..8),
            patterns in vec(pattern(), 1..8),
            removed in 0usize..4,
        ) {
            let (mut by_name, mut by_pattern) = (Trie::default(), Trie::default());
            for (i, name) in names.iter().enumerate() {
                by_name.insert(name, i as u32);
            }
            for (i, pattern) in patterns.iter().enumerate() {
                by_pattern.insert(pattern, i as u32);
            }
            let gone: Vec<&String> = patterns.iter().take(removed).collect();
            for pattern in &gone {
                by_pattern.remove(pattern);
            }
            for name in &names {
                let mut found = Vec::new();
                by_pattern.covering(name, &mut found);
                for (i, pattern) in patterns.iter().enumerate() {
                    let last = patterns.iter().rposition(|other| other == pattern) == Some(i);
                    let expected = last && !gone.contains(&pattern) && topic::matches(pattern, name);
                    prop_assert_eq!(found.contains(&(i as u32)), expected);
                }
            }
            for pattern in &patterns {
                prop_assert_eq!(by_name.covered_within(pattern, 0), None);
                let found = by_name.covered_within(pattern, usize::MAX).unwrap();
                for (i, name) in names.iter().enumerate() {
                    let last = names.iter().rposition(|other| other == name) == Some(i);
                    prop_assert_eq!(found.contains(&(i as u32)), last && topic::matches(pattern, name));
                }
            }
        }
    }
}
