//! Values of which few are different: the different ones once, and for each value which one it is.

use std::collections::HashMap;
use std::hash::Hash;

use super::bits::width_of;
use super::runs::Runs;

/// The different values of a column in the order in which they came, and which ones its rows have.
pub(super) struct Dictionary<T> {
    pub(super) values: Vec<T>,
    keys: HashMap<T, u32>,
    last: Option<(T, u32)>,
    runs: Runs,
}

impl<T: Copy + Eq + Hash> Dictionary<T> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), keys: HashMap::new(), last: None, runs: Runs::default() }
    }

    /// The number of a value.
    pub(super) fn key(&mut self, value: T) -> u32 {
        let next = self.values.len() as u32;
        let key = *self.keys.entry(value).or_insert(next);
        if key == next {
            self.values.push(value);
        }
        key
    }

    /// The next `count` rows have the value with this number.
    #[inline]
    pub(super) fn push_key(&mut self, key: u32, count: usize) {
        self.runs.push(key, count);
    }

    /// The next `count` rows have this value.
    #[inline]
    pub(super) fn push(&mut self, value: T, count: usize) {
        let key = match self.last {
            Some((last, key)) if last == value => key,
            _ => self.key(value),
        };
        self.last = Some((value, key));
        self.push_key(key, count);
    }

    /// Appends which value each row has, as the body of a page has it.
    pub(super) fn put_keys(&self, out: &mut Vec<u8>) {
        let width = width_of(self.values.len().saturating_sub(1) as u64).max(1);
        out.push(width as u8);
        self.runs.put(out, width);
    }
}
