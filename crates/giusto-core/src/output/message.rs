//! What an output queue holds, and what each matched subscription pays for it.

use std::fmt::Display;

use crate::error::Invalid;
use crate::id::Nanos;

/// The most urgent message priority; 0 is the least urgent.
pub const PRIORITY_MAX: u8 = 7;
/// Bytes in the KB of the link model N(μ, σ²).
pub const BYTES_PER_KB: f64 = 1024.0;
/// The longest duration and the latest instant that the output stage accepts (73 years): sums of four fit.
pub const SPAN_NS_MAX: Nanos = Nanos::MAX / 4;
/// The deadline of a subscription that has none.
pub const NO_DEADLINE_NS: Nanos = SPAN_NS_MAX;
/// The largest price or penalty.
pub const MONEY_MAX: f64 = 1e12;
/// The most subscriptions that one message may carry terms of.
pub const TERMS_MAX: usize = 65_536;

/// A message that waits for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The owner's handle; never interpreted here.
    pub token: u32,
    /// size(e).
    pub size_bytes: u32,
    /// 0 to [`PRIORITY_MAX`].
    pub priority: u8,
    /// The publisher's timestamp.
    pub published_ns: Nanos,
    /// How long after publication the message is worth sending; 0 = for ever.
    pub timeout_ns: Nanos,
}

impl Outgoing {
    /// The last instant before the timeout passes.
    #[inline]
    pub fn timeout_at_ns(&self) -> Nanos {
        if self.timeout_ns == 0 { Nanos::MAX } else { self.published_ns.saturating_add(self.timeout_ns) }
    }

    #[inline]
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        let published = -SPAN_NS_MAX..=SPAN_NS_MAX;
        let valid = self.priority <= PRIORITY_MAX
            && published.contains(&self.published_ns)
            && (0..=SPAN_NS_MAX).contains(&self.timeout_ns);
        if valid { Ok(()) } else { Err(self.fault()) }
    }

    /// What is wrong with an invalid message.
    #[cold]
    fn fault(&self) -> Invalid {
        if self.priority > PRIORITY_MAX {
            Invalid::new("priority", self.priority, format!("0 to {PRIORITY_MAX}"))
        } else if !(0..=SPAN_NS_MAX).contains(&self.timeout_ns) {
            Invalid::new("timeout_ns", self.timeout_ns, format!("0 to {SPAN_NS_MAX}"))
        } else {
            Invalid::new("published_ns", self.published_ns, format!("within ±{SPAN_NS_MAX}"))
        }
    }
}

/// What one matched subscription, reached through this link, asks and pays, and the path to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Longest useful delay from publication to arrival ([`NO_DEADLINE_NS`] = any).
    pub deadline_ns: Nanos,
    /// Earned when the message arrives in time.
    pub price: f64,
    /// Paid when it does not.
    pub penalty: f64,
    /// Brokers on the path to the subscriber, each of which takes PD.
    pub nodenum: u32,
    /// μ of the whole path, per KB.
    pub mean_ns_per_kb: f64,
    /// σ² of the whole path, per KB².
    pub variance_ns2_per_kb2: f64,
    /// SBD: from the last broker to the subscriber.
    pub subscriber_delay_ns: Nanos,
}

impl Terms {
    /// A subscription that asks for nothing, beside others of the same client that do.
    pub const NONE: Self = Self {
        deadline_ns: NO_DEADLINE_NS,
        price: 0.0,
        penalty: 0.0,
        nodenum: 0,
        mean_ns_per_kb: 0.0,
        variance_ns2_per_kb2: 0.0,
        subscriber_delay_ns: 0,
    };

    /// Checks the terms of a subscription, for messages of at most `size_bytes`.
    pub fn check(&self, size_bytes: u32, link: &super::Link) -> Result<(), Invalid> {
        let largest = Outgoing { token: 0, size_bytes, priority: 0, published_ns: 0, timeout_ns: 0 };
        self.validate(0, &largest, link.processing_delay_ns)
    }

    /// Checks entry `index` of the terms of `message`; `processing_delay_ns` is PD.
    pub(super) fn validate(
        &self,
        index: usize,
        message: &Outgoing,
        processing_delay_ns: Nanos,
    ) -> Result<(), Invalid> {
        let longest = SPAN_NS_MAX as f64 / kilobytes(message.size_bytes).max(1.0);
        let nodes_max = if processing_delay_ns > 0 { SPAN_NS_MAX / processing_delay_ns } else { Nanos::MAX };
        // NaN is in no range.
        let fields: [(&str, bool, &dyn Display, f64); 7] = [
            (
                "deadline_ns",
                (1..=SPAN_NS_MAX).contains(&self.deadline_ns),
                &self.deadline_ns,
                SPAN_NS_MAX as f64,
            ),
            ("price", (0.0..=MONEY_MAX).contains(&self.price), &self.price, MONEY_MAX),
            ("penalty", (0.0..=MONEY_MAX).contains(&self.penalty), &self.penalty, MONEY_MAX),
            ("nodenum", Nanos::from(self.nodenum) <= nodes_max, &self.nodenum, nodes_max as f64),
            ("mean_ns_per_kb", (0.0..=longest).contains(&self.mean_ns_per_kb), &self.mean_ns_per_kb, longest),
            (
                "variance_ns2_per_kb2",
                (0.0..=longest * longest).contains(&self.variance_ns2_per_kb2),
                &self.variance_ns2_per_kb2,
                longest * longest,
            ),
            (
                "subscriber_delay_ns",
                (0..=SPAN_NS_MAX).contains(&self.subscriber_delay_ns),
                &self.subscriber_delay_ns,
                SPAN_NS_MAX as f64,
            ),
        ];
        match fields.iter().find(|(_, valid, ..)| !valid) {
            None => Ok(()),
            Some((field, _, value, most)) => {
                let least = u8::from(*field == "deadline_ns");
                let path = format!("terms[{index}].{field}");
                Err(Invalid::new(path, value, format!("{least} to {most:e}")))
            }
        }
    }
}

pub(super) fn kilobytes(size_bytes: u32) -> f64 {
    f64::from(size_bytes) / BYTES_PER_KB
}

#[inline]
pub(super) fn duration(field: &str, value: Nanos) -> Result<(), Invalid> {
    if (0..=SPAN_NS_MAX).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, value, format!("0 to {SPAN_NS_MAX}")))
}
