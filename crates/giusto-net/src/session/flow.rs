//! Whether a publisher may send: the number of its flow and the credit that is left.
//!
//! The reader adds credit, publishers take it: atomics, so that neither waits for the other.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const UNBOUND: u64 = u64::MAX;
/// Over UDP the broker's queue decides alone.
const UNLIMITED: i64 = i64::MAX / 2;

/// One advertised topic, seen from its publisher.
#[derive(Debug)]
pub struct Flow {
    number: AtomicU64,
    credit: AtomicI64,
    capacity: AtomicI64,
}

/// What asking for credit gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// One message may be sent; so much credit is left.
    Credit(i64),
    /// As many messages are under way as the queue holds.
    Nothing,
    /// The broker knows no such flow at present.
    Unbound,
}

impl Default for Flow {
    fn default() -> Self {
        Self { number: AtomicU64::new(UNBOUND), credit: AtomicI64::new(0), capacity: AtomicI64::new(0) }
    }
}

impl Flow {
    /// The broker knows the flow under `number`; none for `credit` means without limit.
    pub fn bind(&self, number: u32, credit: Option<u32>) {
        let credit = credit.map_or(UNLIMITED, i64::from);
        self.capacity.store(credit, Ordering::Relaxed);
        self.credit.store(credit, Ordering::Release);
        self.number.store(u64::from(number), Ordering::Release);
    }

    /// The broker does not know the flow any more.
    pub fn unbind(&self) {
        self.number.store(UNBOUND, Ordering::Release);
        self.credit.store(0, Ordering::Release);
    }

    /// The number that data frames carry.
    #[inline]
    pub fn number(&self) -> Option<u32> {
        u32::try_from(self.number.load(Ordering::Acquire)).ok()
    }

    /// Takes the credit for one message.
    #[inline]
    pub fn take(&self) -> Taken {
        let before = self.credit.fetch_sub(1, Ordering::AcqRel);
        if before > 0 {
            return Taken::Credit(before - 1);
        }
        self.credit.fetch_add(1, Ordering::AcqRel);
        if self.number().is_none() { Taken::Unbound } else { Taken::Nothing }
    }

    /// Gives back what was taken for a message that was not sent.
    pub fn give(&self, amount: u32) {
        self.credit.fetch_add(i64::from(amount), Ordering::AcqRel);
    }

    /// Messages that may be sent now.
    pub fn credit(&self) -> i64 {
        self.credit.load(Ordering::Acquire).max(0)
    }

    /// Messages that may be under way now: credits come back in portions, so it is no more than that.
    pub fn under_way(&self) -> u64 {
        let capacity = self.capacity();
        if capacity == UNLIMITED { 0 } else { capacity.saturating_sub(self.credit()).max(0) as u64 }
    }

    /// Messages that may be under way at once.
    pub fn capacity(&self) -> i64 {
        self.capacity.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_taken_until_none_is_left() {
        let flow = Flow::default();
        assert_eq!(flow.take(), Taken::Unbound);
        flow.bind(4, Some(2));
        assert_eq!(
            (flow.take(), flow.take(), flow.take()),
            (Taken::Credit(1), Taken::Credit(0), Taken::Nothing)
        );
        assert_eq!(flow.under_way(), 2);
        flow.give(2);
        assert_eq!((flow.credit(), flow.number(), flow.under_way()), (2, Some(4), 0));
        flow.unbind();
        assert_eq!(flow.take(), Taken::Unbound);
    }
}
