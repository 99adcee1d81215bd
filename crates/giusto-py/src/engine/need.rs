//! What a subscription asks of the engine.

use giusto_core::engine::Need;
use giusto_core::output::{MONEY_MAX, NO_DEADLINE_NS, SPAN_NS_MAX, Terms};
use pyo3::prelude::*;

use crate::number::{real_or, whole, whole_or};

/// Deadline, price, penalty and path of a subscription, and the bound that was proved for it.
#[pyclass(name = "Need", module = "giusto._core", frozen, from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct PyNeed(pub(crate) Need);

#[pymethods]
impl PyNeed {
    #[new]
    #[pyo3(signature = (
        *, deadline_ns=None, price=None, penalty=None, nodenum=None, mean_ns_per_kb=None,
        variance_ns2_per_kb2=None, subscriber_delay_ns=None, bound_ns=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        deadline_ns: Option<&Bound<'_, PyAny>>,
        price: Option<&Bound<'_, PyAny>>,
        penalty: Option<&Bound<'_, PyAny>>,
        nodenum: Option<&Bound<'_, PyAny>>,
        mean_ns_per_kb: Option<&Bound<'_, PyAny>>,
        variance_ns2_per_kb2: Option<&Bound<'_, PyAny>>,
        subscriber_delay_ns: Option<&Bound<'_, PyAny>>,
        bound_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let terms = Terms {
            deadline_ns: whole_or("deadline_ns", deadline_ns, 1..=SPAN_NS_MAX, NO_DEADLINE_NS)?,
            price: real_or("price", price, MONEY_MAX, 0.0)?,
            penalty: real_or("penalty", penalty, MONEY_MAX, 0.0)?,
            nodenum: whole_or("nodenum", nodenum, 0..=u32::MAX, 0)?,
            mean_ns_per_kb: real_or("mean_ns_per_kb", mean_ns_per_kb, SPAN_NS_MAX as f64, 0.0)?,
            variance_ns2_per_kb2: real_or(
                "variance_ns2_per_kb2",
                variance_ns2_per_kb2,
                (SPAN_NS_MAX as f64).powi(2),
                0.0,
            )?,
            subscriber_delay_ns: whole_or("subscriber_delay_ns", subscriber_delay_ns, 0..=SPAN_NS_MAX, 0)?,
        };
        let bound_ns = bound_ns.map(|value| whole("bound_ns", value, 0..=i64::MAX)).transpose()?;
        let terms = (terms != Terms::NONE).then_some(terms);
        Ok(Self(Need { terms, bound_ns }))
    }
}
