//! The parameters of one link that the output stage schedules by.

use super::message::duration;
use crate::error::Invalid;
use crate::id::Nanos;

/// The largest ε: beyond it the threshold lies in the flat tail of Φ and cannot be placed in time.
pub const EPSILON_MAX: f64 = 0.99;

/// What mtep and the expiry rule know of a link; the defaults are those of the experiment of S1 section 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// PD: how long a broker takes to match one message.
    pub processing_delay_ns: Nanos,
    /// LMT: how long one average message occupies this link (mean size × the link's μ).
    pub mean_transmission_ns: Nanos,
    /// ε: a success probability that is not worth sending for.
    pub epsilon: f64,
    /// The weight of the expected earning in (13), 0 to 1.
    pub weight: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self { processing_delay_ns: 2_000_000, mean_transmission_ns: 0, epsilon: 0.04, weight: 0.4 }
    }
}

impl Link {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        duration("processing_delay_ns", self.processing_delay_ns)?;
        duration("mean_transmission_ns", self.mean_transmission_ns)?;
        if !(0.0..=EPSILON_MAX).contains(&self.epsilon) {
            return Err(Invalid::new("epsilon", self.epsilon, format!("0 to {EPSILON_MAX}")));
        }
        if !(0.0..=1.0).contains(&self.weight) {
            return Err(Invalid::new("weight", self.weight, "0 to 1"));
        }
        Ok(())
    }
}

/// When a queued message is dropped because sending it is useless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    None,
    /// When its timeout or every matched deadline has passed.
    Dead,
    /// Rule (14) of S1: when its timeout has passed or no matched subscription has success above ε.
    Eps,
}

impl Expiry {
    /// Every mode, by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("none", Self::None), ("dead", Self::Dead), ("eps", Self::Eps)];

    /// The mode called `name`.
    pub fn named(name: &str) -> Result<Self, Invalid> {
        named("expiry", name, &Self::NAMES)
    }
}

/// The entry of `table` called `name`; `field` is what the caller calls the choice.
pub(super) fn named<T: Copy>(field: &str, name: &str, table: &[(&'static str, T)]) -> Result<T, Invalid> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
        Invalid::new(field, name, format!("one of {}", known.join(", ")))
    })
}
