//! A cycle with the shares of `twrr` whose cells are spread: at each step every topic earns its
//! weight, the richest is served (the first of equals) and pays the sum of all weights.
//!
//! The worst gap of a light topic shrinks to nearly its fair distance (GUARANTEES 1.6), and (T3),
//! (T4) hold with the gaps of this table.

/// Topics of one weight: they are served in turn, so only the next of them can be the richest.
#[derive(Debug)]
struct Class {
    weight: i64,
    topics: Vec<u32>,
    next: usize,
    /// How often `topics[next]` has been served.
    served: i64,
}

impl Class {
    fn credit(&self, step: i64, total: i64) -> i64 {
        step * self.weight - self.served * total
    }

    fn serve(&mut self) -> u32 {
        let topic = self.topics[self.next];
        self.next += 1;
        if self.next == self.topics.len() {
            self.next = 0;
            self.served += 1;
        }
        topic
    }
}

/// The topics of the cells of one cycle, one after the other.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Ascending by weight.
    classes: Vec<Class>,
    total: i64,
    step: i64,
}

impl Order {
    /// A topic takes part, whose number is above those before it; weights have no common divisor. No cell has been asked for.
    pub(super) fn add(&mut self, topic: u32, weight: u32) {
        let weight = i64::from(weight);
        self.total += weight;
        match self.classes.binary_search_by_key(&weight, |class| class.weight) {
            Ok(place) => self.classes[place].topics.push(topic),
            Err(place) => {
                let class = Class { weight, topics: vec![topic], next: 0, served: 0 };
                self.classes.insert(place, class);
            }
        }
    }

    /// How many different weights there are.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }
}

impl Iterator for Order {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.step == self.total {
            return None;
        }
        self.step += 1;
        let (step, total) = (self.step, self.total);
        let richest = self
            .classes
            .iter_mut()
            .max_by_key(|class| (class.credit(step, total), std::cmp::Reverse(class.topics[class.next])));
        richest.map(Class::serve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit_by_credit(weights: &[u32]) -> Vec<u32> {
        let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
        let mut credits = vec![0; weights.len()];
        (0..total)
            .map(|_| {
                credits.iter_mut().zip(weights).for_each(|(credit, &weight)| *credit += i64::from(weight));
                let best = (0..weights.len()).max_by_key(|&k| (credits[k], std::cmp::Reverse(k))).unwrap();
                credits[best] -= total;
                best as u32
            })
            .collect()
    }

    proptest::proptest! {
        #[test]
        fn is_the_richest_at_every_step(weights in proptest::collection::vec(1u32..20, 1..12)) {
            let mut order = Order::default();
            weights.iter().enumerate().for_each(|(topic, &weight)| order.add(topic as u32, weight));
            proptest::prop_assert_eq!(order.collect::<Vec<_>>(), credit_by_credit(&weights));
        }
    }
}
