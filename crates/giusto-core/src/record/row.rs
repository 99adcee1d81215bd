//! What is kept of one delivery until it is drained, and the memory that it is kept in.

use super::roster::NO_ROW;
use crate::id::Nanos;

/// The input stage has chosen it.
pub(super) const SELECTED: u8 = 1;
/// It has gone out.
pub(super) const SENT_ON: u8 = 2;
/// The bound of its subscription holds for it.
pub(super) const PROMISED: u8 = 4;
/// It came in at the subscriber itself.
pub(super) const RECEIVED: u8 = 8;
/// There is a [`Plan`] of it.
pub(super) const PLANNED: u8 = 16;

/// A delivery as it is kept until it is drained: what most have, in as many bytes as a processor moves at once.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Row {
    pub(super) sequence: u64,
    pub(super) t_sent_ns: Nanos,
    pub(super) t_ingress_ns: Nanos,
    pub(super) t_selected_ns: Nanos,
    pub(super) t_egress_ns: Nanos,
    pub(super) topic: u32,
    pub(super) publisher: u32,
    pub(super) party: u32,
    pub(super) size_bytes: u32,
    pub(super) priority: u8,
    pub(super) outcome: u8,
    pub(super) marks: u8,
}

/// What a publisher meant to do, where that is not what it did anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    pub(super) t_intended_ns: Nanos,
    pub(super) min_sep_ns: Nanos,
}

/// Memory for deliveries. Every page of it has been touched: whoever fills it never waits for the machine.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(super) rows: Vec<Row>,
    /// Of the rows that are [`PLANNED`], in their order.
    pub(super) plans: Vec<Plan>,
}

impl Rows {
    /// Room for `capacity` deliveries; none if the machine has no room for it.
    pub fn new(capacity: usize) -> Option<Self> {
        // Not zero throughout, so that it is written.
        let row = Row { topic: NO_ROW, ..Row::default() };
        let plan = Plan { min_sep_ns: 1, ..Plan::default() };
        Some(Self { rows: touched(capacity, row)?, plans: touched(capacity, plan)? })
    }

    /// How many deliveries there is room for.
    pub fn capacity(&self) -> usize {
        self.rows.capacity().min(self.plans.capacity())
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.plans.clear();
    }
}

fn touched<T: Clone>(capacity: usize, value: T) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(capacity).ok()?;
    values.resize(capacity, value);
    values.clear();
    Some(values)
}
