//! Of which messages records are kept: of all, or of one in so many, the same ones at every node.

use crate::error::Invalid;

/// Highest divisor.
pub const ONE_OF_MAX: u32 = 1 << 30;

/// The choice by a hash of who published a message and its number, so that all hops of a message are kept or none.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    one_of: u32,
    /// Hashes up to this one are kept.
    highest: u64,
}

impl Sampling {
    /// One message in `one_of`; 1 keeps all.
    pub fn new(one_of: u32) -> Result<Self, Invalid> {
        if !(1..=ONE_OF_MAX).contains(&one_of) {
            return Err(Invalid::new("sampling", one_of, format!("1 (all messages) to {ONE_OF_MAX}")));
        }
        Ok(Self { one_of, highest: u64::MAX / u64::from(one_of) })
    }

    /// Whether some are left out.
    #[inline]
    pub const fn is_on(&self) -> bool {
        self.one_of > 1
    }

    /// Whether the message `sequence` of a publisher whose name has this hash is kept.
    #[inline]
    pub const fn keeps(&self, name_hash: u64, sequence: u64) -> bool {
        mixed(name_hash ^ mixed(sequence)) <= self.highest
    }
}

/// FNV-1a: the same on every machine.
pub fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// SplitMix64's finisher: neighbouring numbers become unlike.
const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
