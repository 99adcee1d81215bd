//! The engine as Python sees it: every primitive, every step, every view.

use std::collections::HashMap;

use giusto_core::engine::{Counters, Engine, Quantum, Step, Views};
use giusto_core::error::ChangeError;
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, LIMIT_BYTES, PRIORITY_MAX};
use giusto_core::id::{ClientId, FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::record::Unfolding;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

mod delivery;
pub(crate) mod need;
pub(crate) mod offer;

use crate::errors::{Raise, exception};
use crate::input::PyShare;
use crate::matching::{encode, parse_filter};
use crate::number::{id, instant, whole_or};
use crate::options::{Options, engine_config};
use crate::record::{Batch, Drain, Portion};
use delivery::PyDelivery;
use need::PyNeed;
use offer::OfferArguments;

/// The forwarding state of one broker: the whole pipeline, driven by its caller's clock.
#[pyclass(name = "Engine", module = "giusto._core")]
struct PyEngine {
    core: Engine,
    drain: Option<Drain>,
    frame: Vec<u8>,
    /// The sequence number that the next message published on a flow has, unless told.
    sequences: HashMap<FlowId, u64>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = Options::new(options)?;
        let config = engine_config(&options)?;
        options.finish("Engine")?;
        let drain = Drain::new(config.record_capacity, Unfolding::new(&config.run, &config.node, 0));
        Ok(Self {
            drain,
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

    /// Puts a topic under contract, or among the rest; whether it is there now. It goes back only when nothing of it waits.
    fn guard(&mut self, topic: &Bound<'_, PyAny>, guarded: bool) -> PyResult<bool> {
        self.core.guard(TopicId(id("topic", topic)?), guarded).map_err(Raise::raise)
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
        let arguments =
            OfferArguments { capacity, max_size_bytes, min_sep_ns, burst, jitter_ns, ..Default::default() };
        let offer = arguments.offer()?;
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

    /// Spends one quantum, on a guarded message if one waits: None when nothing does, else "fragment", "expired" or
    /// "forwarded", and to how many clients.
    fn step(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Option<(&'static str, usize)>> {
        Ok(self.core.step(instant("now", now)?).map(what_it_did))
    }

    /// The same for guarded messages only: None when none waits.
    fn step_guarded(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Option<(&'static str, usize)>> {
        Ok(self.core.step_guarded(instant("now", now)?).map(what_it_did))
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

    /// Those of them that are guarded.
    #[getter]
    fn waiting_guarded(&self) -> usize {
        self.core.waiting_guarded()
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
        views_dict(py, self.core.views())
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
        counters_dict(py, &counters)
    }

    /// The records since the last drain; None if none are kept.
    fn drain_records(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.drain_portion().map(|portion| portion.batch(py)).transpose()
    }

    /// The same records as they were kept, for a file.
    fn drain_portion(&mut self) -> Option<Portion> {
        let drain = self.drain.as_ref()?;
        drain.portions().put_down(self.core.swap_records(drain.rows()));
        Some(drain.portion())
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

fn what_it_did(quantum: Quantum) -> (&'static str, usize) {
    match quantum.step {
        Step::Fragment => ("fragment", 0),
        Step::Expired => ("expired", 0),
        Step::Forwarded(clients) => ("forwarded", clients),
    }
}

/// An attribute block, from its bytes or from a mapping.
fn block(attributes: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match attributes.cast::<PyMapping>() {
        Ok(mapping) => encode(mapping),
        Err(_) => attributes.extract(),
    }
}

fn ones(matrix: Vec<Vec<bool>>) -> Vec<Vec<u32>> {
    matrix.into_iter().map(|row| row.into_iter().map(u32::from).collect()).collect()
}

/// Views with their names.
pub(crate) fn views_dict(py: Python<'_>, views: Views) -> PyResult<Bound<'_, PyDict>> {
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

/// Counters by name.
pub(crate) fn counters_dict<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    counters.named().iter().try_for_each(|(name, count)| named.set_item(name, count))?;
    Ok(named)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyEngine>()?;
    module.add_class::<PyDelivery>()?;
    module.add_class::<PyNeed>()
}
