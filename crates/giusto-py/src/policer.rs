//! The policer as Python sees it.

use giusto_core::error::Invalid;
use giusto_core::policer::{Burst, Limit, Policer as Core};
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::number::whole;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Policer>()
}

/// Which messages of a publisher keep its offer.
#[pyclass(module = "giusto._core")]
struct Policer {
    core: Core,
}

#[pymethods]
impl Policer {
    #[new]
    #[pyo3(signature = (*, min_sep_ns=None, count=None, period_ns=None, burst=None, jitter_ns=None))]
    fn new(
        min_sep_ns: Option<&Bound<'_, PyAny>>,
        count: Option<&Bound<'_, PyAny>>,
        period_ns: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        jitter_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let rate = match (min_sep_ns, count, period_ns) {
            (Some(min_sep_ns), None, None) => Limit::min_sep(whole("min_sep_ns", min_sep_ns, 1..=i64::MAX)?),
            (None, Some(count), Some(period_ns)) => Limit {
                count: whole("count", count, 1..=i64::MAX)?,
                ..Limit::min_sep(whole("period_ns", period_ns, 1..=i64::MAX)?)
            },
            _ => {
                let expected = "either min_sep_ns alone or count and period_ns together";
                return Err(Invalid::new("min_sep_ns", "ambiguous rate", expected).raise());
            }
        };
        let burst = burst.map_or(Ok(Burst::ONE), messages)?;
        let jitter_ns = jitter_ns.map_or(Ok(0), |jitter_ns| whole("jitter_ns", jitter_ns, 0..=i64::MAX))?;
        let core = Core::new(Limit { burst, jitter_ns, ..rate }).map_err(Raise::raise)?;
        Ok(Self { core })
    }

    /// Whether a message at `now` keeps the offer; if it does, it takes its token.
    fn conforms(&mut self, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.core.conforms(whole("now", now, i64::MIN..=i64::MAX)?))
    }

    #[getter]
    fn next_conforming_ns(&self) -> i64 {
        self.core.next_conforming_ns()
    }

    /// The burst as installed, jitter included: a `fractions.Fraction`.
    #[getter]
    fn installed_burst<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("fractions")?.getattr("Fraction")?.call1(self.core.installed_burst())
    }

    #[getter]
    fn accepted(&self) -> u64 {
        self.core.accepted()
    }

    #[getter]
    fn policed(&self) -> u64 {
        self.core.policed()
    }
}

/// An int, a float or a `Fraction`, exactly.
fn messages(value: &Bound<'_, PyAny>) -> PyResult<Burst> {
    let ratio = value.call_method0("as_integer_ratio").and_then(|ratio| ratio.extract::<(i64, i64)>());
    match ratio {
        Ok((numerator, denominator)) => Ok(Burst { numerator, denominator }),
        Err(_) => Err(Invalid::new("burst", value, "at least 1 message, with terms below 2^63").raise()),
    }
}
