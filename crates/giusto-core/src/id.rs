//! Small integers that stand for the things of the tables, and the unit of time.

use std::fmt;

/// Nanoseconds on one machine's monotonic clock, or of virtual time in a simulation.
pub type Nanos = i64;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

id!(
    /// One connection of one process.
    ClientId,
    "client "
);
id!(
    /// A named stream.
    TopicId,
    "topic "
);
id!(
    /// What one client publishes on one topic: a row and a column of MatrixIN.
    FlowId,
    "flow "
);
id!(
    /// What one client asked to receive.
    SubscriptionId,
    "subscription "
);
