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

/// How much may wait in a queue; one message may always wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Messages, 1 to [`CAPACITY_MAX`].
    pub messages: usize,
    /// Bytes of them.
    pub bytes: u64,
}

impl From<usize> for Room {
    /// So many messages, whatever their size.
    fn from(messages: usize) -> Self {
        Self { messages, bytes: u64::MAX }
    }
}

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
    room: Room,
    /// Messages beyond the room that may be queued until as many have gone, and bytes.
    expected: usize,
    expected_bytes: u64,
    /// Of all messages that are queued.
    bytes: u64,
    overflow: Overflow,
    counts: Counts,
    /// The latest `now` that was seen: time does not go back.
    now: Nanos,
    targets: Vec<Target>,
    expired: Vec<Outgoing>,
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
    /// A queue in front of `stage`.
    pub fn new(
        stage: Box<dyn OutputStage>,
        room: Room,
        overflow: Overflow,
        expiry: Expiry,
        link: Link,
    ) -> Result<Self, Invalid> {
        link.validate()?;
        if !(1..=CAPACITY_MAX).contains(&room.messages) {
            return Err(Invalid::new("capacity", room.messages, format!("1 to {CAPACITY_MAX} messages")));
        }
        Ok(Self {
            stage,
            link,
            lifetime: Lifetime::new(expiry, &link),
            room,
            expected: 0,
            expected_bytes: 0,
            bytes: 0,
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
        match &message {
            Some(message) => self.leave(message),
            None => (self.expected, self.expected_bytes) = (0, 0),
        }
        message
    }

    /// Takes out the messages whose tokens are chosen, in order: they go to another queue, as if they had never come here.
    pub fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let taken = self.stage.extract(is_chosen);
        self.counts.pushed -= taken.len() as u64;
        self.bytes -= taken.iter().map(|message| u64::from(message.size_bytes)).sum::<u64>();
        taken
    }

    /// These messages come from another queue: nothing is lost for them, unless there is no room for that many alone.
    pub fn expect(&mut self, messages: &[Outgoing]) {
        let bytes: u64 = messages.iter().map(|message| u64::from(message.size_bytes)).sum();
        self.expected = self.expected.saturating_add(messages.len()).min(self.room.messages);
        self.expected_bytes = self.expected_bytes.saturating_add(bytes).min(self.room.bytes);
    }

    /// Messages queued, expired but not yet found ones included.
    pub fn len(&self) -> usize {
        self.stage.len()
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.stage.is_empty()
    }

    /// Bytes of the messages queued.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much may be queued.
    pub fn room(&self) -> Room {
        self.room
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
        let size_bytes = u64::from(arrival.message.size_bytes);
        let full = !self.has_room(1, size_bytes) && !self.make_room(size_bytes, lost);
        if full && self.overflow != Overflow::DropOldest {
            return self.refuse(arrival.message, lost);
        }
        self.stage.push(arrival);
        self.bytes += size_bytes;
        if full {
            // After the push, so that `priority` may give up the newcomer.
            self.evict(lost);
        }
        Admission::Queued
    }

    /// Whether so much more may be queued; one message may always wait.
    #[inline]
    fn has_room(&self, messages: usize, bytes: u64) -> bool {
        let (len, limit_bytes) =
            (self.stage.len() + messages, self.room.bytes.saturating_add(self.expected_bytes));
        len <= self.room.messages + self.expected && (self.bytes + bytes <= limit_bytes || len <= 1)
    }

    /// Drops the expired; whether there is room for one more message of this size now.
    #[cold]
    fn make_room(&mut self, size_bytes: u64, lost: &mut Vec<Lost>) -> bool {
        self.stage.expire(self.now, &mut self.expired);
        self.note_expired(lost);
        self.has_room(1, size_bytes)
    }

    fn note_expired(&mut self, lost: &mut Vec<Lost>) {
        self.counts.expired += self.expired.len() as u64;
        self.bytes -= self.expired.iter().map(|message| u64::from(message.size_bytes)).sum::<u64>();
        let expired = self.expired.drain(..);
        lost.extend(expired.map(|message| Lost { token: message.token, reason: Reason::Expired }));
    }

    /// A message goes out: its place is free, unless it was one too many.
    #[inline]
    fn leave(&mut self, message: &Outgoing) {
        self.counts.popped += 1;
        let size_bytes = u64::from(message.size_bytes);
        self.bytes -= size_bytes;
        self.expected = self.expected.saturating_sub(1);
        self.expected_bytes = self.expected_bytes.saturating_sub(size_bytes);
    }

    fn refuse(&mut self, message: &Outgoing, lost: &mut Vec<Lost>) -> Admission {
        self.counts.refused += 1;
        lost.push(Lost { token: message.token, reason: Reason::Refused });
        if self.overflow == Overflow::Disconnect { Admission::Disconnect } else { Admission::Refused }
    }

    /// A large message may take the place of several. There are no more of those than ever came: it costs little on average.
    fn evict(&mut self, lost: &mut Vec<Lost>) {
        while !self.has_room(0, 0) {
            let Some(message) = self.stage.evict_oldest() else { return };
            self.bytes -= u64::from(message.size_bytes);
            self.counts.evicted += 1;
            lost.push(Lost { token: message.token, reason: Reason::Evicted });
        }
    }
}
