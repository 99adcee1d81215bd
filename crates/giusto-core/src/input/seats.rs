//! The clients that publish on one topic, in the constant order in which a cell polls them.
//!
//! A seat is one position of that order. Which seats have messages is a bit each, with one word of
//! summary in front. Up to 128 seats the bits lie in the topic itself, so that a visit touches the
//! topic and one seat. Beyond 4096 seats a bit of the summary stands for several words.

use smallvec::SmallVec;

use crate::id::FlowId;
use crate::store::NONE;

const WORD_BITS: usize = 64;

/// Seats of one topic.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// Bit n: some of the words `n << span ..` is not zero.
    summary: u64,
    ready: SmallVec<[u64; 2]>,
    /// Flow at each seat; [`NONE`] where one has left.
    flows: Vec<u32>,
}

impl Seats {
    /// Gives a flow the first free seat.
    pub(super) fn take(&mut self, flow: FlowId) -> u32 {
        if let Some(seat) = self.flows.iter().position(|&taken| taken == NONE) {
            self.flows[seat] = flow.0;
            return seat as u32;
        }
        self.flows.push(flow.0);
        let before = self.span();
        self.ready.resize(self.ready.len().max(self.flows.len().div_ceil(WORD_BITS)), 0);
        if self.span() > before {
            self.summarise();
        }
        self.flows.len() as u32 - 1
    }

    /// log2 of the words that one bit of the summary stands for.
    #[inline]
    fn span(&self) -> u32 {
        if self.ready.len() <= WORD_BITS { 0 } else { (self.ready.len() - 1).ilog2() - 5 }
    }

    fn summarise(&mut self) {
        let (span, words) = (self.span(), self.ready.iter().enumerate());
        self.summary = words.filter(|&(_, &word)| word != 0).fold(0, |bits, (n, _)| bits | 1 << (n >> span));
    }

    /// Frees a seat that has no message; those of the others stay as they are.
    pub(super) fn leave(&mut self, seat: u32) {
        self.flows[seat as usize] = NONE;
        while self.flows.last() == Some(&NONE) {
            self.flows.pop();
        }
    }

    /// Whether no seat has messages.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.summary == 0
    }

    /// The flow at `seat` has messages.
    #[inline]
    pub(super) fn filled(&mut self, seat: u32) {
        let word = seat as usize / WORD_BITS;
        self.ready[word] |= 1 << (seat as usize % WORD_BITS);
        self.summary |= 1 << (word >> self.span());
    }

    /// The flow at `seat` has no message left.
    #[inline]
    pub(super) fn emptied(&mut self, seat: u32) {
        let word = seat as usize / WORD_BITS;
        self.ready[word] &= !(1 << (seat as usize % WORD_BITS));
        let group = word >> self.span();
        if self.ready[word] == 0 && (self.span() == 0 || self.is_group_idle(group)) {
            self.summary &= !(1 << group);
        }
    }

    fn is_group_idle(&self, group: usize) -> bool {
        let end = self.ready.len().min((group + 1) << self.span());
        self.ready[group << self.span()..end].iter().all(|&word| word == 0)
    }

    /// The first seat with messages that is not before `from`, and its flow.
    #[inline]
    pub(super) fn next(&self, from: u32) -> Option<(u32, FlowId)> {
        let from = from as usize;
        let first = from / WORD_BITS;
        let right = *self.ready.get(first)? & (u64::MAX << (from % WORD_BITS));
        if right != 0 {
            return Some(self.seat(first, right));
        }
        let word = self.next_word(first + 1)?;
        Some(self.seat(word, self.ready[word]))
    }

    #[inline]
    fn seat(&self, word: usize, bits: u64) -> (u32, FlowId) {
        let seat = word * WORD_BITS + bits.trailing_zeros() as usize;
        (seat as u32, FlowId(self.flows[seat]))
    }

    /// The first word from `from` on that is not zero.
    #[inline]
    fn next_word(&self, from: usize) -> Option<usize> {
        let span = self.span();
        let group = from >> span;
        let groups = if group < WORD_BITS { self.summary & (u64::MAX << group) } else { 0 };
        if groups == 0 {
            return None;
        }
        let start = from.max((groups.trailing_zeros() as usize) << span);
        (start..self.ready.len()).find(|&word| self.ready[word] != 0)
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
            count in prop_oneof![1u32..200, 4_000u32..20_000],
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let mut seats = Seats::default();
            let mut set = BTreeSet::new();
            seats.take(FlowId(7));
            seats.filled(0);
            set.insert(0);
            (1..count).for_each(|n| seats.flows.push(n + 7));
            seats.ready.resize((count as usize).div_ceil(WORD_BITS), 0);
            seats.summarise();
            for (fill, at, from) in steps {
                let (at, from) = (at.index(count as usize) as u32, from.index(count as usize) as u32);
                if fill { seats.filled(at); set.insert(at); } else { seats.emptied(at); set.remove(&at); }
                prop_assert_eq!(seats.next(from), set.range(from..).next().map(|&seat| (seat, FlowId(seat + 7))));
                prop_assert_eq!(seats.is_idle(), set.is_empty());
            }
        }
    }

    #[test]
    fn bits_stay_in_place_while_seats_are_added() {
        let mut seats = Seats::default();
        (0..10_000).for_each(|n| {
            seats.take(FlowId(n));
            if n % 1_000 == 0 {
                seats.filled(n);
            }
        });
        let mut found = Vec::new();
        while let Some((seat, _)) = seats.next(found.last().map_or(0, |last| last + 1)) {
            found.push(seat);
        }
        assert_eq!(found, (0..10_000).step_by(1_000).collect::<Vec<u32>>());
    }

    #[test]
    fn a_seat_that_was_left_is_taken_again_and_the_others_stay() {
        let mut seats = Seats::default();
        (0..3).for_each(|n| assert_eq!(seats.take(FlowId(n)), n));
        seats.leave(1);
        seats.filled(2);
        assert_eq!(seats.next(0), Some((2, FlowId(2))));
        assert_eq!(seats.take(FlowId(9)), 1);
        assert_eq!(seats.take(FlowId(10)), 3);
    }
}
