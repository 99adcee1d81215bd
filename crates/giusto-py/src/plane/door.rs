//! What the control plane may ask of a broker's data plane, wherever that runs.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use giusto_core::engine::{Config, Counters};
use giusto_core::error::{ChangeError, Invalid};
use giusto_core::id::{FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::record::Unfolding;
use giusto_net::clock;
use giusto_net::hub::{ConnId, Event, Hub, HubConfig};
use giusto_net::memory::Memory;
use giusto_net::server::{Gone, Server};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::engine::need::PyNeed;
use crate::engine::offer::OfferArguments;
use crate::engine::{counters_dict, views_dict};
use crate::errors::{Raise, exception};
use crate::input::PyShare;
use crate::matching::parse_filter;
use crate::number::{id, whole};
use crate::options::{Options, engine_config};
use crate::record::{Batch, Drain, Portion};

/// Topics whose status is taken at once: the data thread does nothing else meanwhile.
const TOPICS_AT_ONCE: usize = 64;

/// Slots of connections that are looked at at once.
const SLOTS_AT_ONCE: usize = 256;
/// Calls for losses in a row at most: those that there can be at once.
const LOSS_CALLS_MAX: usize = 256;

/// Signals are handled so often while an answer is waited for.
const SLICE: Duration = Duration::from_millis(100);

/// Where the data plane runs.
pub(super) enum Place {
    /// In a thread of its own, with sockets.
    Thread(Server),
    /// Here, with the caller's clock.
    Memory(Box<Mutex<Memory>>),
}

impl Raise for Gone {
    fn raise(self) -> PyErr {
        exception("Closed", (self.to_string(),))
    }
}

/// The calls that every data plane serves.
#[pyclass(name = "Door", module = "giusto._core", subclass, frozen)]
pub(super) struct PyDoor {
    pub(super) place: Place,
    drain: Option<Drain>,
}

impl PyDoor {
    /// A data plane that was made as `config` says.
    pub(super) fn new(place: Place, config: &Config) -> Self {
        let unfolding = Unfolding::new(&config.run, &config.node, 0);
        Self { place, drain: Drain::new(config.record_capacity, unfolding) }
    }

    /// Has something done and waits for what it returns.
    fn ask<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Hub, Nanos) -> R + Send + 'static,
    ) -> PyResult<R> {
        match &self.place {
            Place::Thread(server) => {
                let mut answer = py.detach(|| server.begin(call)).map_err(Raise::raise)?;
                loop {
                    match py.detach(move || answer.wait(SLICE)).map_err(Raise::raise)? {
                        Ok(answer) => return Ok(answer),
                        // The thread of a broker with a long period may be asleep.
                        Err(unanswered) => answer = unanswered,
                    }
                    py.check_signals()?;
                }
            }
            Place::Memory(memory) => Ok(hold(memory).ask(call)),
        }
    }

    /// The same for calls that may be refused.
    fn change<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Hub, Nanos) -> Result<R, ChangeError> + Send + 'static,
    ) -> PyResult<R> {
        self.ask(py, call)?.map_err(Raise::raise)
    }

    /// Has the input stage of guarded topics prepared, a little with each call.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        while !self.ask(py, |hub, _| hub.prepare())? {}
        Ok(())
    }

    /// Has all topics put under contract.
    fn guard_all(&self, py: Python<'_>, topics: Vec<u32>) -> PyResult<Vec<u32>> {
        for &topic in &topics {
            while !self.change(py, move |hub, _| hub.guard(TopicId(topic), true))? {}
        }
        Ok(topics)
    }

    /// Has topics put among the rest that can be; returns them.
    fn unguard_all(&self, py: Python<'_>, topics: Vec<u32>) -> PyResult<Vec<u32>> {
        let mut there = Vec::new();
        for topic in topics {
            let is_there = self.ask(py, move |hub, _| hub.guard(TopicId(topic), false))?;
            there.extend((is_there == Ok(true)).then_some(topic));
        }
        Ok(there)
    }

    /// Has all topics told of a subscription, or of its end, a few with each call.
    fn spread(&self, py: Python<'_>, subscription: SubscriptionId, mut is_spread: bool) -> PyResult<()> {
        while !is_spread {
            is_spread = self.ask(py, move |hub, _| hub.spread(subscription))?;
        }
        Ok(())
    }
}

/// The hub behind a lock.
pub(super) fn hold(memory: &Mutex<Memory>) -> std::sync::MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hub's part of the options.
pub(super) fn hub_config(options: &Options<'_>) -> PyResult<HubConfig> {
    let default = HubConfig::default();
    Ok(HubConfig {
        engine: engine_config(options)?,
        frame_limit_bytes: options.whole("frame_limit_bytes", 1_024..=1 << 30, default.frame_limit_bytes)?,
        handshake_ns: options.whole("handshake_ns", 1..=Nanos::MAX, default.handshake_ns)?,
        connections_max: options.whole("connections_max", 1..=1 << 24, default.connections_max)?,
        control_capacity: options.whole("control_capacity", 1..=1 << 24, default.control_capacity)?,
        grace_ns: default.grace_ns,
        datagrams: default.datagrams,
    })
}

pub(super) fn conn(value: &Bound<'_, PyAny>) -> PyResult<ConnId> {
    whole("conn", value, 0..=u64::MAX).map(ConnId)
}

fn address(host: &str, port: u16) -> PyResult<SocketAddr> {
    let expected = "an IP address and a port";
    let ip = host.parse::<IpAddr>().map_err(|_| Invalid::new("udp", host, expected).raise())?;
    Ok(SocketAddr::new(ip, port))
}

#[pymethods]
impl PyDoor {
    /// What has happened since the last call; waits for it for `timeout_ns`, or for ever.
    fn events<'py>(&self, py: Python<'py>, timeout_ns: Option<Nanos>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let events = match &self.place {
            Place::Thread(server) => wait(py, server, timeout_ns)?,
            Place::Memory(memory) => hold(memory).events(),
        };
        events.into_iter().map(|event| tuple(py, event)).collect()
    }

    /// Ends a wait for events, from any thread or signal handler.
    fn wake(&self) {
        if let Place::Thread(server) = &self.place {
            server.wake();
        }
    }

    /// The connection is a client from now on; returns its number in the engine.
    #[pyo3(signature = (conn, name, udp=None))]
    fn connect(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        name: String,
        udp: Option<(String, u16)>,
    ) -> PyResult<u32> {
        let datagrams = udp.map(|(host, port)| address(&host, port)).transpose()?;
        self.change(py, move |hub, _| hub.connect(conn, &name, datagrams)).map(|client| client.0)
    }

    /// A topic exists from now on; returns its number.
    #[pyo3(signature = (name, share=None))]
    fn declare(&self, py: Python<'_>, name: String, share: Option<PyShare>) -> PyResult<u32> {
        let share = share.map(|share| share.0).unwrap_or_default();
        self.change(py, move |hub, _| hub.declare(&name, share)).map(|topic| topic.0)
    }

    /// Topics that nobody publishes on are gone; returns those that are, since messages of others still wait.
    fn forget(&self, py: Python<'_>, topics: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
        let topics = topics.iter().map(|topic| id("topic", topic)).collect::<PyResult<Vec<u32>>>()?;
        let mut gone = Vec::new();
        for topic in topics {
            let is_gone = self.ask(py, move |hub, _| hub.forget(TopicId(topic)).is_ok())?;
            gone.extend(is_gone.then_some(topic));
        }
        Ok(gone)
    }

    /// Allots another share to a topic.
    fn allot(&self, py: Python<'_>, topic: &Bound<'_, PyAny>, share: PyShare) -> PyResult<()> {
        let topic = TopicId(id("topic", topic)?);
        self.change(py, move |hub, _| hub.allot(topic, share.0))?;
        self.prepare(py)
    }

    /// Puts topics under contract, or among the rest; returns those that are there now. One goes back only when nothing of
    /// it waits. One that cannot come under contract raises, and those after it are as before.
    fn guard(&self, py: Python<'_>, topics: Vec<Bound<'_, PyAny>>, guarded: bool) -> PyResult<Vec<u32>> {
        let topics = topics.iter().map(|topic| id("topic", topic)).collect::<PyResult<Vec<u32>>>()?;
        let there = if guarded { self.guard_all(py, topics) } else { self.unguard_all(py, topics) };
        // Also if one was refused: others of them are there.
        self.prepare(py)?;
        there
    }

    /// The connection publishes on the topic from now on; returns the number of the flow.
    #[pyo3(signature = (
        conn, topic, *, capacity=None, max_size_bytes=None, min_sep_ns=None, count=None, period_ns=None, burst=None,
        jitter_ns=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn advertise(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        topic: &Bound<'_, PyAny>,
        capacity: Option<&Bound<'_, PyAny>>,
        max_size_bytes: Option<&Bound<'_, PyAny>>,
        min_sep_ns: Option<&Bound<'_, PyAny>>,
        count: Option<&Bound<'_, PyAny>>,
        period_ns: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        jitter_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u32> {
        let arguments =
            OfferArguments { capacity, max_size_bytes, min_sep_ns, count, period_ns, burst, jitter_ns };
        let (topic, offer) = (TopicId(id("topic", topic)?), arguments.offer()?);
        self.change(py, move |hub, _| hub.advertise(conn, topic, &offer)).map(|flow| flow.0)
    }

    /// The messages of a flow of the connection are limited in another way from now on; its queue stays.
    #[pyo3(signature = (
        conn, flow, *, max_size_bytes=None, min_sep_ns=None, count=None, period_ns=None, burst=None, jitter_ns=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn reoffer(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        flow: &Bound<'_, PyAny>,
        max_size_bytes: Option<&Bound<'_, PyAny>>,
        min_sep_ns: Option<&Bound<'_, PyAny>>,
        count: Option<&Bound<'_, PyAny>>,
        period_ns: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        jitter_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let arguments =
            OfferArguments { capacity: None, max_size_bytes, min_sep_ns, count, period_ns, burst, jitter_ns };
        let (flow, offer) = (FlowId(id("flow", flow)?), arguments.offer()?);
        self.change(py, move |hub, _| hub.reoffer(conn, flow, &offer))
    }

    /// A flow of the connection ends; what waits in it is still forwarded.
    fn unadvertise(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        flow: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let flow = FlowId(id("flow", flow)?);
        self.change(py, move |hub, _| hub.unadvertise(conn, flow))
    }

    /// The connection receives what matches from now on; returns the number of the subscription.
    #[pyo3(signature = (conn, pattern, *, filter=None, need=None))]
    fn subscribe(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        pattern: String,
        filter: Option<&Bound<'_, PyAny>>,
        need: Option<PyNeed>,
    ) -> PyResult<u32> {
        let filter = filter.map(parse_filter).transpose()?;
        let need = need.map(|need| need.0).unwrap_or_default();
        let (subscription, is_spread) = self.change(py, move |hub, _| {
            let subscription = hub.subscribe(conn, &pattern, filter.as_ref(), &need)?;
            Ok((subscription, hub.is_spread(subscription)))
        })?;
        self.spread(py, subscription, is_spread)?;
        Ok(subscription.0)
    }

    /// A subscription of the connection ends; what already waits for it is still delivered.
    fn unsubscribe(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        subscription: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let subscription = SubscriptionId(id("subscription", subscription)?);
        let is_spread = self.change(py, move |hub, _| {
            hub.unsubscribe(conn, subscription)?;
            Ok(hub.is_spread(subscription))
        })?;
        self.spread(py, subscription, is_spread)
    }

    /// Sends a control frame, in order with all calls before it, and does not wait; a connection that is gone gets none.
    fn send(&self, py: Python<'_>, #[pyo3(from_py_with = conn)] conn: ConnId, body: Vec<u8>) -> PyResult<()> {
        let call = move |hub: &mut Hub, now: Nanos| {
            // Whoever is gone cannot be told anything; the event that says so is on its way.
            let _ = hub.send(now, conn, &body);
        };
        match &self.place {
            Place::Thread(server) => py.detach(|| server.tell(call)).map_err(Raise::raise),
            Place::Memory(memory) => {
                hold(memory).ask(call);
                Ok(())
            }
        }
    }

    /// Sends what waits, then an error frame (a goodbye if `code` is 0), and lets the connection go.
    fn close(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        code: &Bound<'_, PyAny>,
        text: String,
    ) -> PyResult<()> {
        let code = whole("code", code, 0..=u32::MAX)?;
        self.change(py, move |hub, now| hub.close(now, conn, code, &text))
    }

    /// Connections that do not take the control frames for them: what can wait should.
    fn unread(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let conns = self.portions(py, |hub, first| hub.unread(first, SLOTS_AT_ONCE))?;
        Ok(conns.into_iter().map(|conn| conn.0).collect())
    }

    /// (conn, topic, flow, reason, count) of what was not delivered to clients that are there, since the last call; more of
    /// it is left for the next call if that is much.
    #[allow(clippy::type_complexity)]
    fn losses(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, Option<u32>, &'static str, u64)>> {
        let mut rows = Vec::new();
        for _ in 0..LOSS_CALLS_MAX {
            let (losses, more) = self.ask(py, |hub, _| hub.losses(SLOTS_AT_ONCE))?;
            rows.extend(losses.into_iter().map(|loss| {
                let flow = loss.flow.map(|flow| flow.0);
                (loss.conn.0, loss.topic.0, flow, loss.cause.name(), loss.count)
            }));
            if !more {
                break;
            }
        }
        Ok(rows)
    }

    /// Counters and delays of topics, messages of clients, what was refused; the longest times since the last call.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = PyDict::new(py);
        let (topics, mut totals) = self.topic_status(py)?;
        status.set_item("topics", topics)?;
        let clients = PyDict::new(py);
        for client in self.portions(py, |hub, first| hub.client_status(first, SLOTS_AT_ONCE))? {
            let entry = PyDict::new(py);
            entry.set_item("served", client.served)?;
            entry.set_item("waiting", client.waiting)?;
            clients.set_item(client.conn.0, entry)?;
        }
        status.set_item("clients", clients)?;
        let (past, refusals, turns) =
            self.ask(py, |hub, _| (hub.past_totals(), *hub.refusals(), hub.turns()))?;
        totals.add(&past);
        status.set_item("totals", counters_dict(py, &totals)?)?;
        let refused = PyDict::new(py);
        refusals.named().iter().try_for_each(|(name, count)| refused.set_item(name, count))?;
        status.set_item("refused", refused)?;
        status.set_item("turns", turns)?;
        let longest = self.ask(py, |hub, _| std::mem::take(hub.longest()))?;
        let guarded = PyDict::new(py);
        guarded.set_item("slice_max_ns", longest.slice_ns)?;
        guarded.set_item("call_max_ns", longest.call_ns)?;
        guarded.set_item("turn_max_ns", longest.turn_ns)?;
        status.set_item("guarded", guarded)?;
        Ok(status)
    }

    /// W, MatrixIN and MatrixOUT as they are now; nothing is forwarded while they are made.
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        views_dict(py, self.ask(py, |hub, _| hub.views())?)
    }

    /// The records since the last drain, also what was left when the data thread stopped; None if none are kept.
    fn drain_records(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.drain_portion(py)?.map(|portion| portion.batch(py)).transpose()
    }

    /// The same records as they were kept, for a file.
    fn drain_portion(&self, py: Python<'_>) -> PyResult<Option<Portion>> {
        Ok(self.swapped(py)?.map(Drain::portion))
    }
}

impl PyDoor {
    /// Has the ring hand over what it has kept; the reading side of it, if there is one.
    fn swapped(&self, py: Python<'_>) -> PyResult<Option<&Drain>> {
        let Some(drain) = &self.drain else { return Ok(None) };
        let (rows, portions) = (py.detach(|| drain.rows()), drain.portions());
        let swapped = self.ask(py, move |hub, _| portions.put_down(hub.swap_records(rows)));
        match &self.place {
            Place::Thread(server) if server.is_over() => {
                drain.portions().put_down(server.take_last_records());
            }
            _ => swapped?,
        }
        Ok(Some(drain))
    }

    /// What the connections of all slots have, asked for in portions.
    fn portions<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: fn(&Hub, usize) -> (Vec<R>, bool),
    ) -> PyResult<Vec<R>> {
        let (mut all, mut first) = (Vec::new(), 0);
        loop {
            let (portion, more) = self.ask(py, move |hub, _| call(hub, first))?;
            all.extend(portion);
            if !more {
                return Ok(all);
            }
            first += SLOTS_AT_ONCE;
        }
    }

    /// Asked for in portions, between which messages are forwarded; with the sum of all counters.
    fn topic_status<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Counters)> {
        let (topics, mut totals) = (PyDict::new(py), Counters::default());
        let mut first = 0;
        loop {
            let portion = self.ask(py, move |hub, _| hub.topic_status(first, TOPICS_AT_ONCE))?;
            let Some(last) = portion.last().map(|topic| topic.topic.0) else { return Ok((topics, totals)) };
            for topic in &portion {
                totals.add(&topic.counters);
                let entry = PyDict::new(py);
                entry.set_item("counters", counters_dict(py, &topic.counters)?)?;
                entry.set_item("delay_p50_ns", topic.delay_p50_ns)?;
                entry.set_item("delay_p99_ns", topic.delay_p99_ns)?;
                entry.set_item("delay_max_ns", topic.delay_max_ns)?;
                topics.set_item(topic.topic.0, entry)?;
            }
            first = last + 1;
        }
    }
}

/// Waits for events; signals are handled meanwhile.
fn wait(py: Python<'_>, server: &Server, timeout_ns: Option<Nanos>) -> PyResult<Vec<Event>> {
    let end_ns = timeout_ns.map(|timeout_ns| clock::now().saturating_add(timeout_ns));
    loop {
        let left_ns = end_ns.map(|end_ns| u64::try_from(end_ns - clock::now()).unwrap_or(0));
        match py.detach(|| server.events(left_ns.map(Duration::from_nanos))) {
            Ok(events) if events.is_empty() && server.is_over() => return Err(Gone::Stopped.raise()),
            Ok(events) => return Ok(events),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => py.check_signals()?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn tuple(py: Python<'_>, event: Event) -> PyResult<Bound<'_, PyAny>> {
    Ok(match event {
        Event::Opened { conn, address } => ("opened", conn.0, address).into_pyobject(py)?.into_any(),
        Event::Control { conn, body } => {
            ("control", conn.0, PyBytes::new(py, &body)).into_pyobject(py)?.into_any()
        }
        Event::Closed { conn, reason } => ("closed", conn.0, reason).into_pyobject(py)?.into_any(),
    })
}
