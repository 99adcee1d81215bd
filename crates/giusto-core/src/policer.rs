//! Which messages of a publisher keep its offer: a token bucket per offer, in exact integers.
//!
//! An offer of `count` messages per `period_ns` with `burst` messages at once, released with up to
//! `jitter_ns` of delay, is installed with rate ρ = count/period and burst B = burst + jitter·ρ, the
//! (B, R) of GUARANTEES.md 3.4 item 5: with min_sep and a burst of 1, B = 1 + J/min_sep. Two promises follow:
//! - a publisher that keeps its offer, each message up to J late, is never policed;
//! - what passes in any closed window of length t is at most B + ρt messages, whatever the publisher
//!   does and even if the clock runs backwards.
//!
//! How it works. A bucket that lost n messages at time t is full again at some later instant. That
//! instant (`full_at`, the theoretical arrival time of GCRA) is the whole state. Time is counted in
//! ticks so small that everything is a whole number: with burst = a/b there are count·b ticks in a
//! nanosecond, a message takes period·b ticks to be earned back, and a full bucket is worth
//! B·period·b = a·period + jitter·count·b ticks. A message conforms if `full_at` after it lies at most a
//! full bucket ahead of now. Nothing is rounded, so nothing drifts; nothing is divided.
//!
//! A publisher that offers anew does not begin anew. Its next bucket has x' = max(min(B', x), B' - d) messages left, where x
//! are those that the last one had, and d is what it owes: what was let through and has not been earned back since, under all
//! its rules. So what passes in any window is at most B + ρt with the largest B and ρ of the rules in it. Proof: let u be the
//! last change in the window at which B' - d is the larger one. Until u at most d + ∫ρ passed, since d counts it; after u at
//! most x' + ∫ρ = B' - d + ∫ρ, since tokens only come at ρ. Without such a change it is x + ∫ρ, and x <= B.
//! Who owes nothing begins with a full bucket: only what is owed has to be remembered.

use std::fmt;
use std::sync::Arc;

use crate::error::Invalid;
use crate::id::Nanos;

/// What a publisher may send, as its offer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Messages per `period_ns`.
    pub count: i64,
    /// The time that `count` messages take at the offered rate.
    pub period_ns: Nanos,
    /// Messages at once.
    pub burst: Burst,
    /// How late a message may be released.
    pub jitter_ns: Nanos,
}

impl Limit {
    /// One message per `min_sep_ns`, no burst, no jitter.
    pub const fn min_sep(min_sep_ns: Nanos) -> Self {
        Self { count: 1, period_ns: min_sep_ns, burst: Burst::ONE, jitter_ns: 0 }
    }
}

/// A number of messages that need not be whole: `numerator / denominator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Burst {
    /// Messages times `denominator`.
    pub numerator: i64,
    /// Parts of a message.
    pub denominator: i64,
}

impl Burst {
    /// One message.
    pub const ONE: Self = Self::messages(1);

    /// A whole number of messages.
    pub const fn messages(messages: i64) -> Self {
        Self { numerator: messages, denominator: 1 }
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Most ticks of a nanosecond and of a bucket. `now` in ticks is then below 2^125 and
/// `full_at` below 2^126 in size: no sum of the two leaves an i128.
const TICKS_PER_NS_MAX: i128 = 1 << 62;
const BUCKET_TICKS_MAX: i128 = 1 << 124;

/// A limit in ticks. Buckets of publishers with the same offer share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    ticks_per_ns: i64,
    message_ticks: i128,
    /// A full bucket less one message.
    slack_ticks: i128,
    separation_ns: Nanos,
}

impl Rule {
    /// The rule that `limit` is enforced by.
    pub fn new(limit: Limit) -> Result<Self, Invalid> {
        let (count, period_ns) = checked_rate(limit)?;
        let burst = checked_burst(limit.burst)?;
        if limit.jitter_ns < 0 {
            return Err(Invalid::new("jitter_ns", limit.jitter_ns, "0 or more"));
        }
        let ticks_per_ns = i128::from(count) * i128::from(burst.denominator);
        let burst_ticks = i128::from(burst.numerator) * i128::from(period_ns);
        if ticks_per_ns > TICKS_PER_NS_MAX || burst_ticks > BUCKET_TICKS_MAX {
            let expected = "terms that times count and period stay below 2^62 and 2^124";
            return Err(Invalid::new("burst", burst, expected));
        }
        let bucket_ticks = burst_ticks + i128::from(limit.jitter_ns) * ticks_per_ns;
        if bucket_ticks > BUCKET_TICKS_MAX {
            return Err(Invalid::new("jitter_ns", limit.jitter_ns, "at most 2^124 when multiplied by count"));
        }
        let message_ticks = i128::from(period_ns) * i128::from(burst.denominator);
        let slack_ticks = bucket_ticks - message_ticks;
        Ok(Self {
            ticks_per_ns: ticks_per_ns as i64,
            message_ticks,
            slack_ticks,
            separation_ns: period_ns / count,
        })
    }

    /// The burst as installed, jitter included, as `(numerator, denominator)` messages in lowest terms.
    pub fn installed_burst(&self) -> (i128, i128) {
        let bucket_ticks = self.slack_ticks + self.message_ticks;
        let common = gcd(bucket_ticks, self.message_ticks);
        (bucket_ticks / common, self.message_ticks / common)
    }

    /// Time between two messages at the limit's rate, in whole nanoseconds rounded down.
    pub const fn separation_ns(&self) -> Nanos {
        self.separation_ns
    }

    fn now_ticks(&self, now: Nanos) -> i128 {
        i128::from(now) * i128::from(self.ticks_per_ns)
    }

    /// The first nanosecond that is not before an instant in ticks.
    fn instant_ns(&self, ticks: i128) -> Nanos {
        let ticks_per_ns = i128::from(self.ticks_per_ns);
        let rounds_up = i128::from(ticks.rem_euclid(ticks_per_ns) != 0);
        let earliest_ns = ticks.div_euclid(ticks_per_ns) + rounds_up;
        earliest_ns.clamp(i64::MIN.into(), i64::MAX.into()) as Nanos
    }
}

/// Debts are handed from rule to rule in such parts of a message, rounded up.
const PARTS: i128 = 1 << 32;
/// More messages than are ever let through.
const MESSAGES_MAX: i128 = 1 << 90;

impl Rule {
    fn bucket_ticks(&self) -> i128 {
        self.slack_ticks + self.message_ticks
    }

    /// Ticks as parts of a message, rounded up.
    fn parts_up(&self, ticks: i128) -> i128 {
        -self.parts_down(-ticks)
    }

    /// Ticks as parts of a message, rounded down.
    fn parts_down(&self, ticks: i128) -> i128 {
        let (whole, part) = (ticks.div_euclid(self.message_ticks), ticks.rem_euclid(self.message_ticks));
        // Both so small that the product fits; less of a larger message is not more of it.
        let shift = (128 - self.message_ticks.leading_zeros()).saturating_sub(94);
        let (part, message) = (part >> shift, (self.message_ticks >> shift) + i128::from(shift > 0));
        whole.clamp(-MESSAGES_MAX, MESSAGES_MAX) * PARTS + part * PARTS / message
    }

    /// Parts of a message as ticks, rounded up.
    fn ticks_up(&self, parts: i128) -> i128 {
        let (whole, part) = (parts / PARTS, parts % PARTS);
        let fine = (self.message_ticks % PARTS * part + PARTS - 1) / PARTS;
        let coarse = whole.saturating_mul(self.message_ticks);
        (self.message_ticks / PARTS * part + fine).saturating_add(coarse).min(BUCKET_TICKS_MAX)
    }
}

/// A token bucket; full when it is made, unless it goes on from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    rule: Arc<Rule>,
    /// When the bucket is full again.
    full_at: i128,
    /// When nothing is owed any more: later, if an earlier rule has allowed more.
    clear_at: i128,
    /// The bucket that this one goes on from with its first message.
    before: Option<Box<Bucket>>,
}

impl Bucket {
    /// A full bucket.
    pub fn new(rule: Arc<Rule>) -> Self {
        Self { rule, full_at: i128::MIN, clear_at: i128::MIN, before: None }
    }

    /// An empty bucket, of a publisher that may owe something until `clear_ns`.
    pub fn empty(rule: Arc<Rule>, now: Nanos, clear_ns: Nanos) -> Self {
        let full_at = rule.now_ticks(now) + rule.bucket_ticks();
        let clear_at = full_at.max(rule.now_ticks(clear_ns));
        Self { rule, full_at, clear_at, before: None }
    }

    /// The bucket of a publisher that offers anew: it goes on, under this rule.
    pub fn go_on(self, rule: Arc<Rule>) -> Self {
        let is_used = self.full_at != i128::MIN;
        match self.before {
            // Nothing was asked of it: all is as before.
            Some(before) if !is_used => before.go_on(rule),
            _ if *self.rule == *rule => self,
            _ if !is_used => Self::new(rule),
            _ => Self { before: Some(Box::new(self)), ..Self::new(rule) },
        }
    }

    /// Whether a message at `now` keeps the offer. If it does, it takes its token.
    ///
    /// A `now` before an earlier one finds the bucket as the earlier ones left it, or emptier: going
    /// back never earns a token, and going forth again earns only what it would have earned once.
    #[inline]
    pub fn conforms(&mut self, now: Nanos) -> bool {
        if self.before.is_some() {
            self.take_over(now);
        }
        let now_ticks = self.rule.now_ticks(now);
        if self.full_at > now_ticks + self.rule.slack_ticks {
            return false;
        }
        self.full_at = self.full_at.max(now_ticks) + self.rule.message_ticks;
        self.clear_at = self.clear_at.max(now_ticks).saturating_add(self.rule.message_ticks);
        true
    }

    /// Begins with what the bucket before has left, and owes what that owes.
    #[cold]
    fn take_over(&mut self, now: Nanos) {
        let Some(before) = self.before.take() else { return };
        let since_ticks = before.rule.now_ticks(now);
        let spent_ticks = (before.full_at - since_ticks).max(0);
        let owed_ticks = before.clear_at.saturating_sub(since_ticks).max(0);
        let left = before.rule.parts_down(before.rule.bucket_ticks() - spent_ticks);
        let owed = before.rule.parts_up(owed_ticks);
        let spent = (self.rule.parts_up(self.rule.bucket_ticks()) - left).min(owed).max(0);
        let now_ticks = self.rule.now_ticks(now);
        self.full_at = now_ticks + self.rule.ticks_up(spent);
        self.clear_at = now_ticks + self.rule.ticks_up(owed);
    }

    /// When nothing is owed any more: a new bucket is as good as this one then. `None` if nothing ever was.
    pub fn clear_ns(&self) -> Option<Nanos> {
        match &self.before {
            Some(before) => before.clear_ns(),
            None => (self.clear_at != i128::MIN).then(|| self.rule.instant_ns(self.clear_at)),
        }
    }

    /// What the bucket enforces.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

/// A bucket that counts what it decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policer {
    bucket: Bucket,
    accepted: u64,
    policed: u64,
}

impl Policer {
    /// A full bucket for `limit`.
    pub fn new(limit: Limit) -> Result<Self, Invalid> {
        Ok(Self { bucket: Bucket::new(Arc::new(Rule::new(limit)?)), accepted: 0, policed: 0 })
    }

    /// Whether a message at `now` keeps the offer, see [`Bucket::conforms`].
    #[inline]
    pub fn conforms(&mut self, now: Nanos) -> bool {
        let conforms = self.bucket.conforms(now);
        self.accepted += u64::from(conforms);
        self.policed += u64::from(!conforms);
        conforms
    }

    /// The earliest instant at which a message conforms: every `now` from there on does, none before.
    /// Saturates at the ends of time.
    pub fn next_conforming_ns(&self) -> Nanos {
        let rule = &self.bucket.rule;
        rule.instant_ns(self.bucket.full_at.saturating_sub(rule.slack_ticks))
    }

    /// The burst as installed, see [`Rule::installed_burst`].
    pub fn installed_burst(&self) -> (i128, i128) {
        self.bucket.rule.installed_burst()
    }

    /// Messages that kept the offer.
    pub const fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Messages that did not.
    pub const fn policed(&self) -> u64 {
        self.policed
    }
}

/// Count and period in lowest terms.
fn checked_rate(limit: Limit) -> Result<(i64, i64), Invalid> {
    if limit.count < 1 {
        return Err(Invalid::new("count", limit.count, "at least 1 message per period"));
    }
    if limit.period_ns < 1 {
        return Err(Invalid::new("period_ns", limit.period_ns, "at least 1 ns"));
    }
    let common = gcd(limit.count.into(), limit.period_ns.into()) as i64;
    Ok((limit.count / common, limit.period_ns / common))
}

/// The burst in lowest terms.
fn checked_burst(burst: Burst) -> Result<Burst, Invalid> {
    let Burst { numerator, denominator } = burst;
    if denominator < 1 || numerator < denominator {
        return Err(Invalid::new("burst", burst, "at least 1 message"));
    }
    let common = gcd(numerator.into(), denominator.into()) as i64;
    Ok(Burst { numerator: numerator / common, denominator: denominator / common })
}

/// Greatest common divisor of two positive numbers.
fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_billion_messages_the_bucket_stands_where_it_must() {
        let mut policer = Policer::new(Limit {
            count: 3,
            period_ns: 1_000_000_000,
            burst: Burst::messages(2),
            jitter_ns: 0,
        })
        .unwrap();
        assert!(policer.conforms(0));
        for n in 0..1_000_000_i64 {
            let earliest_ns = (n * 1_000_000_000 + 2) / 3;
            assert!(n == 0 || policer.next_conforming_ns() == earliest_ns);
            assert!(policer.conforms(earliest_ns));
        }
        // At this pace each message moves `full_at` on by exactly one message: skip to 10^9 of them.
        policer.bucket.full_at += (1_000_000_000 - 1_000_000) * policer.bucket.rule.message_ticks;
        assert_eq!(policer.next_conforming_ns(), 333_333_333_333_333_334);
        assert!(!policer.clone().conforms(333_333_333_333_333_333));
        assert!(policer.conforms(333_333_333_333_333_334));
    }
}
