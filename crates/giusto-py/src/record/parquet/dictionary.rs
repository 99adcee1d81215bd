//! Values of which few are different: each different one once, with a number.

use std::collections::HashMap;

/// Numbers that came last, by a few of their bits.
const RECENT: usize = 256;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The different values of a column in the order in which they came.
pub(super) struct Dictionary {
    keys: HashMap<Box<[u8]>, u32>,
    /// As a page of the file has them.
    plain: Vec<u8>,
    recent: Vec<Option<(u64, u32)>>,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self { keys: HashMap::new(), plain: Vec::new(), recent: vec![None; RECENT] }
    }
}

impl Dictionary {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// The key of a text.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        self.key(name.as_bytes(), true)
    }

    /// The key of a number, which is the same as another if all its bits are; it takes so many bytes in the file.
    #[inline]
    pub(super) fn number(&mut self, bits: u64, bytes: usize) -> u32 {
        let slot = (bits.wrapping_mul(SPREAD) >> 56) as usize % RECENT;
        match self.recent[slot] {
            Some((recent, key)) if recent == bits => key,
            _ => {
                let key = self.key(&bits.to_le_bytes()[..bytes], false);
                self.recent[slot] = Some((bits, key));
                key
            }
        }
    }

    fn key(&mut self, value: &[u8], is_text: bool) -> u32 {
        if let Some(&key) = self.keys.get(value) {
            return key;
        }
        let key = self.keys.len() as u32;
        self.keys.insert(value.into(), key);
        if is_text {
            self.plain.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        self.plain.extend_from_slice(value);
        key
    }

    /// Forgets the values and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.plain.clear();
        self.recent.fill(None);
    }
}
