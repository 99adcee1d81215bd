//! The clients that publish on one topic, in the constant order in which a cell polls them.
//!
//! A seat is one position of that order, and a bit says whether it has messages. Up to 128 bits lie
//! in the topic itself and are searched without a branch; the flow that was filled last is kept
//! beside them, so that a topic with little traffic is served from one cache line.

use crate::id::FlowId;
use crate::ladder::Ladder;
use crate::store::NONE;

/// Seats that have messages, and beside them, where the tag of an enum leaves room in the cache line, how many seats
/// have been left.
#[derive(Debug)]
enum Ready {
    /// Up to 128 seats, low half first.
    Few([u64; 2], u32),
    /// More.
    Many(Box<Ladder>, u32),
}

impl Ready {
    const FEW: usize = 128;

    /// Makes room for `count` seats.
    fn reserve(&mut self, count: usize) {
        match self {
            Self::Few(words, holes) if count > Self::FEW => {
                let bits = joined(*words);
                let mut many = Ladder::new(2 * count);
                (0..Self::FEW).filter(|seat| bits >> seat & 1 != 0).for_each(|seat| many.insert(seat));
                *self = Self::Many(Box::new(many), *holes);
            }
            Self::Few(..) => {}
            Self::Many(many, _) => many.reserve(count),
        }
    }

    /// How many seats have been left.
    fn holes(&mut self) -> &mut u32 {
        match self {
            Self::Few(_, holes) | Self::Many(_, holes) => holes,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        match self {
            Self::Few(words, _) => words[0] | words[1] == 0,
            Self::Many(many, _) => many.is_empty(),
        }
    }

    #[inline]
    fn insert(&mut self, seat: usize) {
        match self {
            Self::Few(words, _) => words[seat / 64 % 2] |= 1 << (seat % 64),
            Self::Many(many, _) => many.insert(seat),
        }
    }

    #[inline]
    fn remove(&mut self, seat: usize) {
        match self {
            Self::Few(words, _) => words[seat / 64 % 2] &= !(1 << (seat % 64)),
            Self::Many(many, _) => many.remove(seat),
        }
    }

    #[inline]
    fn next(&self, from: usize) -> Option<usize> {
        match self {
            Self::Few(words, _) => {
                let right = joined(*words).checked_shr(from as u32).unwrap_or(0);
                (right != 0).then(|| from + right.trailing_zeros() as usize)
            }
            Self::Many(many, _) => many.next(from),
        }
    }
}

#[inline]
fn joined(words: [u64; 2]) -> u128 {
    u128::from(words[1]) << 64 | u128::from(words[0])
}

/// Seats of one topic.
#[derive(Debug)]
pub(super) struct Seats {
    ready: Ready,
    /// The seat that was filled last, and its flow.
    last: (u32, FlowId),
    /// Flow at each seat; [`NONE`] where one has left.
    flows: Vec<u32>,
}

impl Default for Seats {
    fn default() -> Self {
        Self { ready: Ready::Few([0; 2], 0), last: (NONE, FlowId(NONE)), flows: Vec::new() }
    }
}

impl Seats {
    /// Gives a flow the first free seat.
    pub(super) fn take(&mut self, flow: FlowId) -> u32 {
        let hole =
            if *self.ready.holes() > 0 { self.flows.iter().position(|&taken| taken == NONE) } else { None };
        let Some(seat) = hole else {
            self.flows.push(flow.0);
            self.ready.reserve(self.flows.len());
            return self.flows.len() as u32 - 1;
        };
        self.flows[seat] = flow.0;
        *self.ready.holes() -= 1;
        seat as u32
    }

    /// Frees a seat that has no message; those of the others stay as they are.
    pub(super) fn leave(&mut self, seat: u32) {
        self.flows[seat as usize] = NONE;
        *self.ready.holes() += 1;
        while self.flows.last() == Some(&NONE) {
            self.flows.pop();
            *self.ready.holes() -= 1;
        }
    }

    /// Whether no seat has messages.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// `flow`, which has this seat, has messages.
    #[inline]
    pub(super) fn filled(&mut self, seat: u32, flow: FlowId) {
        self.ready.insert(seat as usize);
        self.last = (seat, flow);
    }

    /// The flow at `seat` has no message left.
    #[inline]
    pub(super) fn emptied(&mut self, seat: u32) {
        self.ready.remove(seat as usize);
    }

    /// The first seat with messages that is not before `from`, and its flow.
    #[inline]
    pub(super) fn next(&self, from: u32) -> Option<(u32, FlowId)> {
        let seat = self.ready.next(from as usize)? as u32;
        let flow = if self.last.0 == seat { self.last.1 } else { FlowId(self.flows[seat as usize]) };
        Some((seat, flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(
            count in prop_oneof![1u32..200, 1_000u32..2_000],
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let mut seats = Seats::default();
            let mut set = BTreeSet::new();
            for n in 0..count {
                seats.take(FlowId(n + 7));
                if n % 50 == 0 {
                    seats.filled(n, FlowId(n + 7));
                    set.insert(n);
                }
            }
            for (fill, at, from) in steps {
                let (at, from) = (at.index(count as usize) as u32, from.index(count as usize + 1) as u32);
                if fill { seats.filled(at, FlowId(at + 7)); set.insert(at); } else { seats.emptied(at); set.remove(&at); }
                prop_assert_eq!(seats.next(from), set.range(from..).next().map(|&seat| (seat, FlowId(seat + 7))));
                prop_assert_eq!(seats.is_idle(), set.is_empty());
            }
        }
    }

    #[test]
    fn a_seat_that_was_left_is_taken_again_and_the_others_stay() {
        let mut seats = Seats::default();
        (0..3).for_each(|n| assert_eq!(seats.take(FlowId(n)), n));
        seats.leave(1);
        seats.filled(2, FlowId(2));
        assert_eq!(seats.next(0), Some((2, FlowId(2))));
        assert_eq!(seats.take(FlowId(9)), 1);
        seats.filled(1, FlowId(9));
        assert_eq!((seats.next(0), seats.next(2)), (Some((1, FlowId(9))), Some((2, FlowId(2)))));
        assert_eq!(seats.take(FlowId(10)), 3);
    }
}
