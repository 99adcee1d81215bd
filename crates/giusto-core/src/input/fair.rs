//! Fair shares in virtual time ([Bauer07] IV-B as corrected in GUARANTEES 2.1).
//!
//! `S = max(v, S_prev + 1/r)`, `F = S + d`, least F first, `v := F` of the slot used, everything
//! reset when the server goes idle. With d = 1/r this is self-clocked fair queueing; a smaller d
//! brings a topic forward without changing its share.
//!
//! Tags are integers. Virtual time is counted in 1/[`TICKS`]; where 1/r is no whole number of ticks
//! the remainder is carried, so that the j-th tag of a chain is ⌊S₀ + j·TICKS/r⌋ exactly: the error
//! stays below one tick however long the chain is.

use crate::error::Invalid;
use crate::id::Nanos;
use crate::input::Share;
use crate::input::tags::Tagging;

/// Ticks in one unit of virtual time: divisible by 1 to 20 and by 10⁷, so that usual rates are exact.
/// At ten million messages per second it takes 200 years without an idle moment to run out of tags.
pub const TICKS: u64 = 232_792_560_000_000;

/// Largest rate of a topic.
pub const RATE_MAX: u32 = 1 << 31;

/// Above every tag that a slot can have.
const TAG_MAX: u128 = (1 << 104) - 1;

/// Busy period of a topic that has had no slot.
const NEVER: u64 = u64::MAX;

/// One cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Topic {
    /// 0: no share.
    rate: u32,
    /// TICKS / rate, and what is left over.
    step: u64,
    remainder: u32,
    deadline: u64,
    /// S of the last slot, and the part of a tick that it is late.
    start: u128,
    carry: u32,
    /// Busy period of the last slot: a chain does not outlive it.
    period: u64,
}

impl Topic {
    const VACANT: Self =
        Self { rate: 0, step: 0, remainder: 0, deadline: 0, start: 0, carry: 0, period: NEVER };

    fn new(share: &Share) -> Self {
        let rate = u64::from(share.rate);
        Self {
            rate: share.rate,
            step: TICKS / rate,
            remainder: (TICKS % rate) as u32,
            deadline: share.virtual_deadline.unwrap_or(TICKS / rate),
            ..Self::VACANT
        }
    }

    /// S_prev + 1/r.
    fn chain(&mut self) -> u128 {
        self.carry += self.remainder;
        let whole = self.carry >= self.rate;
        self.carry -= if whole { self.rate } else { 0 };
        self.start + u128::from(self.step) + u128::from(whole)
    }
}

/// Tags of `fair`.
#[derive(Debug, Default)]
pub(super) struct Fair {
    topics: Vec<Topic>,
    /// Virtual time v: F of the slot used last.
    virtual_time: u128,
    /// Number of the busy period, and whether a slot was used in it.
    period: u64,
    busy: bool,
}

impl Tagging for Fair {
    fn check(&self, share: &Share) -> Result<(), Invalid> {
        if !(1..=RATE_MAX).contains(&share.rate) {
            return Err(Invalid::new("rate", share.rate, format!("a whole number from 1 to {RATE_MAX}")));
        }
        let longest = TICKS / u64::from(share.rate);
        match share.virtual_deadline {
            Some(deadline) if deadline > longest => {
                let expected = format!("at most 1/rate, which is {longest} ticks");
                Err(Invalid::new("virtual_deadline", deadline, expected))
            }
            _ => Ok(()),
        }
    }

    fn allot(&mut self, topic: usize, share: &Share) {
        if topic >= self.topics.len() {
            self.topics.resize(topic + 1, Topic::VACANT);
        }
        let before = &self.topics[topic];
        self.topics[topic] = Topic { start: before.start, period: before.period, ..Topic::new(share) };
    }

    fn reserve(&mut self, topics: usize) {
        self.topics.reserve(topics);
    }

    fn withdraw(&mut self, topic: usize) {
        self.topics.get_mut(topic).into_iter().for_each(|topic| *topic = Topic::VACANT);
    }

    #[inline]
    fn tag(&mut self, topic: usize, _oldest_ns: impl FnOnce() -> Nanos) -> u128 {
        let Some(topic) = self.topics.get_mut(topic) else { return TAG_MAX };
        let chained = if topic.period == self.period { topic.chain() } else { 0 };
        if topic.period != self.period || chained < self.virtual_time {
            (topic.period, topic.carry) = (self.period, 0);
            topic.start = self.virtual_time;
        } else {
            topic.start = chained;
        }
        topic.start + u128::from(topic.deadline)
    }

    #[inline]
    fn used(&mut self, tag: u128) {
        self.virtual_time = tag;
        self.busy = true;
    }

    #[inline]
    fn idle(&mut self) {
        if self.busy {
            self.virtual_time = 0;
            self.period += 1;
            self.busy = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(rate: u32) -> Topic {
        Topic::new(&Share { rate, ..Share::default() })
    }

    #[test]
    fn the_jth_tag_of_a_chain_is_exact_for_any_rate() {
        for rate in [1, 3, 7, 97, 1_000, 999_983, (1 << 31) - 1] {
            let mut topic = topic(rate);
            for j in 1..=10_000u128 {
                topic.start = topic.chain();
                assert_eq!(topic.start, j * u128::from(TICKS) / u128::from(rate), "rate {rate}, tag {j}");
            }
        }
    }

    #[test]
    fn there_is_no_drift_after_a_billion_messages() {
        const MESSAGES: u128 = 1_000_000_000;
        let (mut odd, mut exact) = (topic(999_983), topic(1_000_000));
        for _ in 0..MESSAGES {
            odd.start = odd.chain();
            exact.start = exact.chain();
        }
        assert_eq!(odd.start, MESSAGES * u128::from(TICKS) / 999_983);
        assert_eq!(exact.start, MESSAGES * u128::from(TICKS) / 1_000_000);
    }
}
