//! A simulated network as Python sees it: a builder, and the run that it makes.

mod item;
mod result;

use giusto_core::error::Invalid;
use giusto_core::output::PRIORITY_MAX;
use giusto_core::record::CAPACITY_MAX;
use giusto_sim::network::{Broker, Error, Link, Medium, Publisher, Records, Scenario, Subscriber, Topic};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use self::item::Item;
use self::result::PyNetworkRun;
use crate::errors::Raise;
use crate::matching::parse_filter;
use crate::number::{instant, whole_or};
use crate::policy::Complaint;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Network>()?;
    module.add_class::<PyNetworkRun>()
}

/// A network that is put together call by call, and run.
#[pyclass(module = "giusto._core")]
struct Network {
    scenario: Scenario,
    /// Of all policies written in Python.
    complaint: Complaint,
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (*, seed=None, name="sim", records="deliveries", record_capacity=None))]
    fn new(
        seed: Option<&Bound<'_, PyAny>>,
        name: &str,
        records: &str,
        record_capacity: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let known = Records::NAMES.iter().find(|(known, _)| *known == records);
        let Some((_, records)) = known else {
            let names = Records::NAMES.map(|(name, _)| name).join(", ");
            return Err(Invalid::new("records", records, format!("one of {names}")).raise());
        };
        let scenario = Scenario {
            name: name.to_owned(),
            seed: whole_or("seed", seed, 0..=u64::MAX, 0)?,
            records: *records,
            record_capacity: whole_or("record_capacity", record_capacity, 0..=1 << 40, CAPACITY_MAX)?,
            ..Scenario::default()
        };
        Ok(Self { scenario, complaint: Complaint::default() })
    }

    /// Adds a broker; its number.
    #[pyo3(signature = (name, **options))]
    fn broker(&mut self, name: String, options: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
        let item = Item::new("brokers", self.scenario.brokers.len(), options)?;
        let processing_ns = item.span("processing_ns", 0)?;
        let broker = Broker { name, processing_ns, processor: item.processor(&self.complaint)? };
        item.finish()?;
        Ok(add(&mut self.scenario.brokers, broker))
    }

    /// Adds a topic; its number.
    #[pyo3(signature = (name, **options))]
    fn topic(&mut self, name: String, options: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
        let item = Item::new("topics", self.scenario.topics.len(), options)?;
        let topic = Topic { name, share: item.share()?, service_ns: item.span("service_ns", 0)? };
        item.finish()?;
        Ok(add(&mut self.scenario.topics, topic))
    }

    /// Adds a wire that links may share; its number.
    #[pyo3(signature = (name, kind, **options))]
    fn medium(&mut self, name: String, kind: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
        let item = Item::new("media", self.scenario.media.len(), options)?;
        let medium = Medium { name, kind: item.medium(kind)? };
        item.finish()?;
        Ok(add(&mut self.scenario.media, medium))
    }

    /// Adds a link from one broker to another; its number.
    #[pyo3(signature = (source, target, **options))]
    fn link(
        &mut self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let item = Item::new("links", self.scenario.links.len(), options)?;
        let link = Link {
            source: item.id("source", source)?,
            target: item.id("target", target)?,
            delay: item.delay()?,
            estimate: item.estimate()?,
            propagation_ns: item.span("propagation_ns", 0)?,
            medium: item.take("medium")?.map(|medium| item.id("medium", &medium)).transpose()?,
            policy: item.output_policy(&self.complaint)?,
            expiry: item.expiry()?,
            epsilon: item.real("epsilon", 0.04)?,
            weight: item.real("weight", 0.4)?,
            mean_transmission_ns: item.optional_span("mean_transmission_ns")?,
            capacity: item.whole("capacity", 1..=1 << 31, 1 << 31)?,
            overflow: item.overflow()?,
        };
        item.finish()?;
        Ok(add(&mut self.scenario.links, link))
    }

    /// Adds a publisher at a broker; its number.
    #[pyo3(signature = (broker, topic, name, **options))]
    fn publisher(
        &mut self,
        broker: &Bound<'_, PyAny>,
        topic: &Bound<'_, PyAny>,
        name: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let item = Item::new("publishers", self.scenario.publishers.len(), options)?;
        let publisher = Publisher {
            name,
            broker: item.id("broker", broker)?,
            topic: item.id("topic", topic)?,
            workload: item.workload()?,
            windows: item.list("windows")?,
            size_bytes: item.range("size_bytes", u32::MAX)?,
            priority: item.range("priority", PRIORITY_MAX)?,
            timeout_ns: item.span("timeout_ns", 0)?,
            delay_ns: item.span("delay_ns", 0)?,
            attributes: item.attributes()?,
            limit: item.limit()?,
        };
        item.finish()?;
        Ok(add(&mut self.scenario.publishers, publisher))
    }

    /// Adds a subscription at a broker; its number.
    #[pyo3(signature = (broker, name, pattern, **options))]
    fn subscriber(
        &mut self,
        broker: &Bound<'_, PyAny>,
        name: String,
        pattern: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let item = Item::new("subscribers", self.scenario.subscribers.len(), options)?;
        let subscriber = Subscriber {
            name,
            broker: item.id("broker", broker)?,
            pattern,
            filter: item.take("filter")?.as_ref().map(parse_filter).transpose()?,
            deadline_ns: item.optional_span("deadline_ns")?,
            price: item.real("price", 0.0)?,
            penalty: item.real("penalty", 0.0)?,
            delay_ns: item.span("delay_ns", 0)?,
        };
        item.finish()?;
        Ok(add(&mut self.scenario.subscribers, subscriber))
    }

    /// Adds something that goes wrong; its number.
    #[pyo3(signature = (kind, **options))]
    fn fault(&mut self, kind: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
        let item = Item::new("faults", self.scenario.faults.len(), options)?;
        let fault = item.fault(kind)?;
        item.finish()?;
        Ok(add(&mut self.scenario.faults, fault))
    }

    /// Refuses what cannot run, with the path of what is wrong.
    fn check(&self, py: Python<'_>, until_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let until_ns = instant("until_ns", until_ns)?;
        let checked = py.detach(|| self.scenario.validate(until_ns));
        self.complaint.raise()?;
        checked.map_err(Raise::raise)
    }

    /// Runs it: publishers send until `until_ns`, and then everything arrives, unless it is not to drain.
    #[pyo3(signature = (until_ns, *, drain=true))]
    fn run(&self, py: Python<'_>, until_ns: &Bound<'_, PyAny>, drain: bool) -> PyResult<PyNetworkRun> {
        let until_ns = instant("until_ns", until_ns)?;
        let mut stopped: Option<PyErr> = None;
        let run = py.detach(|| {
            let mut goes_on = || {
                stopped = Python::attach(|py| py.check_signals()).err();
                stopped.is_none() && !self.complaint.is_some()
            };
            self.scenario.run(until_ns, drain, &mut goes_on)
        });
        self.complaint.raise()?;
        match (run, stopped) {
            (Ok(run), _) => PyNetworkRun::new(run),
            (Err(Error::Invalid(fault)), _) => Err(fault.raise()),
            (Err(Error::Interrupted), Some(error)) => Err(error),
            (Err(Error::Interrupted), None) => Err(PyRuntimeError::new_err("the run was stopped")),
        }
    }
}

/// Appends to a list of the scenario; the place.
fn add<T>(list: &mut Vec<T>, value: T) -> u32 {
    list.push(value);
    (list.len() - 1) as u32
}
