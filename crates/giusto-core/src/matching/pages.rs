//! Entries by number in pages of a fixed size: adding one never moves the others, however many there are.

use std::collections::BTreeMap;

const PAGE: u32 = 64;

/// Entries by number. A page is there as long as one of its entries is.
#[derive(Clone, Debug)]
pub(super) struct Pages<T>(BTreeMap<u32, Page<T>>);

#[derive(Clone, Debug)]
struct Page<T> {
    entries: Box<[Option<T>]>,
    used: u32,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Pages<T> {
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.0.get(&(number / PAGE))?.entries.get((number % PAGE) as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.0.get_mut(&(number / PAGE))?.entries.get_mut((number % PAGE) as usize)?.as_mut()
    }

    /// Puts an entry in, in the place of what was there.
    pub(super) fn insert(&mut self, number: u32, entry: T) {
        let blank = || Page { entries: (0..PAGE).map(|_| None).collect(), used: 0 };
        let page = self.0.entry(number / PAGE).or_insert_with(blank);
        page.used += u32::from(page.entries[(number % PAGE) as usize].replace(entry).is_none());
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let page = self.0.get_mut(&(number / PAGE))?;
        let entry = page.entries[(number % PAGE) as usize].take()?;
        page.used -= 1;
        if page.used == 0 {
            self.0.remove(&(number / PAGE));
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are_while_others_come_and_go() {
        let mut pages = Pages::default();
        pages.insert(7, 7u32);
        let place = std::ptr::from_ref(pages.get(7).unwrap());
        for number in 0..100_000 {
            pages.insert(number, number);
        }
        pages.insert(u32::MAX, u32::MAX);
        assert_eq!(std::ptr::from_ref(pages.get(7).unwrap()), place);
        for number in (0..100_000).chain([u32::MAX]) {
            assert_eq!(pages.remove(number), Some(number));
            assert!(pages.get(number).is_none() && pages.get_mut(number).is_none());
        }
        assert!(pages.0.is_empty());
    }
}
