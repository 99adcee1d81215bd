//! The most urgent of eight levels first: the egress queues of S3 and the FIX of S1.

use std::collections::VecDeque;

use super::fifo::{Waiting, expire_head, extract_from};
use super::message::{Outgoing, PRIORITY_MAX};
use super::stage::{Arrival, OutputStage};
use crate::id::Nanos;

const LEVELS: usize = PRIORITY_MAX as usize + 1;

/// One queue per level, strict between levels, in order of arrival inside one.
///
/// What it evicts is the oldest of the least urgent level, so that a flood of unimportant messages cannot
/// push out an urgent one.
#[derive(Debug, Default)]
pub struct Priority {
    levels: [VecDeque<Waiting>; LEVELS],
    /// Bit `k` is set when level `k` is not empty.
    occupied: u8,
    len: usize,
}

impl Priority {
    /// Takes the head of `level` if there is one.
    #[inline]
    fn take(&mut self, level: usize) -> Option<Outgoing> {
        let ring = self.levels.get_mut(level)?;
        let head = ring.pop_front()?;
        self.occupied &= !(u8::from(ring.is_empty()) << level);
        self.len -= 1;
        Some(head.message)
    }

    /// Finds out which levels have messages, and how many.
    fn count(&mut self) {
        for (level, ring) in self.levels.iter().enumerate() {
            self.occupied &= !(u8::from(ring.is_empty()) << level);
        }
        self.len = self.levels.iter().map(VecDeque::len).sum();
    }

    fn most_urgent(&self) -> Option<usize> {
        self.occupied.checked_ilog2().map(|level| level as usize)
    }
}

impl OutputStage for Priority {
    fn push(&mut self, arrival: &Arrival<'_>) {
        let level = arrival.message.priority.min(PRIORITY_MAX);
        self.levels[usize::from(level)].push_back(Waiting::new(arrival));
        self.occupied |= 1 << level;
        self.len += 1;
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        loop {
            let level = self.most_urgent()?;
            let alive = self.levels[level].front().is_some_and(|head| now <= head.alive_until_ns);
            let message = self.take(level)?;
            if alive {
                return Some(message);
            }
            expired.push(message);
        }
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) {
        self.levels.iter_mut().for_each(|ring| expire_head(ring, now, expired));
        self.count();
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        self.take(self.occupied.trailing_zeros() as usize)
    }

    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let taken = self.levels.iter_mut().rev().flat_map(|ring| extract_from(ring, is_chosen)).collect();
        self.count();
        taken
    }

    fn len(&self) -> usize {
        self.len
    }
}
