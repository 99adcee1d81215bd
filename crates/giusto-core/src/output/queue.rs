//! A bounded output queue: validates what comes in, asks its policy what goes out, counts every loss.

use super::link::{Expiry, Link, named};
use super::message::{Outgoing, TERMS_MAX, Terms, duration};
use super::mtep::{Metrics, Work};
use super::stage::{Arrival, OutputStage};
use super::target::{Lifetime, Target};
use crate::error::Invalid;
use crate::id::Nanos;

/// The largest capacity: slots are numbered with 32 bits.
pub const CAPACITY_MAX: usize = (u32::MAX - 1) as usize;

/// What happens when a message meets a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The oldest message goes (of `priority`: the oldest of the least urgent level).
    #[default]
    DropOldest,
    /// The new message goes.
    DropNew,
    /// The new message goes, and the owner is told to disconnect the subscriber.
    Disconnect,
}

impl Overflow {
    /// Every policy, by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("drop_oldest", Self::DropOldest), ("drop_new", Self::DropNew), ("disconnect", Self::Disconnect)];

    /// The policy called `name`.
    pub fn named(name: &str) -> Result<Self, Invalid> {
        named("overflow", name, &Self::NAMES)
    }
}

/// What became of a pushed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It was taken in; others may have been lost for it.
    Queued,
    /// The queue was full, and it was not taken in.
    Refused,
    /// As `Refused`, and this subscriber is to be disconnected.
    Disconnect,
}

/// Why a message will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The expiry mode says that sending it is useless.
    Expired,
    /// A newer message needed its place.
    Evicted,
    /// It met a full queue.
    Refused,
}

/// A message that will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its token.
    pub token: u32,
    /// Why.
    pub reason: Reason,
}

/// Messages since the queue was made; `pushed` = the other four + those still queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Valid messages offered to the queue.
    pub pushed: u64,
    /// Messages that went out to be sent.
    pub popped: u64,
    /// Messages dropped by the expiry mode.
    pub expired: u64,
    /// Messages dropped for a newer one.
    pub evicted: u64,
    /// Messages not taken in.
    pub refused: u64,
}

/// One queue in front of one link.
pub struct OutputQueue {
    stage: Box<dyn OutputStage>,
    link: Link,
    lifetime: Lifetime,
    capacity: usize,
    /// Messages beyond the capacity that may be queued until as many have gone.
    expected: usize,
    overflow: Overflow,
    counts: Counts,
    /// The latest `now` that was seen: time does not go back.
    now: Nanos,
    targets: Vec<Target>,
    expired: Vec<u32>,
}

impl std::fmt::Debug for OutputQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputQueue")
            .field("len", &self.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl OutputQueue {
    /// A queue of at most `capacity` messages in front of `stage`.
    pub fn new(
        stage: Box<dyn OutputStage>,
        capacity: usize,
        overflow: Overflow,
        expiry: Expiry,
        link: Link,
    ) -> Result<Self, Invalid> {
        link.validate()?;
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(Invalid::new("capacity", capacity, format!("1 to {CAPACITY_MAX} messages")));
        }
        Ok(Self {
            stage,
            link,
            lifetime: Lifetime::new(expiry, &link),
            capacity,
            expected: 0,
            overflow,
            counts: Counts::default(),
            now: Nanos::MIN,
            targets: Vec::new(),
            expired: Vec::new(),
        })
    }

    /// Offers a message with the terms of the subscriptions that it matched (none for a plain subscriber).
    /// Whatever is lost by it, the message itself included, is appended to `lost`.
    #[inline]
    pub fn push(
        &mut self,
        now: Nanos,
        message: Outgoing,
        terms: &[Terms],
        lost: &mut Vec<Lost>,
    ) -> Result<Admission, Invalid> {
        message.validate()?;
        let message = &message;
        if terms.is_empty() {
            let alive_until_ns = self.lifetime.plain_ns(message);
            return Ok(self.admit(now, &Arrival { message, alive_until_ns, terms, targets: &[] }, lost));
        }
        self.aim(message, terms)?;
        let targets = std::mem::take(&mut self.targets);
        let alive_until_ns = self.lifetime.aimed_ns(message, terms, &targets);
        let admission = self.admit(now, &Arrival { message, alive_until_ns, terms, targets: &targets }, lost);
        self.targets = targets;
        Ok(admission)
    }

    /// The message to send at `now`; expired ones that were met are appended to `lost`.
    #[inline]
    pub fn pop(&mut self, now: Nanos, lost: &mut Vec<Lost>) -> Option<Outgoing> {
        self.now = self.now.max(now);
        let message = self.stage.pop(self.now, &mut self.expired);
        if !self.expired.is_empty() {
            self.note_expired(lost);
        }
        self.counts.popped += u64::from(message.is_some());
        self.expected = self.expected.saturating_sub(1);
        message
    }

    /// Takes out the messages whose tokens are chosen, in order: they go to another queue, as if they had never come here.
    pub fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let taken = self.stage.extract(is_chosen);
        self.counts.pushed -= taken.len() as u64;
        taken
    }

    /// So many messages come from another queue: nothing is lost for them, unless there are more than the capacity of those.
    pub fn expect(&mut self, count: usize) {
        self.expected = self.expected.saturating_add(count).min(self.capacity);
    }

    /// Messages queued, expired but not yet found ones included.
    pub fn len(&self) -> usize {
        self.stage.len()
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.stage.is_empty()
    }

    /// The most messages that may be queued.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Messages by what became of them.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The link parameters in force.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Takes a new LMT: the mean size or the link's μ was measured again.
    pub fn set_mean_transmission_ns(&mut self, mean_transmission_ns: Nanos) -> Result<(), Invalid> {
        duration("mean_transmission_ns", mean_transmission_ns)?;
        self.link.mean_transmission_ns = mean_transmission_ns;
        self.stage.set_mean_transmission_ns(mean_transmission_ns);
        Ok(())
    }

    /// EE, EP, PC and priority at `now` of the first queued message with this token, if the policy has them.
    pub fn metrics(&self, now: Nanos, token: u32) -> Option<Metrics> {
        self.stage.metrics(self.now.max(now), token)
    }

    /// How much the policy has computed so far, if it counts.
    pub fn work(&self) -> Work {
        self.stage.work()
    }

    /// Checks `terms` and makes their targets.
    fn aim(&mut self, message: &Outgoing, terms: &[Terms]) -> Result<(), Invalid> {
        if terms.len() > TERMS_MAX {
            return Err(Invalid::new("terms", terms.len(), format!("at most {TERMS_MAX} subscriptions")));
        }
        self.targets.clear();
        for (index, terms) in terms.iter().enumerate() {
            terms.validate(index, message, self.link.processing_delay_ns)?;
            self.targets.push(Target::new(message, terms, &self.link));
        }
        Ok(())
    }

    /// Takes a valid message in, or does what the overflow policy says.
    #[inline]
    fn admit(&mut self, now: Nanos, arrival: &Arrival<'_>, lost: &mut Vec<Lost>) -> Admission {
        self.now = self.now.max(now);
        self.counts.pushed += 1;
        let full = self.stage.len() >= self.capacity + self.expected && !self.make_room(lost);
        if full && self.overflow != Overflow::DropOldest {
            return self.refuse(arrival.message, lost);
        }
        self.stage.push(arrival);
        if full {
            // After the push, so that `priority` may give up the newcomer.
            self.evict(lost);
        }
        Admission::Queued
    }

    /// Drops the expired; whether there is a place now.
    #[cold]
    fn make_room(&mut self, lost: &mut Vec<Lost>) -> bool {
        self.stage.expire(self.now, &mut self.expired);
        self.note_expired(lost);
        self.stage.len() < self.capacity + self.expected
    }

    fn note_expired(&mut self, lost: &mut Vec<Lost>) {
        self.counts.expired += self.expired.len() as u64;
        lost.extend(self.expired.drain(..).map(|token| Lost { token, reason: Reason::Expired }));
    }

    fn refuse(&mut self, message: &Outgoing, lost: &mut Vec<Lost>) -> Admission {
        self.counts.refused += 1;
        lost.push(Lost { token: message.token, reason: Reason::Refused });
        if self.overflow == Overflow::Disconnect { Admission::Disconnect } else { Admission::Refused }
    }

    fn evict(&mut self, lost: &mut Vec<Lost>) {
        if let Some(message) = self.stage.evict_oldest() {
            self.counts.evicted += 1;
            lost.push(Lost { token: message.token, reason: Reason::Evicted });
        }
    }
}
