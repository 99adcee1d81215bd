//! Whether a publisher may send: the number of its flow and the credit that is left.
//!
//! The reader adds credit, publishers take it: an atomic, so that neither waits for the other. Number and
//! credit are one word: credit is never taken from one connection for a frame of the next.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// No broker has a flow with this number.
const UNBOUND: u32 = u32::MAX;
/// Over UDP the broker's queue decides alone.
const UNLIMITED: u32 = u32::MAX;
/// The same for who asks.
const UNLIMITED_CREDIT: i64 = i64::MAX / 2;

/// One advertised topic, seen from its publisher.
#[derive(Debug)]
pub struct Flow {
    /// The number in the upper half, the credit in the lower.
    state: AtomicU64,
    capacity: AtomicI64,
}

/// What asking for credit gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// One message may be sent.
    Credit {
        /// The number that its frame carries.
        number: u32,
        /// So much credit is left.
        left: i64,
    },
    /// As many messages are under way as the queue holds.
    Nothing,
    /// The broker knows no such flow at present.
    Unbound,
}

impl Default for Flow {
    fn default() -> Self {
        Self { state: AtomicU64::new(join(UNBOUND, 0)), capacity: AtomicI64::new(0) }
    }
}

fn join(number: u32, credit: u32) -> u64 {
    u64::from(number) << 32 | u64::from(credit)
}

fn split(state: u64) -> (u32, u32) {
    ((state >> 32) as u32, state as u32)
}

fn shown(credit: u32) -> i64 {
    if credit == UNLIMITED { UNLIMITED_CREDIT } else { i64::from(credit) }
}

impl Flow {
    /// The broker knows the flow under `number`; none for `credit` means without limit.
    pub fn bind(&self, number: u32, credit: Option<u32>) {
        let credit = credit.map_or(UNLIMITED, |credit| credit.min(UNLIMITED - 1));
        self.capacity.store(shown(credit), Ordering::Relaxed);
        self.state.store(join(number, credit), Ordering::Release);
    }

    /// The broker does not know the flow any more. Returns how many messages may have been under way.
    pub fn unbind(&self) -> u64 {
        let (number, credit) = split(self.state.swap(join(UNBOUND, 0), Ordering::AcqRel));
        if number == UNBOUND { 0 } else { self.missing(credit) }
    }

    /// The number that data frames carry.
    #[inline]
    pub fn number(&self) -> Option<u32> {
        Some(split(self.state.load(Ordering::Acquire)).0).filter(|&number| number != UNBOUND)
    }

    /// Takes the credit for one message.
    #[inline]
    pub fn take(&self) -> Taken {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let (number, credit) = split(state);
            match credit {
                _ if number == UNBOUND => return Taken::Unbound,
                0 => return Taken::Nothing,
                UNLIMITED => return Taken::Credit { number, left: UNLIMITED_CREDIT },
                _ => {}
            }
            let taken =
                self.state.compare_exchange_weak(state, state - 1, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => return Taken::Credit { number, left: i64::from(credit) - 1 },
                Err(current) => state = current,
            }
        }
    }

    /// The broker takes more messages of the flow, if it is bound.
    pub fn give(&self, amount: u32) {
        let more = |state| match split(state) {
            (UNBOUND, _) | (_, UNLIMITED) => None,
            (number, credit) => Some(join(number, credit.saturating_add(amount).min(UNLIMITED - 1))),
        };
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    }

    /// Messages that may be sent now.
    #[inline]
    pub fn credit(&self) -> i64 {
        shown(split(self.state.load(Ordering::Acquire)).1)
    }

    /// Messages that may be under way now: credits come back in portions, so it is no more than that.
    pub fn under_way(&self) -> u64 {
        self.missing(split(self.state.load(Ordering::Acquire)).1)
    }

    fn missing(&self, credit: u32) -> u64 {
        self.capacity().saturating_sub(shown(credit)).max(0) as u64
    }

    /// Messages that may be under way at once.
    pub fn capacity(&self) -> i64 {
        self.capacity.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn credit_is_taken_until_none_is_left() {
        let flow = Flow::default();
        assert_eq!(flow.take(), Taken::Unbound);
        flow.bind(4, Some(2));
        assert_eq!(
            (flow.take(), flow.take(), flow.take()),
            (Taken::Credit { number: 4, left: 1 }, Taken::Credit { number: 4, left: 0 }, Taken::Nothing)
        );
        assert_eq!(flow.under_way(), 2);
        flow.give(2);
        assert_eq!((flow.credit(), flow.number(), flow.under_way()), (2, Some(4), 0));
        assert_eq!(flow.take(), Taken::Credit { number: 4, left: 1 });
        assert_eq!(flow.unbind(), 1);
        assert_eq!((flow.take(), flow.unbind()), (Taken::Unbound, 0));
    }

    #[test]
    fn credit_that_comes_after_the_end_of_a_flow_is_none_for_the_next() {
        let flow = Flow::default();
        flow.give(5);
        assert_eq!(flow.take(), Taken::Unbound);
        flow.bind(1, Some(0));
        assert_eq!(flow.take(), Taken::Nothing);
    }

    #[test]
    fn without_limit_credit_never_ends() {
        let flow = Flow::default();
        flow.bind(0, None);
        assert!(matches!(flow.take(), Taken::Credit { number: 0, .. }));
        flow.give(1);
        assert_eq!((flow.credit(), flow.unbind()), (flow.capacity(), 0));
    }

    #[test]
    fn what_was_taken_is_taken_from_the_flow_whose_number_it_has_or_told_at_its_end() {
        let flow = Flow::default();
        let (rounds, credit) = (2_000, 3);
        let mut taken = vec![0; rounds];
        let mut under_way = vec![0; rounds];
        thread::scope(|scope| {
            let takers = [0; 2].map(|_| {
                scope.spawn(|| {
                    let mut taken = vec![0; rounds];
                    loop {
                        match flow.take() {
                            Taken::Credit { number, .. } if number as usize == rounds => return taken,
                            Taken::Credit { number, .. } => taken[number as usize] += 1,
                            Taken::Nothing | Taken::Unbound => thread::yield_now(),
                        }
                    }
                })
            });
            for (number, under_way) in under_way.iter_mut().enumerate() {
                flow.bind(number as u32, Some(credit));
                *under_way = flow.unbind();
            }
            flow.bind(rounds as u32, None);
            for taker in takers {
                taken.iter_mut().zip(taker.join().unwrap()).for_each(|(sum, count)| *sum += count);
            }
        });
        assert_eq!(taken, under_way);
    }
}
