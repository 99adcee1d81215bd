//! Records on their way out: whole columns, in the order of the schema, each in the layout of Arrow.

use std::sync::Arc;

use super::column::{self, Optional};
use super::names::Names;

/// What was drained at once.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Name and values of each column, in the order of the schema.
    pub columns: Vec<(&'static str, Column)>,
    /// Records in it: the length of every column.
    pub rows: usize,
    /// Records that found no room since the drain before.
    pub dropped: u64,
    /// Records of messages that are not among the sampled ones, since the drain before.
    pub skipped: u64,
}

/// The values of one column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Rows of a dictionary; a number without a name is missing.
    Name {
        /// Row of each value.
        keys: Optional<u32>,
        /// The dictionary.
        names: Vec<Arc<str>>,
    },
    /// Numbers of [`super::Outcome`].
    Outcome(Vec<u8>),
    /// Small numbers.
    Int8(Vec<i8>),
    /// Counts.
    Int32(Vec<i32>),
    /// Instants, durations and long counts.
    Int64(Vec<i64>),
    /// Instants and durations that may be missing.
    OptionalInt64(Optional<i64>),
    /// Amounts that may be missing.
    OptionalFloat64(Optional<f64>),
}

/// A column that is being filled.
pub(super) trait Fill {
    /// Makes room for `rows` values; false if the machine has none.
    fn try_reserve(&mut self, rows: usize) -> bool;
    /// Hands over what was filled in.
    fn take(&mut self) -> Column;
}

impl Fill for Names {
    fn try_reserve(&mut self, rows: usize) -> bool {
        Names::try_reserve(self, rows)
    }

    fn take(&mut self) -> Column {
        let (keys, names) = Names::take(self);
        Column::Name { keys, names }
    }
}

macro_rules! fill {
    ($($type:ty => $column:ident;)*) => {$(
        impl Fill for Vec<$type> {
            fn try_reserve(&mut self, rows: usize) -> bool {
                self.try_reserve_exact(rows).is_ok()
            }

            fn take(&mut self) -> Column {
                Column::$column(column::take(self))
            }
        }
    )*};
    ($(optional $type:ty => $column:ident;)*) => {$(
        impl Fill for Optional<$type> {
            fn try_reserve(&mut self, rows: usize) -> bool {
                Optional::try_reserve(self, rows)
            }

            fn take(&mut self) -> Column {
                Column::$column(Optional::take(self))
            }
        }
    )*};
}

fill! {
    u8 => Outcome;
    i8 => Int8;
    i32 => Int32;
    i64 => Int64;
}
fill! {
    optional i64 => OptionalInt64;
    optional f64 => OptionalFloat64;
}
