//! What is kept of one delivery until it is drained, and the memory that it is kept in.

use super::roster::NO_ROW;
use crate::id::Nanos;

/// The input stage has chosen it.
pub const SELECTED: u8 = 1;
/// It has gone out.
pub const SENT_ON: u8 = 2;
/// The bound of its subscription holds for it.
pub const PROMISED: u8 = 4;
/// It came in at the subscriber itself.
pub const RECEIVED: u8 = 8;
/// There is a [`Plan`] of it.
pub const PLANNED: u8 = 16;

/// A delivery as it is kept until it is drained: what most have, in as many bytes as a processor moves at once.
///
/// `topic`, `publisher` and `party` are numbers that the [`super::Known`] of the same portion tells of.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Row {
    /// Its number in its flow.
    pub sequence: u64,
    /// When the publisher sent it.
    pub t_sent_ns: Nanos,
    /// When it arrived here.
    pub t_ingress_ns: Nanos,
    /// When the input stage chose it, if it is marked [`SELECTED`].
    pub t_selected_ns: Nanos,
    /// When it was sent on, if it is marked [`SENT_ON`].
    pub t_egress_ns: Nanos,
    /// Its topic.
    pub topic: u32,
    /// Who published it.
    pub publisher: u32,
    /// The subscription that it was for.
    pub party: u32,
    /// Payload and attributes.
    pub size_bytes: u32,
    /// 0 (lowest) to 7.
    pub priority: u8,
    /// Number of its [`super::Outcome`].
    pub outcome: u8,
    /// What else holds for it.
    pub marks: u8,
}

/// What a publisher meant to do, where that is not what it did anyway.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// When it meant to send the message.
    pub t_intended_ns: Nanos,
    /// Least separation that it offered, 0 if none.
    pub min_sep_ns: Nanos,
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

    /// The deliveries.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What was meant with those that are marked [`PLANNED`], in their order.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
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
