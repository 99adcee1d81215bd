//! An event as the matcher sees it: the attributes that some filter mentions, by number.

use std::hash::{Hash, Hasher};

use super::comparison::{Operand, Test};
use super::hash::{Folded, Table};
use crate::frame::attributes::Attributes;

/// A predicate whose attribute has a number.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) attribute: u32,
    pub(super) test: Test,
}

/// The checks of a conjunction; the first two, which decide most often, lie where it lies.
#[derive(Clone, Debug)]
pub(super) enum Checks {
    One([Check; 1]),
    Two([Check; 2]),
    More([Check; 2], Box<[Check]>),
    None,
}

impl From<Vec<Check>> for Checks {
    fn from(mut checks: Vec<Check>) -> Self {
        let rest = checks.split_off(checks.len().min(2));
        match <[Check; 1]>::try_from(checks) {
            Ok(one) => Self::One(one),
            Err(checks) => match <[Check; 2]>::try_from(checks) {
                Ok(two) if rest.is_empty() => Self::Two(two),
                Ok(two) => Self::More(two, rest.into_boxed_slice()),
                Err(_) => Self::None,
            },
        }
    }
}

impl Checks {
    #[inline]
    fn first(&self) -> &[Check] {
        match self {
            Self::One(one) => one,
            Self::Two(two) | Self::More(two, _) => two,
            Self::None => &[],
        }
    }

    /// The attribute of the first check.
    #[inline]
    pub(super) fn first_attribute(&self) -> u32 {
        self.first().first().map_or(0, |check| check.attribute)
    }

    #[inline]
    fn rest(&self) -> &[Check] {
        match self {
            Self::More(_, rest) => rest,
            _ => &[],
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Check> + Clone {
        self.first().iter().chain(self.rest())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(self.rest())
    }
}

/// Attribute names of all filters, numbered; a number is used again when its name is forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    numbers: Table<Name, u32>,
    known: Vec<(Name, u32)>,
    free: Vec<u32>,
}

/// A name that hashes as its bytes do.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Name(std::sync::Arc<[u8]>);

impl std::borrow::Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Names {
    /// The number of `name`, which is used once more.
    pub(super) fn acquire(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name.as_bytes()) {
            self.known[number as usize].1 += 1;
            return number;
        }
        let name = Name(name.as_bytes().into());
        let number = match self.free.pop() {
            Some(number) => {
                self.known[number as usize] = (name.clone(), 1);
                number
            }
            None => {
                self.known.push((name.clone(), 1));
                self.known.len() as u32 - 1
            }
        };
        self.numbers.insert(name, number);
        number
    }

    /// `number` is used once less; its name is forgotten with the last use.
    pub(super) fn release(&mut self, number: u32) {
        let (name, uses) = &mut self.known[number as usize];
        *uses -= 1;
        if *uses == 0 {
            self.numbers.remove(&*name.0);
            *name = Name::default();
            self.free.push(number);
        }
    }

    fn number(&self, name: &[u8]) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn bytes(&self) -> usize {
        let text: usize = self.known.iter().map(|(name, _)| name.0.len() + 16).sum();
        text + self.known.capacity() * size_of::<(Name, u32)>()
            + self.numbers.capacity() * size_of::<(Name, u32)>()
    }
}

/// The values of one event; keeps its memory from event to event.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    operands: Vec<(u32, Operand<'a>)>,
    /// By attribute number: 1 + the place in `operands`, or 0. An event has at most 255 attributes.
    places: Vec<u8>,
}

impl<'a> Event<'a> {
    /// Takes in the attributes that have a number.
    pub(super) fn load(&mut self, names: &Names, attributes: Attributes<'a>) {
        if self.places.len() < names.known.len() {
            self.places.resize(names.known.len(), 0);
        }
        for attribute in attributes.iter() {
            if let Some(number) = names.number(attribute.name()) {
                self.operands.push((number, Operand::from(attribute.value())));
                self.places[number as usize] = self.operands.len() as u8;
            }
        }
    }

    /// Forgets the event and gives the memory back, for one that borrows from elsewhere.
    pub(super) fn unload(mut self) -> Event<'static> {
        for (number, _) in &self.operands {
            self.places[*number as usize] = 0;
        }
        self.operands.clear();
        // An empty vector collected in place keeps its memory.
        let operands = self.operands.into_iter().map(|(number, _)| (number, Operand::Date(0))).collect();
        Event { operands, places: self.places }
    }

    pub(super) fn operands(&self) -> &[(u32, Operand<'a>)] {
        &self.operands
    }

    #[inline]
    fn operand(&self, attribute: u32) -> Option<Operand<'a>> {
        let place = *self.places.get(attribute as usize)?;
        self.operands.get(usize::from(place).wrapping_sub(1)).map(|(_, operand)| *operand)
    }

    /// Whether every check holds.
    #[inline]
    pub(super) fn satisfies(&self, checks: &Checks) -> bool {
        self.satisfies_all(checks.first()) && self.satisfies_all(checks.rest())
    }

    /// The same for checks that lie in one piece.
    #[inline]
    pub(super) fn satisfies_all(&self, checks: &[Check]) -> bool {
        checks.iter().all(|check| self.operand(check.attribute).is_some_and(|value| check.test.holds(value)))
    }
}

/// Hash of what one access path looks for; `kind` keeps paths apart.
pub(super) fn signature(path: (u32, u32, u8), content: &impl Hash) -> u64 {
    let mut hash = Folded::default();
    hash.write_u64(u64::from(path.0) << 32 | u64::from(path.1));
    hash.write_u8(path.2);
    content.hash(&mut hash);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::attributes::{Value, encode};

    #[test]
    fn an_event_that_is_unloaded_keeps_its_memory_and_nothing_else() {
        let mut names = Names::default();
        let (price, volume) = (names.acquire("price"), names.acquire("volume"));
        let mut block = Vec::new();
        let values = ["price", "other"].map(|name| (name.to_owned(), Value::Int(7)));
        encode(&values.into_iter().collect(), &mut block).unwrap();

        let mut event = Event::default();
        event.load(&names, Attributes::decode(&block).unwrap());
        assert!(event.operand(price).is_some() && event.operand(volume).is_none());
        let capacity = event.operands.capacity();
        let event = event.unload();
        assert!(event.operand(price).is_none());
        assert_eq!(event.operands.capacity(), capacity);
    }

    #[test]
    fn a_check_stays_within_half_a_cache_line() {
        assert!(size_of::<Check>() <= 32);
        assert!(size_of::<Checks>() <= 88);
    }

    #[test]
    fn a_number_is_used_again_after_the_last_release() {
        let mut names = Names::default();
        let first = names.acquire("price");
        assert_eq!(names.acquire("price"), first);
        names.release(first);
        assert_eq!(names.number(b"price"), Some(first));
        names.release(first);
        assert_eq!(names.number(b"price"), None);
        assert_eq!(names.acquire("volume"), first);
    }
}
