//! How many records are kept until someone drains them: a bounded store with one buffer per column.

use super::Record;
use super::batch::{Batch, Column, Fill};
use super::column::Optional;
use super::names::Names;
use crate::error::Invalid;

/// Most records between two drains.
pub const CAPACITY_MAX: usize = 1 << 24;

/// The columns of the schema, each named once: its type, and what of a record goes into it.
macro_rules! columns {
    ($record:ident: $($(#[$doc:meta])* $view:vis $name:ident: $type:ty = $value:expr;)*) => {
        /// Records by column, at most as many as the capacity.
        ///
        /// The numbers in a record stand for names; give each its name before the first record that uses it.
        #[derive(Clone, Debug)]
        pub struct Columns {
            capacity: usize,
            rows: usize,
            dropped: u64,
            dropped_at_drain: u64,
            $($(#[$doc])* $view $name: $type,)*
        }

        impl Columns {
            fn empty(capacity: usize) -> Self {
                Self { capacity, rows: 0, dropped: 0, dropped_at_drain: 0, $($name: <$type>::default(),)* }
            }

            fn try_reserve(&mut self) -> bool {
                let rows = self.capacity;
                true $(&& Fill::try_reserve(&mut self.$name, rows))*
            }

            #[inline]
            fn append(&mut self, $record: &Record) {
                $(self.$name.push($value);)*
            }

            fn take(&mut self) -> Vec<(&'static str, Column)> {
                vec![$((stringify!($name), Fill::take(&mut self.$name)),)*]
            }
        }
    };
}

columns! { record:
    /// Names of runs.
    pub run: Names = record.run;
    /// Names of nodes.
    pub node: Names = record.node;
    hop: Vec<i32> = i32::from(record.hop);
    /// Names of topics.
    pub topic: Names = record.topic.0;
    /// Names of clients that publish.
    pub publisher: Names = record.publisher.0;
    /// Names of subscriptions' clients.
    pub subscriber: Names = record.subscriber.map(|subscription| subscription.0);
    sequence: Vec<i64> = record.sequence as i64;
    size_bytes: Vec<i64> = i64::from(record.size_bytes);
    priority: Vec<i8> = record.priority as i8;
    t_intended_ns: Optional<i64> = record.t_intended_ns;
    t_sent_ns: Vec<i64> = record.t_sent_ns;
    t_ingress_ns: Vec<i64> = record.t_ingress_ns;
    t_selected_ns: Optional<i64> = record.t_selected_ns;
    t_egress_ns: Optional<i64> = record.t_egress_ns;
    t_received_ns: Optional<i64> = record.t_received_ns;
    clock_error_ns: Vec<i64> = record.clock_error_ns;
    min_sep_ns: Optional<i64> = record.min_sep_ns;
    deadline_ns: Optional<i64> = record.deadline_ns;
    bound_ns: Optional<i64> = record.bound_ns;
    price: Optional<f64> = record.price;
    penalty: Optional<f64> = record.penalty;
    outcome: Vec<u8> = record.outcome as u8;
    subscription: Optional<i64> = record.subscription.map(i64::from);
}

impl Columns {
    /// Room for `capacity` records, taken from the machine at once.
    pub fn new(capacity: usize) -> Result<Self, Invalid> {
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(Invalid::new("capacity", capacity, format!("1 to {CAPACITY_MAX} records")));
        }
        let mut columns = Self::empty(capacity);
        if !columns.try_reserve() {
            return Err(Invalid::new(
                "capacity",
                capacity,
                "fewer records: the machine has no room for so many",
            ));
        }
        Ok(columns)
    }

    /// Keeps `record`; false, and counted, if there is no room until the next drain.
    #[inline]
    pub fn push(&mut self, record: &Record) -> bool {
        if self.rows == self.capacity {
            self.dropped += 1;
            return false;
        }
        self.rows += 1;
        self.append(record);
        true
    }

    /// Everything that was kept since the last drain; the store is empty again.
    pub fn drain(&mut self) -> Batch {
        let dropped = self.dropped - self.dropped_at_drain;
        self.dropped_at_drain = self.dropped;
        Batch { columns: self.take(), rows: std::mem::take(&mut self.rows), dropped, skipped: 0 }
    }

    /// Records kept since the last drain.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is nothing to drain.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Records that it can keep between two drains.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Records that found no room, ever.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}
