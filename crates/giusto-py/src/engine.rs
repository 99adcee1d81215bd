//! The engine as Python sees it: every primitive, every step, every view.

use std::collections::HashMap;

use giusto_core::engine::{Config, Engine, Offer, Step};
use giusto_core::error::ChangeError;
use giusto_core::frame::data::HEADER_BYTES;
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, LIMIT_BYTES, PRIORITY_MAX};
use giusto_core::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::output::{Expiry, Link, Overflow, SPAN_NS_MAX};
use giusto_core::policer::{Burst, Limit};
use giusto_core::queue::{Bounds, CAPACITY_MAX};
use giusto_core::record::CAPACITY_MAX as RECORDS_MAX;
use giusto_core::store::MESSAGES_MAX;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

mod delivery;
mod need;

use crate::errors::{Raise, exception};
use crate::input::PyShare;
use crate::matching::{encode, parse_filter};
use crate::number::{id, instant, whole, whole_or};
use crate::record::Batch;
use delivery::PyDelivery;
use need::PyNeed;

/// The forwarding state of one broker: the whole pipeline, driven by its caller's clock.
#[pyclass(name = "Engine", module = "giusto._core")]
struct PyEngine {
    core: Engine,
    frame: Vec<u8>,
    /// The sequence number that the next message published on a flow has, unless told.
    sequences: HashMap<FlowId, u64>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (
        *, input="twrr", output="fifo", fragment_bytes=None, message_capacity=None, output_capacity=None, overflow="drop_oldest",
        expiry=None, processing_delay_ns=None, mean_transmission_ns=None, epsilon=None, weight=None,
        record_capacity=None, run="run", node="node"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        input: &str,
        output: &str,
        fragment_bytes: Option<&Bound<'_, PyAny>>,
        message_capacity: Option<&Bound<'_, PyAny>>,
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
        let default = Config::default();
        let link = Link {
            processing_delay_ns: whole_or("processing_delay_ns", processing_delay_ns, 0..=SPAN_NS_MAX, 0)?,
            mean_transmission_ns: whole_or("mean_transmission_ns", mean_transmission_ns, 0..=SPAN_NS_MAX, 0)?,
            epsilon: epsilon.unwrap_or(default.link.epsilon),
            weight: weight.unwrap_or(default.link.weight),
        };
        let config = Config {
            input: input.into(),
            output: output.into(),
            fragment_bytes: whole_or("fragment_bytes", fragment_bytes, 1..=u32::MAX, default.fragment_bytes)?,
            message_capacity: whole_or(
                "message_capacity",
                message_capacity,
                1..=MESSAGES_MAX,
                default.message_capacity,
            )?,
            output_capacity: whole_or(
                "output_capacity",
                output_capacity,
                1..=1 << 24,
                default.output_capacity,
            )?,
            overflow: Overflow::named(overflow).map_err(Raise::raise)?,
            expiry: expiry.map(Expiry::named).transpose().map_err(Raise::raise)?,
            link,
            record_capacity: whole_or("record_capacity", record_capacity, 0..=RECORDS_MAX, 0)?,
            run: run.into(),
            node: node.into(),
        };
        Ok(Self {
            core: Engine::new(config).map_err(Raise::raise)?,
            frame: Vec::new(),
            sequences: HashMap::new(),
        })
    }

    /// A client is there from now on; returns its number.
    fn connect(&mut self, name: &str) -> PyResult<u32> {
        self.core.connect(name).map(|id| id.0).map_err(Raise::raise)
    }

    /// A client is gone; what it has published is still forwarded.
    fn disconnect(&mut self, client: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.disconnect(ClientId(id("client", client)?)).map_err(Raise::raise)
    }

    /// A topic exists from now on; returns its number.
    #[pyo3(signature = (name, share=None))]
    fn declare(&mut self, name: &str, share: Option<PyShare>) -> PyResult<u32> {
        let share = share.map(|share| share.0).unwrap_or_default();
        self.core.declare(name, share).map(|id| id.0).map_err(Raise::raise)
    }

    /// A topic that nobody publishes on is gone.
    fn forget(&mut self, topic: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.forget(TopicId(id("topic", topic)?)).map_err(Raise::raise)
    }

    /// Allots another share to a topic; it takes effect where the policy's analysis allows it.
    fn allot(&mut self, topic: &Bound<'_, PyAny>, share: PyShare) -> PyResult<()> {
        self.core.allot(TopicId(id("topic", topic)?), share.0).map_err(Raise::raise)
    }

    /// The client publishes on the topic from now on; returns the number of the flow.
    #[pyo3(signature = (client, topic, *, capacity=None, max_size_bytes=None, min_sep_ns=None, burst=None, jitter_ns=None))]
    #[allow(clippy::too_many_arguments)]
    fn advertise(
        &mut self,
        client: &Bound<'_, PyAny>,
        topic: &Bound<'_, PyAny>,
        capacity: Option<&Bound<'_, PyAny>>,
        max_size_bytes: Option<&Bound<'_, PyAny>>,
        min_sep_ns: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        jitter_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u32> {
        let default = Offer::default().bounds;
        let largest = whole_or("max_size_bytes", max_size_bytes, 1..=LIMIT_BYTES, default.limit_bytes)?;
        let bounds = Bounds {
            capacity: whole_or("capacity", capacity, 1..=CAPACITY_MAX, default.capacity)?,
            // What a client offers is the payload; what is queued is the frame.
            limit_bytes: largest.saturating_add(HEADER_BYTES as u32),
        };
        let offer = Offer { bounds, limit: limit(min_sep_ns, burst, jitter_ns)? };
        let (client, topic) = (ClientId(id("client", client)?), TopicId(id("topic", topic)?));
        let flow = self.core.advertise(client, topic, &offer).map_err(Raise::raise)?;
        self.sequences.insert(flow, 0);
        Ok(flow.0)
    }

    /// The flow ends; what waits in it is still forwarded.
    fn unadvertise(&mut self, flow: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.unadvertise(FlowId(id("flow", flow)?)).map_err(Raise::raise)
    }

    /// The client receives what matches from now on; returns the number of the subscription.
    #[pyo3(signature = (client, pattern, *, filter=None, need=None))]
    fn subscribe(
        &mut self,
        client: &Bound<'_, PyAny>,
        pattern: &str,
        filter: Option<&Bound<'_, PyAny>>,
        need: Option<PyNeed>,
    ) -> PyResult<u32> {
        let filter = filter.map(parse_filter).transpose()?;
        let need = need.map(|need| need.0).unwrap_or_default();
        let id = self.core.subscribe(ClientId(id("client", client)?), pattern, filter.as_ref(), &need);
        id.map(|id| id.0).map_err(Raise::raise)
    }

    /// The subscription ends; what already waits for its client is still delivered.
    fn unsubscribe(&mut self, subscription: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.unsubscribe(SubscriptionId(id("subscription", subscription)?)).map_err(Raise::raise)
    }

    /// Takes in a data frame that a client sent.
    fn ingest(&mut self, now: &Bound<'_, PyAny>, client: &Bound<'_, PyAny>, frame: &[u8]) -> PyResult<()> {
        let (now, client) = (instant("now", now)?, ClientId(id("client", client)?));
        match Decoder::default().decode(frame).map_err(Raise::raise)? {
            Decoded::Frame { frame: Frame::Data(data), consumed } if consumed == frame.len() => {
                self.core.ingest(now, client, frame, &data).map_err(Raise::raise)
            }
            Decoded::Frame { consumed, .. } => {
                Err(exception("ProtocolError", ("not one data frame", consumed)))
            }
            Decoded::Incomplete { .. } => Err(exception("ProtocolError", ("not a whole frame", frame.len()))),
        }
    }

    /// Takes in a message as if the flow's client had sent it in a frame.
    #[pyo3(signature = (
        now, flow, payload, *, priority=None, sequence=None, sent_ns=None, intended_ns=None, timeout_ns=None,
        attributes=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn publish(
        &mut self,
        now: &Bound<'_, PyAny>,
        flow: &Bound<'_, PyAny>,
        payload: &[u8],
        priority: Option<&Bound<'_, PyAny>>,
        sequence: Option<&Bound<'_, PyAny>>,
        sent_ns: Option<&Bound<'_, PyAny>>,
        intended_ns: Option<&Bound<'_, PyAny>>,
        timeout_ns: Option<&Bound<'_, PyAny>>,
        attributes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (now, flow) = (instant("now", now)?, FlowId(id("flow", flow)?));
        let t_sent_ns = whole_or("sent_ns", sent_ns, Nanos::MIN..=Nanos::MAX, now)?;
        let header = DataHeader {
            priority: whole_or("priority", priority, 0..=PRIORITY_MAX, 0)?,
            flags: 0,
            stream: flow.0,
            source: 0,
            sequence: whole_or(
                "sequence",
                sequence,
                0..=u64::MAX,
                self.sequences.get(&flow).copied().unwrap_or(0),
            )?,
            t_intended_ns: whole_or("intended_ns", intended_ns, Nanos::MIN..=Nanos::MAX, t_sent_ns)?,
            t_sent_ns,
            timeout_ns: whole_or("timeout_ns", timeout_ns, 0..=Nanos::MAX, 0)?,
        };
        let attributes = attributes.map(block).transpose()?.unwrap_or_default();
        let data = Data { header, attributes: &attributes, payload };
        self.frame.clear();
        data.encode(&mut self.frame, LIMIT_BYTES).map_err(Raise::raise)?;
        let client = self.core.owner(flow).ok_or_else(|| ChangeError::unknown("flow", flow.0).raise())?;
        self.sequences.insert(flow, header.sequence.wrapping_add(1));
        self.core.ingest(now, client, &self.frame, &data).map_err(Raise::raise)
    }

    /// Spends one quantum: None when nothing waits, else "fragment", "expired" or "forwarded", and to how many clients.
    fn step(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Option<(&'static str, usize)>> {
        Ok(self.core.step(instant("now", now)?).map(|quantum| match quantum.step {
            Step::Fragment => ("fragment", 0),
            Step::Expired => ("expired", 0),
            Step::Forwarded(clients) => ("forwarded", clients),
        }))
    }

    /// The message that the client's link carries next.
    fn take(&mut self, now: &Bound<'_, PyAny>, client: &Bound<'_, PyAny>) -> PyResult<Option<PyDelivery>> {
        let (now, client) = (instant("now", now)?, self.connected(client)?);
        let Some(token) = self.core.take(now, client) else { return Ok(None) };
        let delivery = self.core.delivery(token).and_then(PyDelivery::new);
        self.core.finish(token);
        Ok(delivery)
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
    fn waiting_for(&self, client: &Bound<'_, PyAny>) -> PyResult<usize> {
        Ok(self.core.waiting_for(self.connected(client)?))
    }

    /// W, MatrixIN and MatrixOUT as they are now.
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let views = self.core.views();
        let names = PyDict::new(py);
        names.set_item("client_numbers", views.clients.iter().map(|(id, _)| id.0).collect::<Vec<_>>())?;
        names.set_item("topic_numbers", views.topics.iter().map(|(id, _)| id.0).collect::<Vec<_>>())?;
        names.set_item("clients", views.clients.into_iter().map(|(_, name)| name).collect::<Vec<_>>())?;
        names.set_item("topics", views.topics.into_iter().map(|(_, name)| name).collect::<Vec<_>>())?;
        names.set_item("shares", views.shares.into_iter().map(PyShare).collect::<Vec<_>>())?;
        names.set_item("matrix_in", ones(views.matrix_in))?;
        names.set_item("matrix_out", ones(views.matrix_out))?;
        Ok(names)
    }

    /// What became of messages, of one topic or of all.
    #[pyo3(signature = (topic=None))]
    fn counters<'py>(
        &self,
        py: Python<'py>,
        topic: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counters = match topic.map(|topic| id("topic", topic)).transpose()? {
            None => self.core.totals(),
            Some(topic) => *self
                .core
                .counters(TopicId(topic))
                .ok_or_else(|| ChangeError::unknown("topic", topic).raise())?,
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

impl PyEngine {
    fn connected(&self, client: &Bound<'_, PyAny>) -> PyResult<ClientId> {
        let client = ClientId(id("client", client)?);
        if self.core.is_connected(client) {
            return Ok(client);
        }
        Err(ChangeError::unknown("client", client.0).raise())
    }
}

/// An attribute block, from its bytes or from a mapping.
fn block(attributes: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match attributes.cast::<PyMapping>() {
        Ok(mapping) => encode(mapping),
        Err(_) => attributes.extract(),
    }
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
            Some(_) => {
                let expected = "a separation that burst and jitter_ns go with";
                Err(exception("InvalidInput", ("min_sep_ns", "None", expected)))
            }
        };
    };
    Ok(Some(Limit {
        count: 1,
        period_ns: whole("min_sep_ns", min_sep_ns, 1..=Nanos::MAX)?,
        burst: Burst::messages(whole_or("burst", burst, 1..=i64::MAX, 1)?),
        jitter_ns: whole_or("jitter_ns", jitter_ns, 0..=Nanos::MAX, 0)?,
    }))
}

fn ones(matrix: Vec<Vec<bool>>) -> Vec<Vec<u32>> {
    matrix.into_iter().map(|row| row.into_iter().map(u32::from).collect()).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyEngine>()?;
    module.add_class::<PyDelivery>()?;
    module.add_class::<PyNeed>()
}
