//! The values that the range comparisons on one attribute leave: a closed interval.

use std::cmp::Ordering;

/// A closed interval; `None` is unbounded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval<T> {
    pub(super) low: Option<T>,
    pub(super) high: Option<T>,
}

impl<T: Ord + Clone> Interval<T> {
    pub(super) fn everything() -> Self {
        Self { low: None, high: None }
    }

    /// Keeps what is at least `low`.
    pub(super) fn raise(&mut self, low: &T) {
        if self.low.as_ref().is_none_or(|old| old < low) {
            self.low = Some(low.clone());
        }
    }

    /// Keeps what is at most `high`.
    pub(super) fn lower(&mut self, high: &T) {
        if self.high.as_ref().is_none_or(|old| old > high) {
            self.high = Some(high.clone());
        }
    }

    /// Whether no value can lie in it.
    pub(super) fn is_empty(&self) -> bool {
        matches!((&self.low, &self.high), (Some(low), Some(high)) if low > high)
    }

    pub(super) fn is_two_sided(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }
}

/// An unbounded upper end lies above every other.
pub(super) fn compare_high<T: Ord>(a: &Option<T>, b: &Option<T>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}
