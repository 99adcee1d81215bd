//! The weights of all topics, with their sum and greatest common divisor kept up to date.

use std::collections::BTreeMap;

use crate::error::Invalid;
use crate::id::TopicId;

/// Largest weight of a topic.
pub const WEIGHT_MAX: u32 = 65_535;

/// Weights by topic; 0 for a topic that has none.
#[derive(Debug, Default)]
pub(super) struct Weights {
    weights: Vec<u32>,
    sum: u64,
    divisor: u32,
    /// How many topics have each weight, without those that have none.
    counts: BTreeMap<u32, u32>,
}

impl Weights {
    /// Whether a topic may weigh that much.
    pub(super) fn check(weight: u32) -> Result<(), Invalid> {
        if (1..=WEIGHT_MAX).contains(&weight) {
            return Ok(());
        }
        Err(Invalid::new("weight", weight, format!("a whole number from 1 to {WEIGHT_MAX}")))
    }

    pub(super) fn reserve(&mut self, topics: usize) {
        self.weights.reserve(topics);
    }

    /// Cells of a cycle if `topic` weighed `weight`.
    pub(super) fn cells_with(&self, topic: TopicId, weight: u32) -> u64 {
        let (sum, divisor) = self.totals(topic, weight);
        sum / u64::from(divisor.max(1))
    }

    pub(super) fn set(&mut self, topic: TopicId, weight: u32) {
        (self.sum, self.divisor) = self.totals(topic, weight);
        self.weights.resize(self.weights.len().max(topic.index() + 1), 0);
        let before = std::mem::replace(&mut self.weights[topic.index()], weight);
        if weight > 0 {
            *self.counts.entry(weight).or_default() += 1;
        }
        if let Some(count) = self.counts.get_mut(&before) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&before);
            }
        }
    }

    /// How many different weights there are at most if another topic weighed `weight`.
    pub(super) fn distinct_with(&self, weight: u32) -> u64 {
        self.counts.len() as u64 + u64::from(!self.counts.contains_key(&weight))
    }

    /// The greatest common divisor of all weights, 1 if there is none.
    pub(super) fn divisor(&self) -> u32 {
        self.divisor.max(1)
    }

    /// All weights without their common divisor.
    pub(super) fn reduced(&self) -> Vec<u32> {
        self.weights.iter().map(|weight| weight / self.divisor()).collect()
    }

    /// A topic that had no weight only adds to the sum; else the divisor must be found anew.
    fn totals(&self, topic: TopicId, weight: u32) -> (u64, u32) {
        let before = self.weights.get(topic.index()).copied().unwrap_or(0);
        let sum = self.sum - u64::from(before) + u64::from(weight);
        if before == 0 {
            return (sum, gcd(self.divisor, weight));
        }
        let alone = self.counts.get(&before) == Some(&1);
        let mut others = self.counts.keys().copied().filter(|&other| other != before || !alone);
        let joined = |divisor, other| if divisor == 1 { Err(1) } else { Ok(gcd(divisor, other)) };
        (sum, others.try_fold(weight, joined).unwrap_or_else(|divisor| divisor))
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn sum_and_divisor_stay_true(changes in proptest::collection::vec((0u32..6, 0u32..40), 1..50)) {
            let mut weights = Weights::default();
            for (topic, weight) in changes {
                let foreseen = weights.cells_with(TopicId(topic), weight);
                weights.set(TopicId(topic), weight);
                let divisor = weights.weights.iter().fold(0, |divisor, &weight| gcd(divisor, weight));
                proptest::prop_assert_eq!(weights.divisor, divisor);
                let cells: u64 = weights.reduced().iter().map(|&weight| u64::from(weight)).sum();
                proptest::prop_assert_eq!(foreseen, cells);
                let present: std::collections::BTreeSet<_> = weights.weights.iter().filter(|&&w| w > 0).collect();
                let counted: std::collections::BTreeSet<_> = weights.counts.keys().collect();
                proptest::prop_assert_eq!(&counted, &present);
                proptest::prop_assert_eq!(weights.distinct_with(40), counted.len() as u64 + 1);
            }
        }
    }
}
