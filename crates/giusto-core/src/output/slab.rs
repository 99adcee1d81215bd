//! Numbered places for queued messages, linked in queue order; freed places are used again.

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Place<T> {
    value: T,
    before: u32,
    after: u32,
}

/// Values in queue order, each reachable by its slot.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl<T: Copy> Slab<T> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), oldest: NONE, newest: NONE }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The slot of the value that has been in longest.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The slot that came in after `slot`.
    pub(super) fn after(&self, slot: u32) -> Option<u32> {
        let after = self.places[slot as usize].after;
        (after != NONE).then_some(after)
    }

    /// All slots, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.oldest(), |slot| self.after(*slot))
    }

    /// The value in an occupied `slot`.
    #[inline]
    pub(super) fn at(&self, slot: u32) -> &T {
        &self.places[slot as usize].value
    }

    /// The value in an occupied `slot`, to change.
    #[inline]
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut T {
        &mut self.places[slot as usize].value
    }

    /// Appends `value` in queue order.
    pub(super) fn push(&mut self, value: T) -> u32 {
        let place = Place { value, before: self.newest, after: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = place;
                slot
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as u32
            }
        };
        self.link(self.newest, slot);
        self.newest = slot;
        slot
    }

    /// Takes the value out of an occupied `slot`.
    pub(super) fn remove(&mut self, slot: u32) -> T {
        let Place { value, before, after } = self.places[slot as usize];
        self.link(before, after);
        if after == NONE {
            self.newest = before;
        } else {
            self.places[after as usize].before = before;
        }
        self.free.push(slot);
        value
    }

    fn link(&mut self, before: u32, after: u32) {
        if before == NONE {
            self.oldest = after;
        } else {
            self.places[before as usize].after = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_queue_order_through_removals() {
        let mut slab = Slab::new();
        let slots: Vec<u32> = (0..5).map(|value| slab.push(value)).collect();
        for gone in [2, 0, 4] {
            assert_eq!(slab.remove(slots[gone]), gone);
        }
        slab.push(7);
        let values: Vec<usize> = slab.slots().map(|slot| *slab.at(slot)).collect();
        assert_eq!((values, slab.len()), (vec![1, 3, 7], 3));
        while let Some(slot) = slab.oldest() {
            slab.remove(slot);
        }
        assert_eq!((slab.len(), slab.slots().count()), (0, 0));
    }
}
