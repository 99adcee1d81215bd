//! A binary heap whose entries are slots and can be moved or taken out wherever they are.

const ABSENT: u32 = u32::MAX;

/// Slots ordered by key, least first; each slot is in it at most once.
#[derive(Clone, Debug)]
pub(super) struct SlotHeap<K> {
    entries: Vec<(K, u32)>,
    /// Where each slot is in `entries`.
    places: Vec<u32>,
}

impl<K: Copy + Ord> SlotHeap<K> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), places: Vec::new() }
    }

    /// The least key and its slot.
    #[inline]
    pub(super) fn first(&self) -> Option<(K, u32)> {
        self.entries.first().copied()
    }

    /// The least of all other keys, and its slot.
    #[inline]
    pub(super) fn second(&self) -> Option<(K, u32)> {
        let children = self.entries.get(1..self.entries.len().min(3))?;
        children.iter().min_by_key(|entry| entry.0).copied()
    }

    /// Puts `slot` in, or moves it to where `key` belongs.
    pub(super) fn set(&mut self, slot: u32, key: K) {
        let index = slot as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, ABSENT);
        }
        let place = self.places[index] as usize;
        if place == ABSENT as usize {
            self.entries.push((key, slot));
            self.up(self.entries.len() - 1);
        } else {
            self.entries[place].0 = key;
            self.settle(place);
        }
    }

    /// Takes `slot` out, if it is in.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(&place) = self.places.get(slot as usize) else { return };
        if place == ABSENT {
            return;
        }
        let place = place as usize;
        self.places[slot as usize] = ABSENT;
        self.entries.swap_remove(place);
        if let Some(&(_, moved)) = self.entries.get(place) {
            self.places[moved as usize] = place as u32;
            self.settle(place);
        }
    }

    fn settle(&mut self, place: usize) {
        if place > 0 && self.entries[place].0 < self.entries[(place - 1) / 2].0 {
            self.up(place);
        } else {
            self.down(place);
        }
    }

    fn up(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.entries[parent].0 <= entry.0 {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn down(&mut self, mut place: usize) {
        let entry = self.entries[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.entries.len() {
                break;
            }
            if child + 1 < self.entries.len() && self.entries[child + 1].0 < self.entries[child].0 {
                child += 1;
            }
            if entry.0 <= self.entries[child].0 {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (K, u32)) {
        self.entries[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..20, prop::option::of(0i64..10)), 0..200)) {
            let (mut heap, mut model) = (SlotHeap::new(), BTreeMap::new());
            for (slot, key) in steps {
                match key {
                    Some(key) => { heap.set(slot, (key, slot)); model.insert(slot, (key, slot)); }
                    None => { heap.remove(slot); model.remove(&slot); }
                }
                let mut sorted: Vec<_> = model.iter().map(|(slot, key)| (*key, *slot)).collect();
                sorted.sort_unstable();
                prop_assert_eq!(heap.first(), sorted.first().copied());
                prop_assert_eq!(heap.second(), sorted.get(1).copied());
            }
        }
    }
}
