//! One column: values, and for an optional one a bit per value in the layout of Arrow's validity bitmap.

use std::mem;

/// Values of which some are missing. A missing value is `T::default()` with its bit 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optional<T> {
    values: Vec<T>,
    /// Bit `n % 8` of byte `n / 8` tells whether value `n` is there.
    valid: Vec<u8>,
    missing: usize,
}

impl<T: Copy + Default> Optional<T> {
    #[inline]
    pub(super) fn push(&mut self, value: Option<T>) {
        let bit = self.values.len() % 8;
        if bit == 0 {
            self.valid.push(0);
        }
        if let Some(byte) = self.valid.last_mut() {
            *byte |= u8::from(value.is_some()) << bit;
        }
        self.missing += usize::from(value.is_none());
        self.values.push(value.unwrap_or_default());
    }

    pub(super) fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), valid: Vec::with_capacity(rows.div_ceil(8)), missing: 0 }
    }

    /// So many rows of one value.
    pub(super) fn all(value: T, rows: usize) -> Self {
        let mut valid = vec![u8::MAX; rows / 8];
        valid.extend((rows % 8 > 0).then(|| (1 << (rows % 8)) - 1));
        Self { values: vec![value; rows], valid, missing: 0 }
    }

    pub(super) fn try_reserve(&mut self, rows: usize) -> bool {
        self.values.try_reserve_exact(rows).is_ok() && self.valid.try_reserve_exact(rows.div_ceil(8)).is_ok()
    }

    pub(super) fn take(&mut self) -> Self {
        Self {
            values: take(&mut self.values),
            valid: take(&mut self.valid),
            missing: mem::take(&mut self.missing),
        }
    }

    /// Value `row`, if there is one.
    pub fn value(&self, row: usize) -> Option<T> {
        let present = self.valid.get(row / 8)? >> (row % 8) & 1 == 1;
        self.values.get(row).copied().filter(|_| present)
    }

    /// Values, bits, and how many values are missing.
    pub fn into_parts(self) -> (Vec<T>, Vec<u8>, usize) {
        (self.values, self.valid, self.missing)
    }
}

impl<T: Copy + Default> Extend<Option<T>> for Optional<T> {
    fn extend<I: IntoIterator<Item = Option<T>>>(&mut self, items: I) {
        let mut items = items.into_iter();
        while self.values.len() % 8 != 0 {
            let Some(item) = items.next() else { return };
            self.push(item);
        }
        // Eight at a time: one look for room, and one whole byte.
        loop {
            let (mut eight, mut byte, mut count) = ([T::default(); 8], 0u8, 0);
            for (place, item) in eight.iter_mut().zip(&mut items) {
                byte |= u8::from(item.is_some()) << count;
                *place = item.unwrap_or_default();
                count += 1;
            }
            self.values.extend_from_slice(&eight[..count]);
            self.valid.extend((count > 0).then_some(byte));
            self.missing += count - byte.count_ones() as usize;
            if count < eight.len() {
                return;
            }
        }
    }
}

/// Empties `values`: hands over the buffer if most of it is used, a copy of the right size if not.
///
/// The one who pushes finds room for as many values as before, without asking for memory.
pub(super) fn take<T: Copy>(values: &mut Vec<T>) -> Vec<T> {
    let capacity = values.capacity();
    if values.len() > capacity / 2 {
        return mem::replace(values, Vec::with_capacity(capacity));
    }
    let copy = values.as_slice().to_vec();
    values.clear();
    copy
}
