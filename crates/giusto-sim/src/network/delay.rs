//! How long a message occupies a link.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{BYTES_PER_KB, SPAN_NS_MAX};

use super::chance::Chance;

/// A delay model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// N(μ, σ²) per KB: one draw per message, scaled by its size, drawn again if not positive (S1 2.1.2).
    Normal {
        /// μ.
        mean_ns_per_kb: f64,
        /// σ.
        deviation_ns_per_kb: f64,
    },
    /// The same for every message.
    Constant {
        /// How long.
        delay_ns: Nanos,
    },
    /// As long as its bits take.
    Bandwidth {
        /// Bits per second.
        bits_per_s: u64,
        /// What is sent beside each message.
        overhead_bytes: u32,
        /// The least that is sent.
        least_bytes: u32,
    },
}

const NS_PER_S: u128 = 1_000_000_000;

impl Delay {
    /// Refuses what is no delay, with the name of the field.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let most = SPAN_NS_MAX as f64;
        match *self {
            Self::Normal { mean_ns_per_kb, deviation_ns_per_kb } => {
                let expected = "a number of nanoseconds, 0 or more";
                if !(0.0..=most).contains(&mean_ns_per_kb) {
                    return Err(Invalid::new("mean_ns_per_kb", mean_ns_per_kb, expected));
                }
                if !(0.0..=most).contains(&deviation_ns_per_kb) {
                    return Err(Invalid::new("deviation_ns_per_kb", deviation_ns_per_kb, expected));
                }
                Ok(())
            }
            Self::Constant { delay_ns } if !(0..=SPAN_NS_MAX).contains(&delay_ns) => {
                Err(Invalid::new("delay_ns", delay_ns, format!("0 to {SPAN_NS_MAX}")))
            }
            Self::Bandwidth { bits_per_s: 0, .. } => {
                Err(Invalid::new("bits_per_s", 0, "at least 1 bit per second"))
            }
            Self::Constant { .. } | Self::Bandwidth { .. } => Ok(()),
        }
    }

    /// How long this message takes.
    #[inline]
    pub(super) fn draw(&self, size_bytes: u32, chance: &mut Chance) -> Nanos {
        match *self {
            Self::Normal { mean_ns_per_kb, deviation_ns_per_kb } if deviation_ns_per_kb > 0.0 => loop {
                let rate = mean_ns_per_kb + deviation_ns_per_kb * chance.normal();
                if rate > 0.0 {
                    return (rate * kilobytes(size_bytes)).round() as Nanos;
                }
            },
            _ => self.mean_ns(size_bytes),
        }
    }

    /// How long a message of this size takes on average; the draws that are repeated are left out.
    pub(super) fn mean_ns(&self, size_bytes: u32) -> Nanos {
        match *self {
            Self::Normal { mean_ns_per_kb, .. } => (mean_ns_per_kb * kilobytes(size_bytes)).round() as Nanos,
            Self::Constant { delay_ns } => delay_ns,
            Self::Bandwidth { bits_per_s, overhead_bytes, least_bytes } => {
                let bytes = (u64::from(size_bytes) + u64::from(overhead_bytes)).max(least_bytes.into());
                let ns = (u128::from(bytes) * 8 * NS_PER_S).div_ceil(bits_per_s.into());
                Nanos::try_from(ns).unwrap_or(Nanos::MAX)
            }
        }
    }

    /// What a scheduler is told of it: mean and variance per KB, and what does not depend on the size.
    pub(super) fn model(&self) -> (f64, f64, Nanos) {
        match *self {
            Self::Normal { mean_ns_per_kb, deviation_ns_per_kb } => {
                (mean_ns_per_kb, deviation_ns_per_kb * deviation_ns_per_kb, 0)
            }
            Self::Constant { delay_ns } => (0.0, 0.0, delay_ns),
            Self::Bandwidth { bits_per_s, overhead_bytes, .. } => {
                let mean_ns_per_kb = BYTES_PER_KB * 8.0 * NS_PER_S as f64 / bits_per_s as f64;
                // Not the least frame: beside the time per KB it would count a small message twice.
                let alone = Self::Bandwidth { bits_per_s, overhead_bytes, least_bytes: 0 };
                (mean_ns_per_kb, 0.0, alone.mean_ns(0))
            }
        }
    }
}

fn kilobytes(size_bytes: u32) -> f64 {
    f64::from(size_bytes) / BYTES_PER_KB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_take_as_long_as_the_bandwidth_says_rounded_up() {
        let ten = Delay::Bandwidth { bits_per_s: 10_000_000, overhead_bytes: 0, least_bytes: 64 };
        assert_eq!(ten.mean_ns(8), 51_200);
        assert_eq!(ten.mean_ns(64), 51_200);
        assert_eq!(ten.mean_ns(65), 52_000);
        let odd = Delay::Bandwidth { bits_per_s: 3, overhead_bytes: 1, least_bytes: 0 };
        assert_eq!(odd.mean_ns(0), 2_666_666_667);
    }

    #[test]
    fn a_normal_delay_is_positive_and_scales_with_the_size() {
        let delay = Delay::Normal { mean_ns_per_kb: 1e6, deviation_ns_per_kb: 5e6 };
        let mut chance = Chance::new(3, &["delay"]);
        assert!((0..10_000).all(|_| delay.draw(1024, &mut chance) > 0));
        let (mut one, mut two) = (Chance::new(4, &["delay"]), Chance::new(4, &["delay"]));
        let (large, small) = (delay.draw(2048, &mut one), delay.draw(1024, &mut two));
        assert!(large.abs_diff(2 * small) <= 1, "{large} is twice {small} before both are rounded");
    }
}
