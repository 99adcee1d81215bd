//! The entries that an event brings up, in an order that is kind to memory.
//!
//! Few are looked at as they come. Many would mean a cache miss for each, so they are marked in a
//! bitmap first and looked at in the order in which they are stored.

/// Above one entry in this many, marking pays.
const SPARSE: usize = 64;

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

    /// Calls `visit` with every slot, all of which are below `limit`, and forgets them.
    pub(super) fn drain(&mut self, limit: usize, mut visit: impl FnMut(u32)) {
        if self.slots.len() <= limit / SPARSE {
            return self.slots.drain(..).for_each(visit);
        }
        if self.marks.len() < limit.div_ceil(64) {
            self.marks.resize(limit.div_ceil(64), 0);
        }
        for slot in self.slots.drain(..) {
            self.marks[slot as usize / 64] |= 1 << (slot % 64);
        }
        for (at, marks) in self.marks.iter_mut().enumerate() {
            let mut left = std::mem::take(marks);
            while left != 0 {
                visit(at as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
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
            candidates.drain(1000, |slot| seen.push(slot));
            assert_eq!(seen, expected);
            candidates.drain(1000, |slot| panic!("{slot} was forgotten"));
        }
    }
}
