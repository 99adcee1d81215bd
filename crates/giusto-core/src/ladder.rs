//! A set of small integers that finds the next member at or after a place in a handful of steps.
//!
//! Level 0 has one bit per integer; each higher level has one bit per word below it that is not
//! zero. A search climbs until a word has something to the right and then descends, so that it
//! costs at most two steps per level: four levels hold 16 million integers.

const WORD_BITS: usize = 64;

/// Levels at most: 64⁵ integers.
const LEVELS_MAX: usize = 5;

/// A bounded set of `usize` with successor search.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// All levels, lowest first.
    words: Vec<u64>,
    levels: usize,
    /// Where each level starts in `words`, and where the last one ends.
    starts: [usize; LEVELS_MAX + 1],
}

impl Ladder {
    /// An empty set that can hold `0..capacity`, which is at most 2³⁰.
    pub fn new(capacity: usize) -> Self {
        let (mut starts, mut levels) = ([0; LEVELS_MAX + 1], 0);
        let mut words = capacity.max(1);
        while levels == 0 || words > 1 {
            words = words.div_ceil(WORD_BITS);
            starts[levels + 1] = starts[levels] + words;
            levels += 1;
        }
        Self { words: vec![0; starts[levels]], levels, starts }
    }

    /// How many integers fit, rounded up to whole words.
    pub fn capacity(&self) -> usize {
        self.starts[1] * WORD_BITS
    }

    /// Makes room for `0..capacity`, keeping the members.
    pub fn reserve(&mut self, capacity: usize) {
        if capacity <= self.capacity() {
            return;
        }
        let mut larger = Self::new(capacity.max(2 * self.capacity()));
        let mut member = self.next(0);
        while let Some(at) = member {
            larger.insert(at);
            member = self.next(at + 1);
        }
        *self = larger;
    }

    /// Adds `at`, which must be below the capacity.
    #[inline]
    pub fn insert(&mut self, at: usize) {
        let mut at = at;
        for &start in &self.starts[..self.levels] {
            self.words[start + at / WORD_BITS] |= 1 << (at % WORD_BITS);
            at /= WORD_BITS;
        }
    }

    /// Takes `at` out, which must be below the capacity.
    ///
    /// All levels are written, needed or not: whether a word becomes empty cannot be predicted, and
    /// a wrong guess costs more than the writes.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        let (mut at, mut gone) = (at, 1);
        for &start in &self.starts[..self.levels] {
            let word = &mut self.words[start + at / WORD_BITS];
            *word &= !(gone << (at % WORD_BITS));
            gone = u64::from(*word == 0);
            at /= WORD_BITS;
        }
    }

    /// Whether `at` is a member.
    pub fn contains(&self, at: usize) -> bool {
        at < self.capacity() && self.words[at / WORD_BITS] & (1 << (at % WORD_BITS)) != 0
    }

    /// The least member that is not below `from`.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for level in 0..self.levels {
            let word = at / WORD_BITS;
            if self.starts[level] + word >= self.starts[level + 1] {
                return None;
            }
            let right = self.words[self.starts[level] + word] & (u64::MAX << (at % WORD_BITS));
            if right != 0 {
                return Some(self.descend(level, word * WORD_BITS + right.trailing_zeros() as usize));
            }
            at = word + 1;
        }
        None
    }

    #[inline]
    fn descend(&self, level: usize, at: usize) -> usize {
        (0..level).rev().fold(at, |at, lower| {
            at * WORD_BITS + self.words[self.starts[lower] + at].trailing_zeros() as usize
        })
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.last().is_none_or(|&top| top == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(
            capacity in 1usize..300_000,
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let mut ladder = Ladder::new(capacity);
            let mut set = BTreeSet::new();
            for (add, at, from) in steps {
                let (at, from) = (at.index(capacity), from.index(capacity));
                if add { ladder.insert(at); set.insert(at); } else { ladder.remove(at); set.remove(&at); }
                prop_assert_eq!(ladder.next(from), set.range(from..).next().copied());
                prop_assert_eq!(ladder.is_empty(), set.is_empty());
                prop_assert_eq!(ladder.contains(at), set.contains(&at));
            }
        }
    }

    #[test]
    fn growing_keeps_the_members() {
        let mut ladder = Ladder::new(10);
        ladder.insert(3);
        ladder.reserve(100_000);
        ladder.insert(99_999);
        assert_eq!((ladder.next(0), ladder.next(4), ladder.next(100_000)), (Some(3), Some(99_999), None));
    }
}
