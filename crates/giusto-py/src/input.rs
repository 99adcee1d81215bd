//! Input policies and the virtual-time server that drives one.

use giusto_core::input::{RATE_MAX, REGISTRY, Share, TICKS, WEIGHT_MAX};
use giusto_sim::server::{Arrival, Change, Flow, Run, Server, Ties};
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::number::{whole, whole_or};
use crate::policy::{Complaint, PythonInput};

/// What a topic is allotted; a policy reads the fields that it knows.
#[pyclass(name = "Share", module = "giusto._core", frozen, eq, from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct PyShare(pub(crate) Share);

#[pymethods]
impl PyShare {
    #[new]
    #[pyo3(signature = (*, weight=None, rate=None, virtual_deadline=None, period_ns=None, deadline_ns=None))]
    fn new(
        weight: Option<&Bound<'_, PyAny>>,
        rate: Option<&Bound<'_, PyAny>>,
        virtual_deadline: Option<&Bound<'_, PyAny>>,
        period_ns: Option<&Bound<'_, PyAny>>,
        deadline_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let default = Share::default();
        let ticks = virtual_deadline.map(|value| whole("virtual_deadline", value, 0..=u64::MAX));
        Ok(Self(Share {
            weight: whole_or("weight", weight, 1..=WEIGHT_MAX, default.weight)?,
            rate: whole_or("rate", rate, 1..=RATE_MAX, default.rate)?,
            virtual_deadline: ticks.transpose()?,
            period_ns: whole_or("period_ns", period_ns, 1..=i64::MAX, default.period_ns)?,
            deadline_ns: whole_or("deadline_ns", deadline_ns, 1..=i64::MAX, default.deadline_ns)?,
        }))
    }

    #[getter]
    fn weight(&self) -> u32 {
        self.0.weight
    }

    #[getter]
    fn rate(&self) -> u32 {
        self.0.rate
    }

    #[getter]
    fn virtual_deadline(&self) -> Option<u64> {
        self.0.virtual_deadline
    }

    #[getter]
    fn period_ns(&self) -> i64 {
        self.0.period_ns
    }

    #[getter]
    fn deadline_ns(&self) -> i64 {
        self.0.deadline_ns
    }

    fn __repr__(&self) -> String {
        let Share { weight, rate, virtual_deadline, period_ns, deadline_ns } = self.0;
        let deadline = virtual_deadline.map_or_else(|| "None".to_owned(), |ticks| ticks.to_string());
        format!(
            "Share(weight={weight}, rate={rate}, virtual_deadline={deadline}, period_ns={period_ns}, deadline_ns={deadline_ns})"
        )
    }
}

/// Names and one-line descriptions of every input policy.
#[pyfunction]
fn input_policies() -> Vec<(&'static str, &'static str)> {
    REGISTRY.iter().map(|policy| (policy.name, policy.summary)).collect()
}

/// What a virtual-time run did.
#[pyclass(name = "ServerRun", module = "giusto._core", frozen)]
struct PyRun(Run);

#[pymethods]
impl PyRun {
    /// (arrival, selected_ns, completed_ns) in the order of completion.
    #[getter]
    fn completions(&self) -> Vec<(u32, i64, i64)> {
        self.0.completions.iter().map(|done| (done.arrival, done.selected_ns, done.completed_ns)).collect()
    }

    /// Arrivals that found their queue full.
    #[getter]
    fn overflow(&self) -> Vec<u32> {
        self.0.overflow.clone()
    }

    /// Time during which something was served.
    #[getter]
    fn busy_ns(&self) -> i64 {
        self.0.busy_ns
    }
}

/// Serves arrivals with one processor in virtual time, by the named input policy or one made by the caller.
///
/// flows are (client, topic, capacity); arrivals are (at_ns, flow, priority, size_bytes) in the order of time;
/// changes are (at_ns, topic, share). At one instant an arrival can still be chosen for the quantum that begins
/// then, unless service_first.
#[pyfunction]
#[pyo3(signature = (policy, *, shares, service_ns, flows, arrivals, changes=Vec::new(), fragment_bytes=65536, service_first=false))]
#[allow(clippy::too_many_arguments)]
fn serve(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    shares: Vec<PyShare>,
    service_ns: Vec<i64>,
    flows: Vec<(u32, u32, u32)>,
    arrivals: Vec<(i64, u32, u8, u32)>,
    changes: Vec<(i64, u32, PyShare)>,
    fragment_bytes: u32,
    service_first: bool,
) -> PyResult<PyRun> {
    let name = policy.extract::<String>().ok();
    let server = Server {
        policy: name.clone().unwrap_or_default(),
        shares: shares.into_iter().map(|share| share.0).collect(),
        service_ns,
        flows: flows.into_iter().map(|(client, topic, capacity)| Flow { client, topic, capacity }).collect(),
        fragment_bytes,
        ties: if service_first { Ties::ServiceFirst } else { Ties::ArrivalFirst },
    };
    let arrival = |(at_ns, flow, priority, size_bytes)| Arrival { at_ns, flow, priority, size_bytes };
    let arrivals: Vec<Arrival> = arrivals.into_iter().map(arrival).collect();
    let change = |(at_ns, topic, share): (i64, u32, PyShare)| Change { at_ns, topic, share: share.0 };
    let changes: Vec<Change> = changes.into_iter().map(change).collect();
    if name.is_some() {
        return py.detach(|| server.run(&arrivals, &changes)).map(PyRun).map_err(Raise::raise);
    }
    let complaint = Complaint::default();
    let stage = PythonInput::new(&policy.clone().unbind(), complaint.clone());
    let run = py.detach(|| server.run_with(Box::new(stage), &arrivals, &changes));
    complaint.raise()?;
    run.map(PyRun).map_err(Raise::raise)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TICKS", TICKS)?;
    module.add_class::<PyShare>()?;
    module.add_class::<PyRun>()?;
    module.add_function(wrap_pyfunction!(input_policies, module)?)?;
    module.add_function(wrap_pyfunction!(serve, module)?)?;
    Ok(())
}
