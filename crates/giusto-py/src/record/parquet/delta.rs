//! Numbers that grow: what each is above the one before, in blocks that are packed (`DELTA_BINARY_PACKED`).

use super::bits::{put_packed, width_of};
use super::thrift::{put_varint, zigzag};

const BLOCK: usize = 128;
const MINIS: usize = 4;
const MINI: usize = BLOCK / MINIS;
/// As many numbers of so many bits as a block has can be added to one of [`PLAIN_BITS`], and nothing turns over.
const SMALL_BITS: u32 = 53;
const PLAIN_BITS: u32 = 62;

/// The numbers of one column, packed as far as they make whole blocks.
pub(super) struct Deltas {
    count: usize,
    first: i64,
    last: i64,
    span: Option<(i64, i64)>,
    packed: Vec<u8>,
    /// The beginning of a block: what each number is above the one before, and the number before the first.
    waiting: [i64; BLOCK],
    filled: usize,
    least: i64,
    before: i64,
}

impl Default for Deltas {
    fn default() -> Self {
        Self {
            count: 0,
            first: 0,
            last: 0,
            span: None,
            packed: Vec::new(),
            waiting: [0; BLOCK],
            filled: 0,
            least: i64::MAX,
            before: 0,
        }
    }
}

impl Deltas {
    /// The next numbers.
    #[inline]
    pub(super) fn extend(&mut self, mut values: impl ExactSizeIterator<Item = i64>) {
        while values.len() > 0 {
            if self.count == 0 {
                self.begin(values.next().unwrap_or(0));
                continue;
            }
            let (from, some) = (self.filled, values.len().min(BLOCK - self.filled));
            let (mut last, mut least) = (self.last, self.least);
            for (delta, value) in self.waiting[from..from + some].iter_mut().zip(&mut values) {
                *delta = value.wrapping_sub(last);
                least = least.min(*delta);
                last = value;
            }
            (self.last, self.least) = (last, least);
            self.filled += some;
            self.count += some;
            if self.filled == BLOCK {
                self.put_block();
            }
        }
    }

    fn begin(&mut self, first: i64) {
        (self.count, self.first, self.last, self.before) = (1, first, first, first);
        self.span = Some((first, first));
    }

    /// Packs what waits.
    fn put_block(&mut self) {
        // What fills up the last part is as small as can be.
        self.waiting[self.filled..].fill(self.least);
        let above = self.waiting.map(|delta| delta.wrapping_sub(self.least) as u64);
        let mut widths = [0; MINIS];
        let width = |mini: &[u64]| width_of(mini.iter().fold(0, |all, value| all | value));
        widths.iter_mut().zip(above.chunks(MINI)).for_each(|(place, mini)| *place = width(mini));
        put_varint(&mut self.packed, zigzag(self.least));
        self.packed.extend(widths.map(|width| width as u8));
        for (mini, width) in above.chunks(MINI).zip(widths).take(self.filled.div_ceil(MINI)) {
            if width > 0 {
                put_packed(&mut self.packed, mini, width);
            }
        }
        self.widen(widths.iter().copied().max().unwrap_or(0));
        (self.before, self.least, self.filled) = (self.last, i64::MAX, 0);
    }

    /// Takes the numbers of a block into the span.
    fn widen(&mut self, width: u32) {
        let Some((low, high)) = self.span else { return };
        let is_small = width <= SMALL_BITS && self.before.unsigned_abs() >> PLAIN_BITS == 0;
        let is_rising = is_small && self.least >= 0 && self.least >> SMALL_BITS == 0;
        // What rises, and cannot turn over, has its greatest number in the end.
        self.span = match is_rising {
            true => Some((low, high.max(self.last))),
            false => self.waiting[..self.filled].iter().fold((self.before, Some((low, high))), grown).1,
        };
    }

    /// Packs what is left, and no number comes after.
    pub(super) fn finish(&mut self) {
        if self.filled > 0 {
            self.put_block();
        }
    }

    /// What comes before [`Self::packed`].
    pub(super) fn put_header(&self, out: &mut Vec<u8>) {
        put_varint(out, BLOCK as u64);
        put_varint(out, MINIS as u64);
        put_varint(out, self.count as u64);
        put_varint(out, zigzag(self.first));
    }

    pub(super) fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// The least and the greatest.
    pub(super) const fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Becomes the same as others.
    pub(super) fn follow(&mut self, other: &Self) {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clone_from(&other.packed);
        *self = Self { packed, ..*other };
    }

    /// Forgets the numbers and keeps the memory.
    pub(super) fn clear(&mut self) {
        (self.count, self.filled, self.least, self.span) = (0, 0, i64::MAX, None);
        self.packed.clear();
    }
}

/// The number after the one before, and the span with it.
fn grown((before, span): (i64, Option<(i64, i64)>), delta: &i64) -> (i64, Option<(i64, i64)>) {
    let value = before.wrapping_add(*delta);
    (value, span.map(|(low, high)| (low.min(value), high.max(value))))
}
