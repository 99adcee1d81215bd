//! What a run left, as Python sees it.

use giusto_core::record::Outcome;
use giusto_sim::network::{BrokerCounts, Counters, LinkCounts, MediumCounts, Run, Total};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::record::Batch;

/// What happened in a simulated network.
#[pyclass(name = "NetworkRun", module = "giusto._core", frozen)]
pub(super) struct PyNetworkRun {
    run: Run,
    batches: Vec<Py<Batch>>,
}

impl PyNetworkRun {
    pub(super) fn new(mut run: Run) -> PyResult<Self> {
        let batches = std::mem::take(&mut run.batches).into_iter().map(|batch| {
            let batch = Batch::new(batch).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            Python::attach(|py| Py::new(py, batch))
        });
        Ok(Self { batches: batches.collect::<PyResult<_>>()?, run })
    }
}

#[pymethods]
impl PyNetworkRun {
    /// Counters by name.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Counters { published, policed, ideal, delivered, late, expired, overflow, lost, .. } =
            self.run.counters;
        let Counters { unfinished, hops, events, records_dropped, .. } = self.run.counters;
        let counters = PyDict::new(py);
        for (name, count) in [
            ("published", published),
            ("policed", policed),
            ("ideal", ideal),
            ("delivered", delivered),
            ("late", late),
            ("expired", expired),
            ("overflow", overflow),
            ("lost", lost),
            ("unfinished", unfinished),
            ("hops", hops),
            ("events", events),
            ("records_dropped", records_dropped),
        ] {
            counters.set_item(name, count)?;
        }
        Ok(counters)
    }

    /// The records, each batch through the Arrow interface.
    fn batches(&self, py: Python<'_>) -> Vec<Py<Batch>> {
        self.batches.iter().map(|batch| batch.clone_ref(py)).collect()
    }

    /// One list per figure, each with an entry per subscriber.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = PyDict::new(py);
        let figure =
            |figure: &dyn Fn(&Total) -> i128| -> Vec<i128> { self.run.totals.iter().map(figure).collect() };
        totals.set_item("ideal", figure(&|total| total.ideal.into()))?;
        for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Policed) {
            totals.set_item(outcome.name(), figure(&|total| total.count(outcome).into()))?;
        }
        totals.set_item("delay_max_ns", figure(&|total| total.delay_max_ns.into()))?;
        totals.set_item("delay_sum_ns", figure(&|total| total.delay_sum_ns))?;
        Ok(totals)
    }

    /// One list per figure, each with an entry per link.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let links = PyDict::new(py);
        let figure =
            |figure: &dyn Fn(&LinkCounts) -> i64| -> Vec<i64> { self.run.links.iter().map(figure).collect() };
        links.set_item("sent", figure(&|link| link.sent as i64))?;
        links.set_item("busy_ns", figure(&|link| link.busy_ns))?;
        links.set_item("waiting_max", figure(&|link| link.waiting_max as i64))?;
        links.set_item("expired", figure(&|link| link.expired as i64))?;
        links.set_item("overflow", figure(&|link| link.overflow as i64))?;
        links.set_item("lost", figure(&|link| link.lost as i64))?;
        Ok(links)
    }

    /// One list per figure, each with an entry per broker.
    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let brokers = PyDict::new(py);
        let figure = |figure: &dyn Fn(&BrokerCounts) -> i64| -> Vec<i64> {
            self.run.brokers.iter().map(figure).collect()
        };
        brokers.set_item("forwarded", figure(&|broker| broker.forwarded as i64))?;
        brokers.set_item("quanta", figure(&|broker| broker.quanta as i64))?;
        brokers.set_item("busy_ns", figure(&|broker| broker.busy_ns))?;
        brokers.set_item("waiting_max", figure(&|broker| broker.waiting_max as i64))?;
        brokers.set_item("overflow", figure(&|broker| broker.overflow as i64))?;
        brokers.set_item("lost", figure(&|broker| broker.lost as i64))?;
        Ok(brokers)
    }

    /// One list per figure, each with an entry per medium.
    #[getter]
    fn media<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let media = PyDict::new(py);
        let figure = |figure: &dyn Fn(&MediumCounts) -> u64| -> Vec<u64> {
            self.run.media.iter().map(figure).collect()
        };
        media.set_item("sent", figure(&|medium| medium.sent))?;
        media.set_item("collisions", figure(&|medium| medium.collisions))?;
        media.set_item("lost", figure(&|medium| medium.lost))?;
        Ok(media)
    }

    /// (1) of S1.
    #[getter]
    fn total_earning(&self) -> f64 {
        self.run.earning.total
    }

    /// The same if everything had arrived in time.
    #[getter]
    fn ideal_earning(&self) -> f64 {
        self.run.earning.ideal
    }

    /// (15) of S1: none if there was nothing to deliver.
    #[getter]
    fn success_rate(&self) -> Option<f64> {
        let Counters { ideal, delivered, .. } = self.run.counters;
        (ideal > 0).then(|| delivered as f64 / ideal as f64)
    }

    /// The instant of the last event.
    #[getter]
    fn ended_ns(&self) -> i64 {
        self.run.ended_ns
    }
}
