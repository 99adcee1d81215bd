//! What the numbers of a broker mean: each name gets a slot that stays its own while a message waits.
//!
//! A broker uses a number again for another name. Messages that wait in an inbox must keep the name
//! they came with, so they carry a slot instead of the number. A slot is given to another name only
//! when no number means it, no message waits with it, and more than [`KEPT`] slots are in use.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// As many names are remembered although no number means them any more: reports go on with them.
const KEPT: usize = 4_096;
/// A number from here on is a protocol error: the table of numbers would grow without bound.
const NUMBERS_MAX: u32 = 1 << 22;
const NOBODY: u32 = u32::MAX;

/// Names by the numbers of the broker.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The slot of each number, or `NOBODY`.
    numbers: Vec<u32>,
    slots: Vec<Slot>,
    by_name: HashMap<Arc<str>, u32>,
    /// Slots that no number means, oldest first, each once; some of them may be in use again.
    retired: VecDeque<u32>,
}

#[derive(Debug)]
struct Slot {
    name: Arc<str>,
    number: Option<u32>,
    waiting: u32,
    is_retired: bool,
}

/// What has become of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The slot of the name.
    pub(crate) slot: u32,
    /// The slot is new for this name; whoever knew it under another must forget that.
    pub(crate) is_new: bool,
    /// The name that the slot had until now, if it had another.
    pub(crate) old: Option<Arc<str>>,
}

impl Names {
    /// `number` means `name` from here on; none if the number is beyond the limit.
    pub(crate) fn tell(&mut self, number: u32, name: &str) -> Option<Told> {
        if number >= NUMBERS_MAX {
            return None;
        }
        let at = number as usize;
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, NOBODY);
        }
        let told = match self.by_name.get(name) {
            Some(&slot) => Told { slot, is_new: false, old: None },
            None => self.make(name),
        };
        if self.numbers[at] != told.slot {
            self.retire(self.numbers[at]);
            if let Some(elsewhere) = self.slots[told.slot as usize].number.replace(number) {
                self.numbers[elsewhere as usize] = NOBODY;
            }
            self.numbers[at] = told.slot;
        }
        Some(told)
    }

    /// The slot that `number` means.
    #[inline]
    pub(crate) fn slot(&self, number: u32) -> Option<u32> {
        self.numbers.get(number as usize).copied().filter(|&slot| slot != NOBODY)
    }

    /// The name of a slot.
    pub(crate) fn name(&self, slot: u32) -> Option<&Arc<str>> {
        self.slots.get(slot as usize).map(|slot| &slot.name)
    }

    /// One more message waits with this slot.
    #[inline]
    pub(crate) fn hold(&mut self, slot: u32) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            slot.waiting += 1;
        }
    }

    /// One message less waits with this slot.
    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            slot.waiting -= 1;
        }
    }

    /// No number means anything any more: another connection begins.
    pub(crate) fn forget_numbers(&mut self) {
        for slot in std::mem::take(&mut self.numbers) {
            self.retire(slot);
        }
    }

    fn retire(&mut self, slot: u32) {
        if let Some(old) = self.slots.get_mut(slot as usize) {
            old.number = None;
            if !std::mem::replace(&mut old.is_retired, true) {
                self.retired.push_back(slot);
            }
        }
    }

    fn make(&mut self, name: &str) -> Told {
        let name: Arc<str> = name.into();
        let fresh = Slot { name: name.clone(), number: None, waiting: 0, is_retired: false };
        let (slot, old) = match self.unused() {
            Some(slot) => {
                let old = std::mem::replace(&mut self.slots[slot as usize], fresh);
                self.by_name.remove(&old.name);
                (slot, Some(old.name))
            }
            None => {
                self.slots.push(fresh);
                (self.slots.len() as u32 - 1, None)
            }
        };
        self.by_name.insert(name, slot);
        Told { slot, is_new: true, old }
    }

    /// A slot for another name, if there are enough of them.
    fn unused(&mut self) -> Option<u32> {
        if self.slots.len() < KEPT {
            return None;
        }
        for _ in 0..self.retired.len() {
            let slot = self.retired.pop_front()?;
            let Slot { number, waiting, ref mut is_retired, .. } = self.slots[slot as usize];
            match (number, waiting) {
                (Some(_), _) => *is_retired = false,
                (None, 0) => return Some(slot),
                (None, _) => self.retired.push_back(slot),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_used_again_leaves_the_old_name_to_what_waits() {
        let mut names = Names::default();
        let old = names.tell(3, "a").unwrap().slot;
        names.hold(old);
        let new = names.tell(3, "b").unwrap().slot;
        assert_ne!(old, new);
        assert_eq!(names.slot(3), Some(new));
        assert_eq!(names.name(old).unwrap().as_ref(), "a");
    }

    #[test]
    fn a_name_keeps_its_slot_under_another_number() {
        let mut names = Names::default();
        let slot = names.tell(3, "a").unwrap().slot;
        assert_eq!(names.tell(5, "a"), Some(Told { slot, is_new: false, old: None }));
        assert_eq!((names.slot(3), names.slot(5)), (None, Some(slot)));
        names.forget_numbers();
        assert_eq!(names.slot(5), None);
        assert_eq!(names.tell(0, "a"), Some(Told { slot, is_new: false, old: None }));
    }

    #[test]
    fn slots_are_used_again_when_there_are_many_and_nothing_waits() {
        let mut names = Names::default();
        let held = names.tell(0, "held").unwrap().slot;
        names.hold(held);
        for i in 0..3 * KEPT {
            names.tell(0, &format!("name {i}")).unwrap();
        }
        assert_eq!(names.slots.len(), KEPT);
        assert_eq!(names.by_name.len(), KEPT);
        assert_eq!(names.name(held).unwrap().as_ref(), "held");
    }

    #[test]
    fn names_that_come_and_go_are_remembered_once() {
        let mut names = Names::default();
        for i in 0..3 * KEPT {
            names.tell(0, ["a", "b"][i % 2]).unwrap();
        }
        assert_eq!(names.slots.len(), 2);
        assert!(names.retired.len() <= 2);
    }

    #[test]
    fn a_number_beyond_the_limit_is_refused() {
        assert_eq!(Names::default().tell(NUMBERS_MAX, "a"), None);
    }
}
