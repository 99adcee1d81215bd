//! How large the priority of a message can be, now or during a span, without evaluating Φ.
//!
//! With N(t) = Σ [success ≥ ε] ((price + penalty) × success - penalty) at start time t, Fig. 5 computes
//!
//! ```text
//! priority(t) = EE(t) - (1 - weight) × N(t + LMT)
//! ```
//!
//! because EP cancels between (12) and (13), and success′ ≥ ε implies success ≥ ε. EE never grows with t.
//! A term of N falls until its success reaches ε and is 0 from then on. So over a span, EE at the start and
//! the least N of each term give an upper bound. Φ comes from a table with a known error.

use super::super::link::Link;
use super::super::normal::{CERTAIN, Table, quantile};
use super::super::target::Target;
use crate::id::Nanos;

/// Bounds priorities for one link.
pub(super) struct Bounds {
    pub(super) link: Link,
    table: &'static Table,
    /// Below the first, success is less than ε for certain; above the second, it is not.
    cut: (f64, f64),
}

/// Where a priority lies at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
    /// If every success is exactly 1 or below ε, the last instant until which all stay so.
    pub(super) constant_until_ns: Option<Nanos>,
}

/// Sums of Fig. 5 with their errors.
#[derive(Default)]
struct Sums {
    earning: f64,
    earning_error: f64,
    net: f64,
    net_error: f64,
    stake: f64,
}

impl Sums {
    /// What rounding can do to the exact sums and to these, for `count` targets: both add fewer than 8 numbers
    /// of at most `stake` per target, each with a relative error of 2⁻⁵³.
    fn rounding(&self, count: usize) -> f64 {
        2e-15 * (count + 8) as f64 * self.stake
    }
}

impl Bounds {
    pub(super) fn new(link: &Link) -> Self {
        let z = quantile(link.epsilon);
        let doubt = 1e-9 * (1.0 + z.abs());
        // success ≥ 0 always holds: with ε = 0 no target is ever left out.
        let cut =
            if link.epsilon > 0.0 { (z - doubt, z + doubt) } else { (f64::NEG_INFINITY, f64::NEG_INFINITY) };
        Self { link: *link, table: Table::shared(), cut }
    }

    /// An interval around the priority at `now`.
    pub(super) fn at(&self, targets: &[Target], now: Nanos) -> Interval {
        let later_ns = now.saturating_add(self.link.mean_transmission_ns);
        let mut sums = Sums::default();
        let mut constant = true;
        for target in targets {
            sums.stake += target.price + target.penalty;
            let (z, z_later) = (target.z(now), target.z(later_ns));
            if z < self.cut.0 {
                continue;
            }
            self.add_earning(&mut sums, target, z);
            self.add_net(&mut sums, target, z_later);
            constant &= z >= CERTAIN && (z_later >= CERTAIN || z_later < self.cut.0);
        }
        let share = 1.0 - self.link.weight;
        let middle = sums.earning - share * sums.net;
        let error = sums.earning_error + share * sums.net_error + sums.rounding(targets.len());
        let constant_until_ns = constant.then(|| self.constant_until_ns(targets, now));
        Interval { low: middle - error, high: middle + error, constant_until_ns }
    }

    /// An upper bound of the priority at every instant from `now` until `until_ns`.
    pub(super) fn over(&self, targets: &[Target], now: Nanos, until_ns: Nanos) -> f64 {
        let lmt_ns = self.link.mean_transmission_ns;
        let (first_ns, last_ns) = (now.saturating_add(lmt_ns), until_ns.saturating_add(lmt_ns));
        let mut sums = Sums::default();
        for target in targets {
            sums.stake += target.price + target.penalty;
            let z = target.z(now);
            if z < self.cut.0 {
                continue;
            }
            self.add_earning(&mut sums, target, z);
            let z_last = target.z(last_ns);
            if z_last > self.cut.1 {
                let (success, error) = self.table.lookup(z_last);
                let stake = target.price + target.penalty;
                sums.net += stake * success - target.penalty;
                sums.net_error += stake * error;
            } else if target.z(first_ns) >= self.cut.0 {
                sums.net += self.net_at_cut(target).min(0.0);
            }
        }
        let share = 1.0 - self.link.weight;
        let error = sums.earning_error + share * sums.net_error + sums.rounding(targets.len());
        sums.earning - share * sums.net + error
    }

    /// A term of EE and its error.
    #[inline]
    fn add_earning(&self, sums: &mut Sums, target: &Target, z: f64) {
        if z > self.cut.1 {
            let (success, error) = self.table.lookup(z);
            sums.earning += target.price * success;
            sums.earning_error += target.price * error;
        } else if z >= self.cut.0 {
            // At the cut: the term is there in full or not at all.
            sums.earning_error += target.price * (self.link.epsilon + 1e-6);
        }
    }

    /// A term of N and its error.
    #[inline]
    fn add_net(&self, sums: &mut Sums, target: &Target, z: f64) {
        if z > self.cut.1 {
            let (success, error) = self.table.lookup(z);
            let stake = target.price + target.penalty;
            sums.net += stake * success - target.penalty;
            sums.net_error += stake * error;
        } else if z >= self.cut.0 {
            sums.net_error += self.net_at_cut(target).abs() + 1e-6 * (target.price + target.penalty);
        }
    }

    /// The least value of a term of N that is still counted.
    fn net_at_cut(&self, target: &Target) -> f64 {
        (target.price + target.penalty) * self.link.epsilon - target.penalty
    }

    /// Until when each success and success′, which are all exactly 1 or below ε at `now`, stay so.
    fn constant_until_ns(&self, targets: &[Target], now: Nanos) -> Nanos {
        let later_ns = now.saturating_add(self.link.mean_transmission_ns);
        let until_ns = |target: &Target| {
            if target.z(now) < self.cut.0 {
                Nanos::MAX
            } else if target.z(later_ns) >= CERTAIN {
                certain_until_ns(target).saturating_sub(self.link.mean_transmission_ns)
            } else {
                certain_until_ns(target)
            }
        };
        // Rounding can put the computed end before an instant at which z has just been seen to suffice.
        targets.iter().map(until_ns).min().unwrap_or(Nanos::MAX).max(now)
    }
}

/// The last start time at which success is exactly 1 for certain.
fn certain_until_ns(target: &Target) -> Nanos {
    if target.steepness_per_ns.is_finite() {
        target.latest_ns.saturating_sub((CERTAIN / target.steepness_per_ns) as Nanos + 1)
    } else {
        target.latest_ns
    }
}
