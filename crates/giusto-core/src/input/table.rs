//! A cyclic table of cells, and how it is made: a few cells at a time.

use crate::effort::Effort;
use crate::input::smooth::Order;

/// Different weights that cost as much as a topic when the next cell is chosen.
const CLASSES_PER_UNIT: usize = 16;

/// A cycle of cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Topic of each cell.
    pub(super) topics: Vec<u32>,
    /// The next cell of the same topic, cyclically.
    pub(super) follow: Vec<u32>,
    /// The cells of each topic, ascending, one topic after the other.
    places: Vec<u32>,
    /// Where those of each topic begin, and where the last ones end.
    firsts: Vec<u32>,
}

impl Table {
    /// The first cell of `topic` after `cell`, cyclically; one before 0 is before the first. `None` if
    /// the topic has no cell.
    #[inline]
    pub(super) fn after(&self, topic: u32, cell: u32) -> Option<u32> {
        let topic = topic as usize;
        let (first, end) = (*self.firsts.get(topic)?, *self.firsts.get(topic + 1)?);
        let own = &self.places[first as usize..end as usize];
        let next = own.partition_point(|&place| place < cell.wrapping_add(1));
        own.get(next).or(own.first()).copied()
    }
}

/// A table in the making.
#[derive(Debug)]
pub(super) struct Loom {
    /// Cells of each topic.
    weights: Vec<u32>,
    /// Cells that each topic has got so far.
    filled: Vec<u32>,
    order: Order,
    table: Table,
}

impl Loom {
    /// For weights that have no common divisor; 0 for a topic that has no cell.
    pub(super) fn new(weights: Vec<u32>) -> Self {
        let table = Table { firsts: vec![0], ..Table::default() };
        Self { weights, filled: Vec::new(), order: Order::default(), table }
    }

    /// Goes on as far as the effort goes; whether the table is made.
    pub(super) fn weave(&mut self, effort: &mut Effort) -> bool {
        while !effort.is_spent() {
            effort.spend(1);
            if let Some(&weight) = self.weights.get(self.filled.len()) {
                self.add_topic(weight);
                continue;
            }
            let Some(topic) = self.order.next() else { return true };
            effort.spend(self.order.classes() / CLASSES_PER_UNIT);
            self.add_cell(topic);
        }
        false
    }

    /// What has been made.
    pub(super) fn into_table(self) -> Table {
        self.table
    }

    fn add_topic(&mut self, weight: u32) {
        let (topic, first) = (self.filled.len() as u32, self.table.firsts[self.filled.len()]);
        self.filled.push(0);
        self.table.firsts.push(first + weight);
        if weight > 0 {
            self.order.add(topic, weight);
        }
        if self.filled.len() == self.weights.len() {
            let cells = (first + weight) as usize;
            self.table.topics.reserve_exact(cells);
            (self.table.follow, self.table.places) = (vec![0; cells], vec![0; cells]);
        }
    }

    fn add_cell(&mut self, topic: u32) {
        let table = &mut self.table;
        let cell = table.topics.len() as u32;
        table.topics.push(topic);
        let (first, count) = (table.firsts[topic as usize] as usize, &mut self.filled[topic as usize]);
        let at = first + *count as usize;
        *count += 1;
        table.places[at] = cell;
        // The last one leads to the first.
        table.follow[cell as usize] = table.places[first];
        if at > first {
            table.follow[table.places[at - 1] as usize] = cell;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn is_the_same_in_whatever_portions_it_is_made(
            weights in proptest::collection::vec(0u32..9, 1..12),
            portions in proptest::collection::vec(1usize..20, 1..200),
        ) {
            let (mut whole, mut parts) = (Loom::new(weights.clone()), Loom::new(weights.clone()));
            proptest::prop_assert!(whole.weave(&mut Effort::ALL.clone()));
            let _ = portions.iter().find(|&&units| parts.weave(&mut Effort::units(units)));
            parts.weave(&mut Effort::ALL.clone());
            let (whole, parts) = (whole.into_table(), parts.into_table());
            proptest::prop_assert_eq!(&whole.topics, &parts.topics);
            proptest::prop_assert_eq!(&whole.follow, &parts.follow);
            for (cell, &topic) in whole.topics.iter().enumerate() {
                let after = (1..=whole.topics.len()).map(|n| (cell + n) % whole.topics.len());
                let next = after.into_iter().find(|&place| whole.topics[place] == topic).unwrap();
                proptest::prop_assert_eq!(whole.follow[cell], next as u32);
                proptest::prop_assert_eq!(whole.after(topic, cell as u32), Some(next as u32));
            }
            for (topic, &weight) in weights.iter().enumerate() {
                let cells = whole.topics.iter().filter(|&&other| other == topic as u32).count();
                proptest::prop_assert_eq!(cells, weight as usize);
            }
        }
    }
}
