//! What a run adds up to: per subscription, and over all.

use giusto_core::id::Nanos;
use giusto_core::record::Outcome;

use super::scenario::Subscriber;

/// What became of the messages for one subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Messages that it should have received: ni of S1 (1).
    pub ideal: u64,
    /// By the number of [`Outcome`]; `delivered` is na of S1 (1).
    pub outcomes: [u32; 6],
    /// The longest delay of those that arrived.
    pub delay_max_ns: Nanos,
    /// The sum of the delays of those that arrived.
    pub delay_sum_ns: i128,
}

impl Total {
    /// Messages with this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].into()
    }

    pub(super) fn end(&mut self, outcome: Outcome) {
        self.outcomes[outcome as usize] += 1;
    }

    pub(super) fn arrive(&mut self, outcome: Outcome, delay_ns: Nanos) {
        self.end(outcome);
        self.delay_max_ns = self.delay_max_ns.max(delay_ns);
        self.delay_sum_ns += i128::from(delay_ns);
    }
}

/// Counters of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that publishers sent.
    pub published: u64,
    /// Of these, messages that broke an offer.
    pub policed: u64,
    /// Deliveries that there should have been, one per message and matched subscription.
    pub ideal: u64,
    /// Deliveries in time.
    pub delivered: u64,
    /// Deliveries after the deadline or timeout.
    pub late: u64,
    /// Dropped as useless.
    pub expired: u64,
    /// Dropped by a full queue.
    pub overflow: u64,
    /// Lost with a link or broker.
    pub lost: u64,
    /// Still under way at the end.
    pub unfinished: u64,
    /// Transmissions on links.
    pub hops: u64,
    /// Events of the agenda.
    pub events: u64,
    /// Records that found no room.
    pub records_dropped: u64,
}

impl Counters {
    /// Adds up `totals`.
    pub(super) fn sum(&mut self, totals: &[Total]) {
        let of = |outcome| totals.iter().map(|total| total.count(outcome)).sum();
        self.ideal = totals.iter().map(|total| total.ideal).sum();
        self.delivered = of(Outcome::Delivered);
        self.late = of(Outcome::Late);
        self.expired = of(Outcome::Expired);
        self.overflow = of(Outcome::Overflow);
        self.lost = of(Outcome::Lost);
    }
}

/// The money of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Earning {
    /// (1) of S1.
    pub total: f64,
    /// The same if everything had arrived in time.
    pub ideal: f64,
}

impl Earning {
    pub(super) fn of(subscribers: &[Subscriber], totals: &[Total]) -> Self {
        let mut earning = Self::default();
        for (subscriber, total) in subscribers.iter().zip(totals) {
            let valid = total.count(Outcome::Delivered);
            let missed = (total.ideal - valid) as f64;
            earning.total += subscriber.price * valid as f64 - subscriber.penalty * missed;
            earning.ideal += subscriber.price * total.ideal as f64;
        }
        earning
    }
}
