//! What a subscription asks of the engine.

use giusto_core::engine::Need;
use giusto_core::id::Nanos;
use giusto_core::output::{NO_DEADLINE_NS, SPAN_NS_MAX, Terms};
use pyo3::prelude::*;

use crate::errors::whole;

/// Deadline, price, penalty and path of a subscription, and the bound that was proved for it.
#[pyclass(name = "Need", module = "giusto._core", frozen, from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct PyNeed(pub(crate) Need);

#[pymethods]
impl PyNeed {
    #[new]
    #[pyo3(signature = (
        *, deadline_ns=None, price=0.0, penalty=0.0, nodenum=None, mean_ns_per_kb=0.0, variance_ns2_per_kb2=0.0,
        subscriber_delay_ns=None, bound_ns=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        deadline_ns: Option<&Bound<'_, PyAny>>,
        price: f64,
        penalty: f64,
        nodenum: Option<&Bound<'_, PyAny>>,
        mean_ns_per_kb: f64,
        variance_ns2_per_kb2: f64,
        subscriber_delay_ns: Option<&Bound<'_, PyAny>>,
        bound_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let deadline_ns = match deadline_ns {
            Some(value) => whole("deadline_ns", value, 1..=SPAN_NS_MAX)?,
            None => NO_DEADLINE_NS,
        };
        let terms = Terms {
            deadline_ns,
            price,
            penalty,
            nodenum: nodenum.map_or(Ok(0), |value| whole("nodenum", value, 0..=u32::MAX))?,
            mean_ns_per_kb,
            variance_ns2_per_kb2,
            subscriber_delay_ns: subscriber_delay_ns
                .map_or(Ok(0), |value| whole("subscriber_delay_ns", value, 0..=SPAN_NS_MAX))?,
        };
        let bound_ns = bound_ns.map(|value| whole("bound_ns", value, 0..=Nanos::MAX)).transpose()?;
        let terms = (terms != Terms::NONE).then_some(terms);
        Ok(Self(Need { terms, bound_ns }))
    }
}
