//! Which topic has the least tag: a heap with four children per entry.
//!
//! An entry is one number, the tag with the topic's number below it, so that ties go to the lower
//! topic and a comparison is one subtraction. The least of four children is found without a branch:
//! which child it will be cannot be predicted, and a wrong guess costs more than the comparison.

const CHILDREN: usize = 4;
const TOPIC_BITS: u32 = 24;
/// Numbers of topics that an entry has room for.
pub(super) const TOPICS_MAX: u32 = 1 << TOPIC_BITS;

/// Tags and topics, least tag first. Topics are below 2²⁴ and tags below 2¹⁰⁴.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<u128>,
}

fn join(tag: u128, topic: u32) -> u128 {
    tag << TOPIC_BITS | u128::from(topic)
}

impl Heap {
    /// The least tag and its topic.
    #[inline]
    pub(super) fn least(&self) -> Option<(u128, u32)> {
        self.entries.first().map(|entry| (entry >> TOPIC_BITS, *entry as u32 & ((1 << TOPIC_BITS) - 1)))
    }

    /// Adds a topic.
    #[inline]
    pub(super) fn push(&mut self, tag: u128, topic: u32) {
        let entry = join(tag, topic);
        let mut place = self.entries.len();
        self.entries.push(entry);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    /// Takes the least out.
    #[inline]
    pub(super) fn pop(&mut self) {
        match self.entries.pop() {
            Some(last) if !self.entries.is_empty() => self.sink(last),
            _ => {}
        }
    }

    /// Takes a topic out, if it is in.
    pub(super) fn remove(&mut self, topic: u32) {
        let is_it = |entry: &u128| *entry as u32 & (TOPICS_MAX - 1) == topic;
        if self.entries.iter().any(is_it) {
            // A sorted list is a heap.
            self.entries.retain(|entry| !is_it(entry));
            self.entries.sort_unstable();
        }
    }

    /// Puts another in the place of the least.
    #[inline]
    pub(super) fn replace(&mut self, tag: u128, topic: u32) {
        self.sink(join(tag, topic));
    }

    #[inline]
    fn sink(&mut self, entry: u128) {
        let entries = &mut self.entries[..];
        let mut place = 0;
        loop {
            let first = CHILDREN * place + 1;
            let child = match entries.get(first..first + CHILDREN) {
                Some(four) => {
                    let left = usize::from(four[1] < four[0]);
                    let right = 2 + usize::from(four[3] < four[2]);
                    first + left + (right - left) * usize::from(four[right] < four[left])
                }
                None => match (first..entries.len()).min_by_key(|&place| entries[place]) {
                    Some(child) => child,
                    None => break,
                },
            };
            if entry <= entries[child] {
                break;
            }
            entries[place] = entries[child];
            place = child;
        }
        entries[place] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0u8..5, 0u128..9, 0u32..9), 0..300)) {
            let (mut heap, mut sorted) = (Heap::default(), Vec::new());
            for (action, tag, topic) in steps {
                match action {
                    0 if !sorted.is_empty() => { heap.pop(); sorted.remove(0); }
                    2 => { heap.remove(topic); sorted.retain(|&(_, other)| other != topic); }
                    1 if !sorted.is_empty() => { heap.replace(tag, topic); sorted[0] = (tag, topic); }
                    _ => { heap.push(tag, topic); sorted.push((tag, topic)); }
                }
                sorted.sort_unstable();
                prop_assert_eq!(heap.least(), sorted.first().copied());
            }
        }
    }
}
