//! The chance that a queued message still reaches one subscription in time, and when that chance is gone.

use super::link::{Expiry, Link};
use super::message::{Outgoing, Terms, kilobytes};
use super::normal::{cumulative, quantile};
use crate::id::Nanos;

/// One matched subscription of one message, with everything of (7) that does not change while it waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The instant by which an average transmission must start: published + dl - nodenum × PD - SBD - μ × size.
    pub latest_ns: Nanos,
    /// 1 / (size × σ); infinite when the delay is certain.
    pub steepness_per_ns: f64,
    /// Earned when the message arrives in time.
    pub price: f64,
    /// Paid when it does not.
    pub penalty: f64,
}

impl Target {
    /// The target that validated `terms` make of `message`.
    pub fn new(message: &Outgoing, terms: &Terms, link: &Link) -> Self {
        let size_kb = kilobytes(message.size_bytes);
        let path_ns = i64::from(terms.nodenum)
            .saturating_mul(link.processing_delay_ns)
            .saturating_add(terms.subscriber_delay_ns)
            .saturating_add((terms.mean_ns_per_kb * size_kb).round() as Nanos);
        Self {
            latest_ns: due_ns(message, terms).saturating_sub(path_ns),
            steepness_per_ns: 1.0 / (size_kb * terms.variance_ns2_per_kb2.sqrt()),
            price: terms.price,
            penalty: terms.penalty,
        }
    }

    /// The bound on X in (7), if the transmission starts at `start_ns`.
    #[inline]
    pub fn z(&self, start_ns: Nanos) -> f64 {
        let slack_ns = self.latest_ns.saturating_sub(start_ns);
        if self.steepness_per_ns.is_finite() {
            slack_ns as f64 * self.steepness_per_ns
        } else if slack_ns >= 0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        }
    }

    /// success(S, e) of (7); success′ of (9) is the success one LMT later.
    #[inline]
    pub fn success(&self, start_ns: Nanos) -> f64 {
        cumulative(self.z(start_ns))
    }

    /// About the last instant with success above ε; `z_epsilon` is the quantile of ε.
    fn hope_ends_about_ns(&self, z_epsilon: f64) -> Nanos {
        if self.steepness_per_ns.is_finite() {
            self.latest_ns.saturating_sub((z_epsilon / self.steepness_per_ns) as Nanos)
        } else {
            self.latest_ns
        }
    }

    /// Exactly the last instant with success above ε, searched for around `guess_ns`.
    fn hope_ends_ns(&self, epsilon: f64, guess_ns: Nanos) -> Nanos {
        let hopeful = |at_ns| self.success(at_ns) > epsilon;
        let (mut low, mut high) = (guess_ns.saturating_sub(1), guess_ns);
        let mut step_ns: Nanos = 1;
        while !hopeful(low) && low > Nanos::MIN {
            (high, low) = (low, low.saturating_sub(step_ns));
            step_ns = step_ns.saturating_mul(2);
        }
        while hopeful(high) && high < Nanos::MAX {
            (low, high) = (high, high.saturating_add(step_ns));
            step_ns = step_ns.saturating_mul(2);
        }
        if hopeful(high) {
            return high;
        }
        while high.abs_diff(low) > 1 {
            let middle = low + (high.abs_diff(low) / 2) as Nanos;
            *(if hopeful(middle) { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

/// published + dl, with dl of (5).
fn due_ns(message: &Outgoing, terms: &Terms) -> Nanos {
    message.published_ns.saturating_add(terms.deadline_ns).min(message.timeout_at_ns())
}

/// Whether rule (14) drops `message` at `now`. A message without targets is dropped by its timeout alone.
pub fn expired(message: &Outgoing, targets: &[Target], epsilon: f64, now: Nanos) -> bool {
    let hopeless = |target: &Target| target.success(now) <= epsilon;
    now > message.timeout_at_ns() || (!targets.is_empty() && targets.iter().all(hopeless))
}

/// Finds the last instant at which a message is worth sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    expiry: Expiry,
    epsilon: f64,
    z_epsilon: f64,
}

impl Lifetime {
    pub(super) fn new(expiry: Expiry, link: &Link) -> Self {
        Self { expiry, epsilon: link.epsilon, z_epsilon: quantile(link.epsilon) }
    }

    /// The last instant at which a `message` without terms is not expired.
    #[inline]
    pub(super) fn plain_ns(&self, message: &Outgoing) -> Nanos {
        if self.expiry == Expiry::None { Nanos::MAX } else { message.timeout_at_ns() }
    }

    /// The last instant at which a `message` is not expired that has `terms`, of which `targets` were made.
    pub(super) fn aimed_ns(&self, message: &Outgoing, terms: &[Terms], targets: &[Target]) -> Nanos {
        let last_ns = match self.expiry {
            Expiry::None => return Nanos::MAX,
            Expiry::Dead => terms.iter().map(|terms| due_ns(message, terms)).max(),
            Expiry::Eps => self.hope_ends_ns(targets),
        };
        last_ns.map_or(Nanos::MAX, |last_ns| last_ns.min(message.timeout_at_ns()))
    }

    /// The last instant at which some target has success above ε.
    fn hope_ends_ns(&self, targets: &[Target]) -> Option<Nanos> {
        let about = |target: &Target| target.hope_ends_about_ns(self.z_epsilon);
        let last_ns = targets.iter().map(about).max()?;
        // Rounding moves an estimate by far less than this, so only these targets can be the last.
        let near = |target: &&Target| {
            let doubt_ns = 2.0 + 1e-12 * (self.z_epsilon.abs() + 1.0) / target.steepness_per_ns;
            about(target) >= last_ns.saturating_sub(doubt_ns as Nanos)
        };
        let later = |last_ns: Option<Nanos>, target: &Target| match last_ns {
            Some(last_ns) if target.success(last_ns.saturating_add(1)) <= self.epsilon => Some(last_ns),
            _ => Some(target.hope_ends_ns(self.epsilon, about(target))),
        };
        targets.iter().filter(near).fold(None, later)
    }
}
