//! What happened to one message for one subscription: the one record of every run, live or simulated.
//!
//! A simulation fills a [`Record`] with numbers and pushes it into [`Columns`], which is bounded and counts
//! what it could not keep. Draining gives a [`Batch`] of columns that Arrow can take over as they are. A thread that
//! forwards pushes what it has [`Seen`] into a [`Ring`], and an [`Unfolding`] makes the same batches of that elsewhere.

mod batch;
mod column;
mod columns;
mod names;
mod own;
mod ring;
mod roster;
mod row;
mod sampling;
mod unfold;

pub use batch::{Batch, Column};
pub use column::Optional;
pub use columns::{CAPACITY_MAX, Columns};
pub use names::{ID_MAX, Names};
pub use ring::{Party, Portion, Ring, Seen};
pub use row::{PLANNED, PROMISED, Plan, RECEIVED, Row, Rows, SELECTED, SENT_ON};
pub use sampling::{ONE_OF_MAX, Sampling, name_hash};
pub use unfold::{Known, Unfolding};

use crate::id::{ClientId, Nanos, SubscriptionId, TopicId};

/// Version of the columns: it changes when one is added, removed or changes its meaning.
pub const VERSION: u32 = 2;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// Arrived within its deadline, or had none.
    Delivered = 0,
    /// Arrived after its deadline.
    Late = 1,
    /// Dropped because its timeout had passed.
    Expired = 2,
    /// Dropped because its publisher sent more than it offered.
    Policed = 3,
    /// Dropped because a bounded queue was full.
    Overflow = 4,
    /// Sent and never seen again.
    Lost = 5,
}

impl Outcome {
    /// Every outcome, at the place of its number.
    pub const ALL: [Self; 6] =
        [Self::Delivered, Self::Late, Self::Expired, Self::Policed, Self::Overflow, Self::Lost];

    /// The word in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Late => "late",
            Self::Expired => "expired",
            Self::Policed => "policed",
            Self::Overflow => "overflow",
            Self::Lost => "lost",
        }
    }
}

/// One message for one subscription, seen at one hop. An instant that it did not reach is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Number of the run, named in [`Columns::run`].
    pub run: u32,
    /// Number of the node, named in [`Columns::node`].
    pub node: u32,
    /// Brokers passed before this one.
    pub hop: u16,
    /// The topic, named in [`Columns::topic`].
    pub topic: TopicId,
    /// Who published it, named in [`Columns::publisher`].
    pub publisher: ClientId,
    /// Who was to receive it, named in [`Columns::subscriber`]; none if it was dropped before it was matched.
    pub subscriber: Option<SubscriptionId>,
    /// Number of the subscription at the broker, which tells two of one client apart.
    pub subscription: Option<u32>,
    /// The message's number in its flow. The column is signed, with the same 64 bits.
    pub sequence: u64,
    /// Payload and attributes.
    pub size_bytes: u32,
    /// 0 (lowest) to 7.
    pub priority: u8,
    /// When the publisher meant to send it.
    pub t_intended_ns: Option<Nanos>,
    /// When the publisher sent it.
    pub t_sent_ns: Nanos,
    /// When it arrived here.
    pub t_ingress_ns: Nanos,
    /// When the input stage chose it.
    pub t_selected_ns: Option<Nanos>,
    /// When the output stage sent it on.
    pub t_egress_ns: Option<Nanos>,
    /// When the subscriber had it.
    pub t_received_ns: Option<Nanos>,
    /// How far the clocks behind these instants may be apart; 0 on one machine.
    pub clock_error_ns: Nanos,
    /// Least separation that the publisher offered.
    pub min_sep_ns: Option<Nanos>,
    /// Longest delay that the subscriber pays for.
    pub deadline_ns: Option<Nanos>,
    /// Longest delay that was proved when the subscription was granted.
    pub bound_ns: Option<Nanos>,
    /// What the subscriber pays for a message in time.
    pub price: Option<f64>,
    /// What a late message costs.
    pub penalty: Option<f64>,
    /// How it ended.
    pub outcome: Outcome,
}
