//! Lists of entries by signature: what an event looks up instead of trying every filter.
//!
//! A list is contiguous, because an event reads it from end to end; a posting knows its place in
//! the list, so that taking it out costs the same however long the list is. A list of one, the
//! usual case for selective filters, costs no allocation of its own.

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

#[derive(Clone, Debug)]
enum List {
    One(Link),
    Many(Vec<Link>),
}

#[derive(Clone, Copy, Debug)]
struct Link {
    entry: u32,
    posting: u32,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    signature: u64,
    /// Place in the list.
    place: u32,
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

impl List {
    fn links(&self) -> &[Link] {
        match self {
            Self::One(link) => std::slice::from_ref(link),
            Self::Many(links) => links,
        }
    }

    fn push(&mut self, link: Link) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, link]),
            Self::Many(links) => links.push(link),
        }
    }

    /// Puts the last link in `place`; false if none is left.
    fn swap_remove(&mut self, place: u32) -> bool {
        let Self::Many(links) = self else { return false };
        links.swap_remove(place as usize);
        match links.as_slice() {
            &[last] => *self = Self::One(last),
            _ if links.len() < links.capacity() / 4 => links.shrink_to(links.capacity() / 2),
            _ => {}
        }
        true
    }
}

impl Postings {
    /// Puts `entry` into the list of `signature`; its other postings are `chain`.
    pub(super) fn add(&mut self, entry: u32, path: Path, signature: u64, chain: Chain) -> Chain {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        let link = Link { entry, posting: slot };
        let list = self.lists.entry(signature).and_modify(|list| list.push(link)).or_insert(List::One(link));
        let place = list.links().len() as u32 - 1;
        let posting = Posting { signature, place, sibling: chain.0, path };
        match self.slots.get_mut(slot as usize) {
            Some(vacant) => *vacant = posting,
            None => self.slots.push(posting),
        }
        Chain(slot)
    }

    /// Takes the first posting of `chain` out of its list; returns its path and the rest of the chain.
    pub(super) fn remove(&mut self, chain: Chain) -> Option<(Path, Chain)> {
        let posting = *self.slots.get(chain.0 as usize)?;
        let list = self.lists.get_mut(&posting.signature)?;
        if !list.swap_remove(posting.place) {
            self.lists.remove(&posting.signature);
        } else if let Some(moved) = list.links().get(posting.place as usize) {
            self.slots[moved.posting as usize].place = posting.place;
        }
        self.free.push(chain.0);
        Some((posting.path, Chain(posting.sibling)))
    }

    /// How many entries the list of `signature` has.
    pub(super) fn length(&self, signature: u64) -> u32 {
        self.lists.get(&signature).map_or(0, |list| list.links().len() as u32)
    }

    /// Some entry in the list of `signature`.
    pub(super) fn first(&self, signature: u64) -> Option<u32> {
        self.lists.get(&signature)?.links().first().map(|link| link.entry)
    }

    /// Calls `visit` with every entry in the list of `signature`.
    #[inline]
    pub(super) fn each(&self, signature: u64, visit: &mut impl FnMut(u32)) {
        if let Some(list) = self.lists.get(&signature) {
            list.links().iter().for_each(|link| visit(link.entry));
        }
    }

    /// Whether no list has an entry.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        let links = |list: &List| match list {
            List::One(_) => 0,
            List::Many(links) => links.capacity() * size_of::<Link>(),
        };
        let lists: usize = self.lists.values().map(links).sum();
        let table = self.lists.capacity() * (size_of::<(u64, List)>() + 1);
        lists + table + self.slots.capacity() * size_of::<Posting>() + self.free.capacity() * 4
    }
}
