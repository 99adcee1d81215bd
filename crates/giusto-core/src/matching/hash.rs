//! A small hash with no seed: the same tables on every machine and in every run.
//!
//! Whoever crafts collisions gets a longer list, as with equal constants; no result depends on it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table whose layout depends on nothing but its history.
pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Folded>>;

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Multiplies to 128 bits and folds the halves together, eight bytes at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded(u64);

impl Default for Folded {
    fn default() -> Self {
        Self(0x2545_F491_4F6C_DD1D)
    }
}

impl Hasher for Folded {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(ODD);
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(17);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((word, after)) = rest.split_first_chunk() {
            self.write_u64(u64::from_le_bytes(*word));
            rest = after;
        }
        let tail = rest.iter().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
        self.write_u64(tail ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
