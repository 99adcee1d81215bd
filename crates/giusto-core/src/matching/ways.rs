//! What is registered under one attribute of one pattern: what is worth looking up.

use super::access::{PART_BYTES_MAX, PATHS, Path};
use super::comparison::Test;
use super::event::Check;
use super::interval_tree::EMPTY;

/// Counts of entries by path, and the trees of their intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) entries: u32,
    pub(super) counts: [u32; PATHS],
    /// Bit n: some beginning of n + 1 bytes is registered. Cleared when the last one goes.
    pub(super) prefix_lengths: u32,
    pub(super) suffix_lengths: u32,
    pub(super) numbers: u32,
    pub(super) dates: u32,
    pub(super) texts: u32,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            entries: 0,
            counts: [0; PATHS],
            prefix_lengths: 0,
            suffix_lengths: 0,
            numbers: EMPTY,
            dates: EMPTY,
            texts: EMPTY,
        }
    }
}

impl Ways {
    pub(super) fn note(&mut self, path: Path, check: &Check) {
        self.counts[path as usize] += 1;
        match (path, &check.test) {
            (Path::Prefix, Test::Prefix(_, part)) => self.prefix_lengths |= length_bit(part.len()),
            (Path::Suffix, Test::Suffix(_, part)) => self.suffix_lengths |= length_bit(part.len()),
            _ => {}
        }
    }

    pub(super) fn forget(&mut self, path: Path) {
        self.counts[path as usize] -= 1;
        match path {
            Path::Prefix if self.counts[path as usize] == 0 => self.prefix_lengths = 0,
            Path::Suffix if self.counts[path as usize] == 0 => self.suffix_lengths = 0,
            _ => {}
        }
    }
}

fn length_bit(length: usize) -> u32 {
    1 << (length.clamp(1, PART_BYTES_MAX) - 1)
}

/// The lengths whose bits are set, as far as a text of `limit` bytes has them.
pub(super) fn lengths(mut bits: u32, limit: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let length = bits.trailing_zeros() as usize + 1;
        bits &= bits.wrapping_sub(1);
        (length <= PART_BYTES_MAX && length <= limit).then_some(length)
    })
}
