//! What became of messages: every one that came in is counted once for what happened to it here.

use crate::record::Outcome;

/// Messages of a topic. Up to the match one message counts once, from there once per subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Taken into the queues.
    pub ingested: u64,
    /// Broke their offer's rate and were not taken in.
    pub policed: u64,
    /// Found their flow's queue full, or were larger than offered.
    pub overflow: u64,
    /// Were of no use any more when their turn came.
    pub expired: u64,
    /// Left the input stage.
    pub selected: u64,
    /// Left the input stage, but nobody had subscribed.
    pub unmatched: u64,
    /// Went out to a subscriber in time.
    pub delivered: u64,
    /// Went out to a subscriber after its deadline.
    pub late: u64,
    /// Were no use any more to the subscriber that they waited for.
    pub expired_waiting: u64,
    /// Made room for newer ones, or found a subscriber's queue full.
    pub dropped: u64,
    /// Waited for a subscriber that went away.
    pub abandoned: u64,
}

impl Counters {
    /// Each count with its name, for tables and tests.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("ingested", self.ingested),
            ("policed", self.policed),
            ("overflow", self.overflow),
            ("expired", self.expired),
            ("selected", self.selected),
            ("unmatched", self.unmatched),
            ("delivered", self.delivered),
            ("late", self.late),
            ("expired_waiting", self.expired_waiting),
            ("dropped", self.dropped),
            ("abandoned", self.abandoned),
        ]
    }

    /// Counts a delivery that has ended.
    pub(super) fn close(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Delivered => self.delivered += 1,
            Outcome::Late => self.late += 1,
            Outcome::Expired => self.expired_waiting += 1,
            Outcome::Overflow | Outcome::Policed => self.dropped += 1,
            Outcome::Lost => self.abandoned += 1,
        }
    }

    /// Adds what another topic counted.
    pub fn add(&mut self, other: &Self) {
        self.ingested += other.ingested;
        self.policed += other.policed;
        self.overflow += other.overflow;
        self.expired += other.expired;
        self.selected += other.selected;
        self.unmatched += other.unmatched;
        self.delivered += other.delivered;
        self.late += other.late;
        self.expired_waiting += other.expired_waiting;
        self.dropped += other.dropped;
        self.abandoned += other.abandoned;
    }
}
