//! Which columns a file of records has, in the order of the schema, and how the values of each are written.

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, of which little is different.
    Name,
    /// Numbers below 128.
    Small,
    /// Numbers of 32 bits.
    Int32,
    /// Numbers of 64 bits.
    Int64,
    /// Numbers of 64 bits that grow from row to row.
    Rising,
    /// Amounts.
    Float64,
}

/// A column as every file has it.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_nullable: bool,
}

/// Names every column once: its place, what it is called, and how it is written.
macro_rules! columns {
    ($($place:ident $name:literal $kind:ident $nullable:literal;)*) => {
        /// Where a column is in [`COLUMNS`].
        #[derive(Clone, Copy, Debug)]
        pub(super) enum At { $($place,)* }

        pub(super) const COLUMNS: &[Layout] = &[
            $(Layout { name: $name, kind: Kind::$kind, is_nullable: $nullable },)*
        ];
    };
}

columns! {
    Run "run" Name true;
    Node "node" Name true;
    Hop "hop" Int32 false;
    Topic "topic" Name true;
    Publisher "publisher" Name true;
    Subscriber "subscriber" Name true;
    Sequence "sequence" Rising false;
    SizeBytes "size_bytes" Int64 false;
    Priority "priority" Small false;
    Intended "t_intended_ns" Rising true;
    Sent "t_sent_ns" Rising false;
    Ingress "t_ingress_ns" Rising false;
    Selected "t_selected_ns" Rising true;
    Egress "t_egress_ns" Rising true;
    Received "t_received_ns" Rising true;
    ClockError "clock_error_ns" Int64 false;
    MinSep "min_sep_ns" Int64 true;
    Deadline "deadline_ns" Int64 true;
    Bound "bound_ns" Int64 true;
    Price "price" Float64 true;
    Penalty "penalty" Float64 true;
    Outcome "outcome" Name false;
    Subscription "subscription" Int64 true;
}
