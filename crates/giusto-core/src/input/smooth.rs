//! A cycle with the shares of `twrr` whose cells are spread: at each step every topic earns its
//! weight, the richest is served (the first of equals) and pays the sum of all weights.
//!
//! The worst gap of a light topic shrinks to nearly its fair distance (GUARANTEES 1.6), and (T3),
//! (T4) hold with the gaps of this table.

/// Topics of one weight: they are served in turn, so only the next of them can be the richest.
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

/// Cells of one cycle. `weights` are divided by their greatest common divisor.
pub(super) fn cells(weights: &[u32]) -> Vec<u32> {
    let mut classes = classes(weights);
    let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    (1..=total).filter_map(|step| Some(richest(&mut classes, step, total)?.serve())).collect()
}

fn richest(classes: &mut [Class], step: i64, total: i64) -> Option<&mut Class> {
    classes
        .iter_mut()
        .max_by_key(|class| (class.credit(step, total), std::cmp::Reverse(class.topics[class.next])))
}

fn classes(weights: &[u32]) -> Vec<Class> {
    let mut classes: std::collections::BTreeMap<u32, Vec<u32>> = std::collections::BTreeMap::new();
    for (topic, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0) {
        classes.entry(weight).or_default().push(topic as u32);
    }
    let class = |(weight, topics)| Class { weight: i64::from(weight), topics, next: 0, served: 0 };
    classes.into_iter().map(class).collect()
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
            proptest::prop_assert_eq!(cells(&weights), credit_by_credit(&weights));
        }
    }
}
