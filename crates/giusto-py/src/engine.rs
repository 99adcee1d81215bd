//! The engine as Python sees it: every primitive, every step, every view.

use giusto_core::engine::{Config, Counters, Engine, Offer, Step};
use giusto_core::error::ChangeError;
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, LIMIT_BYTES};
use giusto_core::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::matching::Filter;
use giusto_core::output::{Expiry, Link, Overflow};
use giusto_core::policer::{Burst, Limit};
use giusto_core::queue::{Bounds, CAPACITY_MAX, PRIORITIES};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

mod delivery;
mod need;
mod number;

use crate::errors::{Raise, exception, whole};
use crate::input::PyShare;
use crate::record::Batch;
use delivery::PyDelivery;
use need::PyNeed;
use number::{Now, PyClient, PyFlow, PySubscription, PyTopic};

/// The forwarding state of one broker: the whole pipeline, driven by its caller's clock.
#[pyclass(name = "Engine", module = "giusto._core")]
struct PyEngine {
    core: Engine,
    frame: Vec<u8>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (
        *, input="twrr", output="fifo", fragment_bytes=None, output_capacity=None, overflow="drop_oldest",
        expiry=None, processing_delay_ns=None, mean_transmission_ns=None, epsilon=None, weight=None,
        record_capacity=None, run="run", node="node"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        input: &str,
        output: &str,
        fragment_bytes: Option<&Bound<'_, PyAny>>,
        output_capacity: Option<&Bound<'_, PyAny>>,
        overflow: &str,
        expiry: Option<&str>,
        processing_delay_ns: Option<&Bound<'_, PyAny>>,
        mean_transmission_ns: Option<&Bound<'_, PyAny>>,
        epsilon: Option<f64>,
        weight: Option<f64>,
        record_capacity: Option<&Bound<'_, PyAny>>,
        run: &str,
        node: &str,
    ) -> PyResult<Self> {
        let mut config = Config {
            input: input.into(),
            output: output.into(),
            run: run.into(),
            node: node.into(),
            ..Config::default()
        };
        config.overflow = Overflow::named(overflow).map_err(Raise::raise)?;
        config.expiry = expiry.map(Expiry::named).transpose().map_err(Raise::raise)?;
        set(&mut config.fragment_bytes, "fragment_bytes", fragment_bytes, 1..=u32::MAX)?;
        set(&mut config.output_capacity, "output_capacity", output_capacity, 1..=1 << 24)?;
        set(&mut config.record_capacity, "record_capacity", record_capacity, 0..=1 << 24)?;
        let Link { processing_delay_ns: processing, mean_transmission_ns: transmission, .. } =
            &mut config.link;
        set(processing, "processing_delay_ns", processing_delay_ns, 0..=Nanos::MAX / 4)?;
        set(transmission, "mean_transmission_ns", mean_transmission_ns, 0..=Nanos::MAX / 4)?;
        config.link.epsilon = epsilon.unwrap_or(config.link.epsilon);
        config.link.weight = weight.unwrap_or(config.link.weight);
        Ok(Self { core: Engine::new(config).map_err(Raise::raise)?, frame: Vec::new() })
    }

    /// A client is there from now on; returns its number.
    fn connect(&mut self, name: &str) -> PyResult<u32> {
        self.core.connect(name).map(|id| id.0).map_err(Raise::raise)
    }

    /// A client is gone; what it has published is still forwarded.
    fn disconnect(&mut self, client: PyClient) -> PyResult<()> {
        self.core.disconnect(ClientId(client.0)).map_err(Raise::raise)
    }

    /// A topic exists from now on; returns its number.
    #[pyo3(signature = (name, share=None))]
    fn declare(&mut self, name: &str, share: Option<PyShare>) -> PyResult<u32> {
        let share = share.map(|share| share.0).unwrap_or_default();
        self.core.declare(name, share).map(|id| id.0).map_err(Raise::raise)
    }

    /// A topic that nobody publishes on is gone.
    fn forget(&mut self, topic: PyTopic) -> PyResult<()> {
        self.core.forget(TopicId(topic.0)).map_err(Raise::raise)
    }

    /// Allots another share to a topic; it takes effect where the policy's analysis allows it.
    fn allot(&mut self, topic: PyTopic, share: PyShare) -> PyResult<()> {
        self.core.allot(TopicId(topic.0), share.0).map_err(Raise::raise)
    }

    /// The client publishes on the topic from now on; returns the number of the flow.
    #[pyo3(signature = (client, topic, *, capacity=None, max_size_bytes=None, min_sep_ns=None, burst=None, jitter_ns=None))]
    #[allow(clippy::too_many_arguments)]
    fn advertise(
        &mut self,
        client: PyClient,
        topic: PyTopic,
        capacity: Option<&Bound<'_, PyAny>>,
        max_size_bytes: Option<&Bound<'_, PyAny>>,
        min_sep_ns: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        jitter_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u32> {
        let mut offer = Offer::default();
        let Bounds { capacity: waiting, limit_bytes } = &mut offer.bounds;
        set(waiting, "capacity", capacity, 1..=CAPACITY_MAX)?;
        set(limit_bytes, "max_size_bytes", max_size_bytes, 1..=LIMIT_BYTES)?;
        // The limit is on attributes and payload; what is queued is the frame.
        *limit_bytes = limit_bytes.saturating_add(giusto_core::frame::data::HEADER_BYTES as u32);
        offer.limit = limit(min_sep_ns, burst, jitter_ns)?;
        let flow = self.core.advertise(ClientId(client.0), TopicId(topic.0), &offer);
        flow.map(|id| id.0).map_err(Raise::raise)
    }

    /// The flow ends; what waits in it is still forwarded.
    fn unadvertise(&mut self, flow: PyFlow) -> PyResult<()> {
        self.core.unadvertise(FlowId(flow.0)).map_err(Raise::raise)
    }

    /// The client receives what matches from now on; returns the number of the subscription.
    #[pyo3(signature = (client, pattern, *, filter=None, need=None))]
    fn subscribe(
        &mut self,
        client: PyClient,
        pattern: &str,
        filter: Option<&str>,
        need: Option<PyNeed>,
    ) -> PyResult<u32> {
        let filter: Option<Filter> = filter.map(str::parse).transpose().map_err(Raise::raise)?;
        let need = need.map(|need| need.0).unwrap_or_default();
        let id = self.core.subscribe(ClientId(client.0), pattern, filter.as_ref(), &need);
        id.map(|id| id.0).map_err(Raise::raise)
    }

    /// The subscription ends; what already waits for its client is still delivered.
    fn unsubscribe(&mut self, subscription: PySubscription) -> PyResult<()> {
        self.core.unsubscribe(SubscriptionId(subscription.0)).map_err(Raise::raise)
    }

    /// Takes in a data frame that a client sent.
    fn ingest(&mut self, now: Now, client: PyClient, frame: &[u8]) -> PyResult<()> {
        match Decoder::default().decode(frame).map_err(Raise::raise)? {
            Decoded::Frame { frame: Frame::Data(data), consumed } => {
                self.core.ingest(now.0, ClientId(client.0), &frame[..consumed], &data).map_err(Raise::raise)
            }
            _ => Err(exception("ProtocolError", ("not a whole data frame", 0))),
        }
    }

    /// Takes in a message as if the flow's client had sent it in a frame.
    #[pyo3(signature = (now, flow, payload, *, priority=None, sequence=None, sent_ns=None, intended_ns=None, timeout_ns=None, attributes=None))]
    #[allow(clippy::too_many_arguments)]
    fn publish(
        &mut self,
        now: Now,
        flow: PyFlow,
        payload: &[u8],
        priority: Option<&Bound<'_, PyAny>>,
        sequence: Option<&Bound<'_, PyAny>>,
        sent_ns: Option<&Bound<'_, PyAny>>,
        intended_ns: Option<&Bound<'_, PyAny>>,
        timeout_ns: Option<&Bound<'_, PyAny>>,
        attributes: Option<&[u8]>,
    ) -> PyResult<()> {
        let (now, flow) = (now.0, flow.0);
        let mut header = DataHeader {
            priority: 0,
            flags: 0,
            stream: flow,
            source: 0,
            sequence: 0,
            t_intended_ns: now,
            t_sent_ns: now,
            timeout_ns: 0,
        };
        set(&mut header.priority, "priority", priority, 0..=PRIORITIES - 1)?;
        set(&mut header.sequence, "sequence", sequence, 0..=u64::MAX)?;
        set(&mut header.t_sent_ns, "sent_ns", sent_ns, Nanos::MIN..=Nanos::MAX)?;
        header.t_intended_ns = header.t_sent_ns;
        set(&mut header.t_intended_ns, "intended_ns", intended_ns, Nanos::MIN..=Nanos::MAX)?;
        set(&mut header.timeout_ns, "timeout_ns", timeout_ns, 0..=Nanos::MAX)?;
        let data = Data { header, attributes: attributes.unwrap_or_default(), payload };
        self.frame.clear();
        data.encode(&mut self.frame, LIMIT_BYTES).map_err(Raise::raise)?;
        let client =
            self.core.owner(FlowId(flow)).ok_or_else(|| ChangeError::unknown("flow", flow).raise())?;
        self.core.ingest(now, client, &self.frame, &data).map_err(Raise::raise)
    }

    /// Spends one quantum: None when nothing waits, else "fragment", "expired" or "forwarded", and to how many clients.
    fn step(&mut self, now: Now) -> Option<(&'static str, usize)> {
        self.core.step(now.0).map(|step| match step {
            Step::Fragment => ("fragment", 0),
            Step::Expired => ("expired", 0),
            Step::Forwarded(clients) => ("forwarded", clients),
        })
    }

    /// The message that the client's link carries next.
    fn take(&mut self, now: Now, client: PyClient) -> Option<PyDelivery> {
        let token = self.core.take(now.0, ClientId(client.0))?;
        let delivery = self.core.delivery(token).and_then(PyDelivery::new);
        self.core.finish(token);
        delivery
    }

    /// Clients whose queue was full while the overflow policy is to disconnect them.
    fn take_overflowed(&mut self) -> Vec<u32> {
        self.core.take_overflowed().into_iter().map(|client| client.0).collect()
    }

    /// Messages that wait for the input stage.
    #[getter]
    fn waiting(&self) -> usize {
        self.core.waiting()
    }

    /// Messages that anything in the engine still refers to.
    #[getter]
    fn stored(&self) -> usize {
        self.core.stored()
    }

    /// Messages that wait for a client.
    fn waiting_for(&self, client: PyClient) -> usize {
        self.core.waiting_for(ClientId(client.0))
    }

    /// W, MatrixIN and MatrixOUT as they are now.
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let views = self.core.views();
        let names = PyDict::new(py);
        names.set_item("clients", views.clients.into_iter().map(|(_, name)| name).collect::<Vec<_>>())?;
        names.set_item("topics", views.topics.into_iter().map(|(_, name)| name).collect::<Vec<_>>())?;
        names.set_item("shares", views.shares.into_iter().map(PyShare).collect::<Vec<_>>())?;
        names.set_item("matrix_in", ones(views.matrix_in))?;
        names.set_item("matrix_out", ones(views.matrix_out))?;
        Ok(names)
    }

    /// What became of messages, of one topic or of all.
    #[pyo3(signature = (topic=None))]
    fn counters<'py>(&self, py: Python<'py>, topic: Option<PyTopic>) -> PyResult<Bound<'py, PyDict>> {
        let counters: Counters = match topic {
            None => self.core.totals(),
            Some(topic) => *self
                .core
                .counters(TopicId(topic.0))
                .ok_or_else(|| ChangeError::unknown("topic", topic.0).raise())?,
        };
        let named = PyDict::new(py);
        counters.named().iter().try_for_each(|(name, count)| named.set_item(name, count))?;
        Ok(named)
    }

    /// The records since the last drain; None if none are kept.
    fn drain_records(&mut self) -> PyResult<Option<Batch>> {
        let batch = self.core.drain_records().map(Batch::new).transpose();
        batch.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

/// Replaces a default by what Python gave, if it gave something.
fn set<T>(
    field: &mut T,
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    range: std::ops::RangeInclusive<T>,
) -> PyResult<()>
where
    T: TryFrom<i128> + PartialOrd + std::fmt::Display,
{
    if let Some(value) = value {
        *field = whole(name, value, range)?;
    }
    Ok(())
}

/// One message per `min_sep_ns`, if that is given.
fn limit(
    min_sep_ns: Option<&Bound<'_, PyAny>>,
    burst: Option<&Bound<'_, PyAny>>,
    jitter_ns: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Limit>> {
    let Some(min_sep_ns) = min_sep_ns else {
        return match burst.or(jitter_ns) {
            None => Ok(None),
            Some(_) => Err(exception(
                "InvalidInput",
                ("min_sep_ns", "None", "a separation that burst and jitter_ns go with"),
            )),
        };
    };
    let mut limit = Limit::min_sep(whole("min_sep_ns", min_sep_ns, 1..=Nanos::MAX)?);
    let mut messages = 1;
    set(&mut messages, "burst", burst, 1..=i64::MAX)?;
    limit.burst = Burst::messages(messages);
    set(&mut limit.jitter_ns, "jitter_ns", jitter_ns, 0..=Nanos::MAX)?;
    Ok(Some(limit))
}

fn ones(matrix: Vec<Vec<bool>>) -> Vec<Vec<u32>> {
    matrix.into_iter().map(|row| row.into_iter().map(u32::from).collect()).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyEngine>()?;
    module.add_class::<PyDelivery>()?;
    module.add_class::<PyNeed>()
}
