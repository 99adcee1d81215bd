//! The entries that an event brings up, in an order that is kind to memory.
//!
//! Few are looked at as they come. Many would mean a cache miss for each, so they are marked in a
//! bitmap first and looked at in the order in which they are stored.

use std::hint::black_box;

/// Above one entry in this many, marking pays.
const SPARSE: usize = 64;
/// As many as a word of the bitmap has bits.
const BATCH: usize = u64::BITS as usize;

/// Entries to be checked; keeps its memory from event to event.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    slots: Vec<u32>,
    marks: Vec<u64>,
}

impl Candidates {
    #[inline]
    pub(super) fn add(&mut self, slot: u32) {
        self.slots.push(slot);
    }

    /// Calls `visit` with every slot, all of which are below `limit`, and forgets them. `touch` reads
    /// what `visit` will need, for a whole batch first: the misses of a batch then overlap,
    /// which they do not when each check waits for its own.
    pub(super) fn drain(&mut self, limit: usize, touch: impl Fn(u32) -> u32, mut visit: impl FnMut(u32)) {
        let mut batch = |slots: &[u32]| {
            black_box(slots.iter().fold(0, |sum, &slot| sum ^ touch(slot)));
            slots.iter().for_each(|&slot| visit(slot));
        };
        if self.slots.len() <= limit / SPARSE {
            self.slots.chunks(BATCH).for_each(batch);
            return self.slots.clear();
        }
        if self.marks.len() < limit.div_ceil(BATCH) {
            self.marks.resize(limit.div_ceil(BATCH), 0);
        }
        for slot in self.slots.drain(..) {
            self.marks[slot as usize / BATCH] |= 1 << (slot as usize % BATCH);
        }
        for (word, marks) in self.marks.iter_mut().enumerate() {
            let mut left = std::mem::take(marks);
            while left != 0 {
                self.slots.push((word * BATCH) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
            batch(&self.slots);
            self.slots.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_come_as_they_were_added_and_many_in_order() {
        let mut candidates = Candidates::default();
        for (slots, expected) in [
            (vec![700, 3], vec![700, 3]),
            (
                vec![700, 3, 64, 63, 5, 999, 1, 2, 8, 9, 10, 11, 12, 13, 14, 15],
                vec![1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 63, 64, 700, 999],
            ),
        ] {
            slots.into_iter().for_each(|slot| candidates.add(slot));
            let mut seen = Vec::new();
            candidates.drain(1000, |slot| slot, |slot| seen.push(slot));
            assert_eq!(seen, expected);
            candidates.drain(1000, |slot| slot, |slot| panic!("{slot} was forgotten"));
        }
    }
}
