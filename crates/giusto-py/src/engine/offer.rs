//! What a publisher promises, from the arguments of `advertise`.

use giusto_core::engine::Offer;
use giusto_core::frame::LIMIT_BYTES;
use giusto_core::frame::data::HEADER_BYTES;
use giusto_core::id::Nanos;
use giusto_core::policer::{Burst, Limit};
use giusto_core::queue::{Bounds, CAPACITY_MAX};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::number::{whole, whole_or};

type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The arguments as given.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfferArguments<'a, 'py> {
    pub(crate) capacity: Argument<'a, 'py>,
    pub(crate) max_size_bytes: Argument<'a, 'py>,
    pub(crate) min_sep_ns: Argument<'a, 'py>,
    pub(crate) count: Argument<'a, 'py>,
    pub(crate) period_ns: Argument<'a, 'py>,
    pub(crate) burst: Argument<'a, 'py>,
    pub(crate) jitter_ns: Argument<'a, 'py>,
}

impl OfferArguments<'_, '_> {
    /// The offer, if the arguments make one.
    pub(crate) fn offer(self) -> PyResult<Offer> {
        let default = Offer::default().bounds;
        let largest = whole_or("max_size_bytes", self.max_size_bytes, 1..=LIMIT_BYTES, default.limit_bytes)?;
        let bounds = Bounds {
            capacity: whole_or("capacity", self.capacity, 1..=CAPACITY_MAX, default.capacity)?,
            // What a client offers is the payload; what is queued is the frame.
            limit_bytes: largest.saturating_add(HEADER_BYTES as u32),
        };
        Ok(Offer { bounds, limit: self.limit()? })
    }

    /// `count` messages per `period_ns`, or one per `min_sep_ns`, if either is given.
    fn limit(self) -> PyResult<Option<Limit>> {
        let (count, period_ns) = match (self.min_sep_ns, self.count, self.period_ns) {
            (Some(min_sep_ns), None, None) => (1, whole("min_sep_ns", min_sep_ns, 1..=Nanos::MAX)?),
            (None, Some(count), Some(period_ns)) => {
                (whole("count", count, 1..=i64::MAX)?, whole("period_ns", period_ns, 1..=Nanos::MAX)?)
            }
            (None, None, None) if self.burst.or(self.jitter_ns).is_none() => return Ok(None),
            (None, None, None) => {
                let expected = "a separation that burst and jitter_ns go with";
                return Err(exception("InvalidInput", ("min_sep_ns", "None", expected)));
            }
            _ => {
                let expected = "either min_sep_ns, or count and period_ns";
                return Err(exception("InvalidInput", ("count", "given beside another rate", expected)));
            }
        };
        Ok(Some(Limit {
            count,
            period_ns,
            burst: Burst::messages(whole_or("burst", self.burst, 1..=i64::MAX, 1)?),
            jitter_ns: whole_or("jitter_ns", self.jitter_ns, 0..=Nanos::MAX, 0)?,
        }))
    }
}
