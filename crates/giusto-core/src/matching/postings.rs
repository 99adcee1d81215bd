//! Lists of entries by signature: what an event looks up instead of trying every filter.
//!
//! The lists are doubly linked through one store, so that adding and taking out cost the same
//! however long they are, and a list of one costs no allocation of its own.

use super::access::Path;
use super::hash::Table;

const NONE: u32 = u32::MAX;

/// All lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Postings {
    lists: Table<u64, List>,
    slots: Vec<Posting>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    signature: u64,
    entry: u32,
    next: u32,
    previous: u32,
    /// The next posting of the same entry.
    sibling: u32,
    path: Path,
}

/// The postings of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

impl Chain {
    pub(super) const EMPTY: Self = Self(NONE);
}

impl Postings {
    /// Puts `entry` into the list of `signature`; its other postings are `chain`.
    pub(super) fn add(&mut self, entry: u32, path: Path, signature: u64, chain: Chain) -> Chain {
        let list = self.lists.entry(signature).or_insert(List { head: NONE, length: 0 });
        let posting = Posting { signature, entry, next: list.head, previous: NONE, sibling: chain.0, path };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = posting;
                slot
            }
            None => {
                self.slots.push(posting);
                self.slots.len() as u32 - 1
            }
        };
        list.head = slot;
        list.length += 1;
        if posting.next != NONE {
            self.slots[posting.next as usize].previous = slot;
        }
        Chain(slot)
    }

    /// Takes the first posting of `chain` out of its list; returns its path and the rest of the chain.
    pub(super) fn remove(&mut self, chain: Chain) -> Option<(Path, Chain)> {
        let posting = *self.slots.get(chain.0 as usize)?;
        if posting.next != NONE {
            self.slots[posting.next as usize].previous = posting.previous;
        }
        if posting.previous != NONE {
            self.slots[posting.previous as usize].next = posting.next;
        }
        if let Some(list) = self.lists.get_mut(&posting.signature) {
            list.length -= 1;
            if posting.previous == NONE {
                list.head = posting.next;
            }
            if list.length == 0 {
                self.lists.remove(&posting.signature);
            }
        }
        self.free.push(chain.0);
        Some((posting.path, Chain(posting.sibling)))
    }

    /// How many entries the list of `signature` has.
    pub(super) fn length(&self, signature: u64) -> u32 {
        self.lists.get(&signature).map_or(0, |list| list.length)
    }

    /// Calls `visit` with every entry in the list of `signature`.
    #[inline]
    pub(super) fn each(&self, signature: u64, visit: &mut impl FnMut(u32)) {
        let mut at = self.lists.get(&signature).map_or(NONE, |list| list.head);
        while let Some(posting) = self.slots.get(at as usize) {
            at = posting.next;
            visit(posting.entry);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let list = size_of::<(u64, List)>() + 1;
        self.slots.capacity() * size_of::<Posting>() + self.free.capacity() * 4 + self.lists.capacity() * list
    }
}
