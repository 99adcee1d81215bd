//! Keeps the bytes of queued frames: fixed-size slots in chunks that are never moved.
//!
//! A slot belongs to one of 20 size classes (64 bytes, then two per power of two to 64 KiB), is
//! taken from a free list and returned to it, so that nothing is allocated once the arena is warm
//! and growing never copies what is there. Larger byte strings get an allocation of their own.

/// Slot sizes; from 128 bytes on a slot wastes a third at most.
const SIZES: [usize; 20] = [
    64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
    49152, 65536,
];
const LARGE: usize = SIZES.len();
const CHUNK_BYTES: usize = 1 << 17;
const INDEX_BITS: u32 = 27;

/// Slots of one size class at most.
pub(crate) const SLOTS_MAX: usize = 1 << INDEX_BITS;

/// Where a byte string lies: size class in the upper bits, number within the class below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// A slot of nothing.
    pub(crate) const VACANT: Self = Self(u32::MAX);

    fn new(class: usize, index: usize) -> Self {
        Self((class as u32) << INDEX_BITS | index as u32)
    }

    fn class(self) -> usize {
        (self.0 >> INDEX_BITS) as usize
    }

    fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }
}

#[derive(Debug)]
struct Class {
    size: usize,
    /// log2 of the slots per chunk.
    shift: u32,
    chunks: Vec<Box<[u8]>>,
    used: usize,
    free: Vec<u32>,
}

impl Class {
    fn new(size: usize) -> Self {
        let shift = (CHUNK_BYTES / size).max(1).ilog2();
        Self { size, shift, chunks: Vec::new(), used: 0, free: Vec::new() }
    }

    fn take(&mut self) -> usize {
        if let Some(index) = self.free.pop() {
            return index as usize;
        }
        if self.used >> self.shift == self.chunks.len() {
            self.chunks.push(vec![0; self.size << self.shift].into_boxed_slice());
        }
        self.used += 1;
        self.used - 1
    }

    fn place(&self, index: usize) -> (usize, usize) {
        (index >> self.shift, (index & ((1 << self.shift) - 1)) * self.size)
    }
}

/// Storage for byte strings of any length below 4 GiB.
#[derive(Debug)]
pub struct Arena {
    classes: Vec<Class>,
    /// Size class of a length, by the number of 64-byte units it needs.
    class_of: Vec<u8>,
    large: Vec<Box<[u8]>>,
    large_free: Vec<u32>,
}

impl Default for Arena {
    fn default() -> Self {
        let units = SIZES[LARGE - 1] / 64;
        let class_of =
            (0..=units).map(|unit| SIZES.iter().position(|&size| size >= unit * 64).unwrap_or(0) as u8);
        Self {
            class_of: class_of.collect(),
            classes: SIZES.iter().map(|&size| Class::new(size)).collect(),
            large: Vec::new(),
            large_free: Vec::new(),
        }
    }
}

impl Arena {
    /// Copies `bytes` in.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Slot {
        let Some(&class) = self.class_of.get(bytes.len().div_ceil(64)) else {
            return self.put_large(bytes);
        };
        let class = usize::from(class);
        let index = self.classes[class].take();
        let slot = Slot::new(class, index);
        self.bytes_mut(slot, bytes.len()).copy_from_slice(bytes);
        slot
    }

    fn put_large(&mut self, bytes: &[u8]) -> Slot {
        let index = self.large_free.pop().map_or(self.large.len(), |index| index as usize);
        if index == self.large.len() {
            self.large.push(bytes.into());
        } else {
            self.large[index] = bytes.into();
        }
        Slot::new(LARGE, index)
    }

    /// The first `len` bytes of a slot.
    #[inline]
    pub fn bytes(&self, slot: Slot, len: usize) -> &[u8] {
        if slot.class() == LARGE {
            return &self.large[slot.index()][..len];
        }
        let class = &self.classes[slot.class()];
        let (chunk, offset) = class.place(slot.index());
        &class.chunks[chunk][offset..offset + len]
    }

    /// The first `len` bytes of a slot, to be written.
    #[inline]
    pub fn bytes_mut(&mut self, slot: Slot, len: usize) -> &mut [u8] {
        if slot.class() == LARGE {
            return &mut self.large[slot.index()][..len];
        }
        let class = &mut self.classes[slot.class()];
        let (chunk, offset) = class.place(slot.index());
        &mut class.chunks[chunk][offset..offset + len]
    }

    /// Gives a slot back.
    #[inline]
    pub fn free(&mut self, slot: Slot) {
        if slot.class() == LARGE {
            self.large[slot.index()] = Box::default();
            self.large_free.push(slot.index() as u32);
        } else {
            self.classes[slot.class()].free.push(slot.index() as u32);
        }
    }

    /// Bytes of memory held, used or not.
    pub fn held_bytes(&self) -> usize {
        let slots: usize = self
            .classes
            .iter()
            .map(|class| class.chunks.len() * (class.size << class.shift) + 4 * class.free.capacity())
            .sum();
        slots + self.large.iter().map(|bytes| bytes.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_in_stays_until_it_is_freed(
            steps in prop::collection::vec((0usize..200_000, any::<u8>(), any::<bool>()), 1..60),
        ) {
            let mut arena = Arena::default();
            let mut kept: Vec<(Slot, Vec<u8>)> = Vec::new();
            for (len, fill, free) in steps {
                let bytes = vec![fill; len];
                kept.push((arena.put(&bytes), bytes));
                if free {
                    let (slot, _) = kept.swap_remove(kept.len() / 2);
                    arena.free(slot);
                }
                for (slot, bytes) in &kept {
                    prop_assert_eq!(arena.bytes(*slot, bytes.len()), &bytes[..]);
                }
            }
        }
    }

    #[test]
    fn freed_slots_are_used_again() {
        let mut arena = Arena::default();
        for _ in 0..10_000 {
            let slots: Vec<Slot> = (0..4).map(|n| arena.put(&[n; 184])).collect();
            slots.into_iter().for_each(|slot| arena.free(slot));
        }
        assert!(arena.held_bytes() <= CHUNK_BYTES + 64);
    }
}
