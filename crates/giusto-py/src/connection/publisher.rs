//! Publishing: a frame with the credit of its flow, from the caller's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use giusto_core::frame::data::HEADER_BYTES;
use giusto_core::frame::{Data, DataHeader, LIMIT_BYTES, PRIORITY_MAX};
use giusto_net::session::{Flow, Taken};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyMemoryView};

use super::awaitable::Done;
use super::duration::timeout_ns;
use super::{Connection, Shared};
use crate::errors::{Raise, exception};
use crate::matching;

/// Payload and attributes of the largest message that a frame can carry.
const MESSAGE_BYTES_MAX: usize = LIMIT_BYTES as usize - HEADER_BYTES;
/// Many messages are sent in portions of about this size, so that what has not left stays small.
const SOME_BYTES: usize = 1 << 20;

/// One topic that a client publishes on.
#[pyclass(frozen, subclass, module = "giusto._core")]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
    flow: Arc<Flow>,
    sequence: AtomicU64,
    timeout_ns: i64,
    max_size_bytes: usize,
    encode: Option<Py<PyAny>>,
    is_closed: AtomicBool,
}

/// What a message has besides its payload.
struct Rest {
    priority: u8,
    attributes: Vec<u8>,
    intended_ns: Option<i64>,
}

impl Rest {
    #[inline]
    fn new(priority: u8, attributes: Option<&Bound<'_, PyAny>>, intended_ns: Option<i64>) -> PyResult<Self> {
        let attributes = match attributes {
            None => Vec::new(),
            Some(given) => matching::encode(mapping(given)?)?,
        };
        Ok(Self { priority, attributes, intended_ns })
    }
}

/// A priority as it was given.
#[inline]
fn priority_of(given: &Bound<'_, PyAny>) -> PyResult<u8> {
    match given.extract::<u8>() {
        Ok(priority) if priority <= PRIORITY_MAX => Ok(priority),
        _ => {
            Err(exception("InvalidInput", ("priority", given.clone().unbind(), "a whole number from 0 to 7")))
        }
    }
}

/// Attributes as they were given.
fn mapping<'a, 'py>(given: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyMapping>> {
    let expected = "a mapping of names to values";
    let refuse = |_| exception("InvalidInput", ("attributes", given.clone().unbind(), expected));
    given.cast::<PyMapping>().map_err(refuse)
}

impl Publisher {
    /// The payload as bytes.
    #[inline]
    fn payload<'py>(&self, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(encode) = &self.encode {
            return Ok(encode.bind(given.py()).call1((given,))?.cast_into::<PyBytes>()?);
        }
        match given.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.clone()),
            Err(_) => plain(given),
        }
    }

    /// Refuses a message that is larger than offered or than any frame.
    #[inline]
    fn check_size(&self, rest: &Rest, payload: &[u8]) -> PyResult<()> {
        let (size, limit) = (rest.attributes.len() + payload.len(), self.max_size_bytes);
        if size > limit { Err(exception("TooLarge", ("size_bytes", size, limit))) } else { Ok(()) }
    }

    /// Sends from the front as many as there is credit for, and waits while too much has not left. Returns
    /// how many.
    #[inline]
    fn send<'a>(
        &self,
        py: Python<'_>,
        now: i64,
        rest: &Rest,
        payloads: impl Iterator<Item = &'a [u8]>,
    ) -> PyResult<usize> {
        let (count, mut has_room) = self.post(py, now, rest, payloads)?;
        while !has_room {
            py.check_signals()?;
            has_room = py.detach(|| self.shared.net.wait_for_room());
        }
        Ok(count)
    }

    /// Sends from the front as many as there is credit for, without waiting: how many, and whether there is
    /// room for more. Credit is taken where nobody can put another socket in place of the one it is for.
    #[inline]
    fn post<'a>(
        &self,
        py: Python<'_>,
        now: i64,
        rest: &Rest,
        payloads: impl Iterator<Item = &'a [u8]>,
    ) -> PyResult<(usize, bool)> {
        self.shared.check_open()?;
        let mut count = 0;
        let frames = payloads.map_while(|payload| {
            let Taken::Credit { number, .. } = self.flow.take() else { return None };
            count += 1;
            let header = DataHeader {
                priority: rest.priority,
                stream: number,
                sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
                t_intended_ns: rest.intended_ns.unwrap_or(now),
                t_sent_ns: now,
                timeout_ns: self.timeout_ns,
                ..DataHeader::default()
            };
            Some(Data { header, attributes: &rest.attributes, payload })
        });
        let sending = self.shared.net.send_data(now, frames).map_err(|error| {
            self.flow.give(1);
            error.raise()
        })?;
        let has_room = sending.is_done() || py.detach(|| self.shared.net.finish_sending(sending));
        if count == 0 {
            self.check_open()?;
        }
        Ok((count, has_room))
    }

    /// Sends one message when there is credit for it.
    #[cold]
    fn send_later(
        &self,
        py: Python<'_>,
        rest: &Rest,
        payload: &[u8],
        timeout_ns: Option<i64>,
    ) -> PyResult<()> {
        let deadline_ns = self.shared.deadline(timeout_ns);
        loop {
            self.wait_credit(py, timeout_ns, deadline_ns)?;
            if self.send(py, self.shared.net.now(), rest, std::iter::once(payload))? == 1 {
                return Ok(());
            }
        }
    }

    /// Reads credits before there are none left.
    #[inline]
    fn look_for_credit(&self, py: Python<'_>) -> PyResult<()> {
        let (left, capacity) = (self.flow.credit(), self.flow.capacity());
        if left == capacity / 2 || left == capacity / 4 {
            return self.shared.look(py, self.shared.net.now(), true);
        }
        Ok(())
    }

    fn check_open(&self) -> PyResult<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(exception("Closed", ("the publisher was ended by unadvertise()",)));
        }
        self.shared.check_open()
    }

    /// Waits until there is credit.
    #[cold]
    fn wait_credit(&self, py: Python<'_>, timeout_ns: Option<i64>, deadline_ns: Option<i64>) -> PyResult<()> {
        let (flow, is_closed) = (&self.flow, &self.is_closed);
        let found = self.shared.wait_for(py, deadline_ns, |_| {
            (flow.credit() > 0 || is_closed.load(Ordering::Acquire)).then_some(())
        })?;
        self.check_open()?;
        found.ok_or_else(|| self.full(timeout_ns.unwrap_or(0)))
    }

    fn full(&self, timeout_ns: i64) -> PyErr {
        match self.flow.number() {
            None => exception("Closed", ("the connection is lost and not yet restored",)),
            Some(flow) if timeout_ns == 0 => exception("QueueFull", (flow, self.flow.capacity())),
            Some(_) => exception("TimedOut", ("publish: no credit from the broker", timeout_ns)),
        }
    }
}

#[pymethods]
impl Publisher {
    #[new]
    #[pyo3(signature = (connection, *, timeout_ns=0, max_size_bytes=None, encode=None))]
    fn new(
        connection: &Connection,
        timeout_ns: i64,
        max_size_bytes: Option<usize>,
        encode: Option<Py<PyAny>>,
    ) -> Self {
        Self {
            shared: connection.shared.clone(),
            flow: Arc::default(),
            sequence: AtomicU64::new(0),
            timeout_ns,
            max_size_bytes: max_size_bytes.map_or(MESSAGE_BYTES_MAX, |limit| limit.min(MESSAGE_BYTES_MAX)),
            encode,
            is_closed: AtomicBool::new(false),
        }
    }

    /// The broker knows the flow under this number; without credit for datagrams, which have none. A publisher
    /// that was closed stays so.
    #[pyo3(name = "_bind")]
    fn bind(&self, number: u32, credit: u32) {
        let credit = (!self.shared.net.has_datagrams()).then_some(credit);
        self.shared.net.with(|session| {
            // Looked at with the session locked: whoever closes it meanwhile releases the flow after this.
            if !self.is_closed.load(Ordering::Acquire) {
                session.bind_flow(number, credit, &self.flow);
            }
        });
    }

    #[getter]
    fn flow(&self) -> Option<u32> {
        self.flow.number()
    }

    /// Messages that can be published without waiting.
    #[getter]
    fn credit(&self) -> i64 {
        self.flow.credit()
    }

    /// Messages published so far.
    #[getter]
    fn published(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// Publishes without waiting; false if there is no credit, or no room to send.
    #[pyo3(signature = (payload, /, *, priority=0, attributes=None, intended_ns=None))]
    fn try_publish(
        &self,
        py: Python<'_>,
        payload: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = priority_of)] priority: u8,
        attributes: Option<&Bound<'_, PyAny>>,
        intended_ns: Option<i64>,
    ) -> PyResult<bool> {
        let rest = Rest::new(priority, attributes, intended_ns)?;
        let payload = self.payload(payload)?;
        self.check_size(&rest, payload.as_bytes())?;
        if !self.shared.net.has_room() {
            return Ok(false);
        }
        let (count, _) = self.post(py, self.shared.net.now(), &rest, std::iter::once(payload.as_bytes()))?;
        Ok(count == 1)
    }

    /// Publishes as many of the payloads, from `start` on, as there is credit and room for; returns how many.
    #[pyo3(signature = (payloads, start=0, *, priority=0, attributes=None))]
    fn try_publish_many(
        &self,
        py: Python<'_>,
        payloads: Vec<Bound<'_, PyAny>>,
        start: usize,
        #[pyo3(from_py_with = priority_of)] priority: u8,
        attributes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let rest = Rest::new(priority, attributes, None)?;
        let payloads: Vec<Bound<'_, PyBytes>> =
            payloads.iter().skip(start).map(|payload| self.payload(payload)).collect::<PyResult<_>>()?;
        payloads.iter().try_for_each(|payload| self.check_size(&rest, payload.as_bytes()))?;
        if !self.shared.net.has_room() {
            return Ok(0);
        }
        let (count, _) = self.post(py, self.shared.net.now(), &rest, portion(&payloads))?;
        Ok(count)
    }

    /// Ends the publisher: whoever waits for credit gets `Closed`.
    #[pyo3(name = "_close")]
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.shared.net.with(|session| session.release_flow(&self.flow));
        self.shared.net.notify();
    }
}

/// As many from the front as should be sent at once.
fn portion<'a>(payloads: &'a [Bound<'_, PyBytes>]) -> impl Iterator<Item = &'a [u8]> {
    payloads.iter().map(|payload| payload.as_bytes()).scan(0, |bytes, payload| {
        let is_enough = *bytes >= SOME_BYTES;
        *bytes += payload.len();
        (!is_enough).then_some(payload)
    })
}

/// Bytes of something else than bytes.
#[cold]
fn plain<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if given.is_instance_of::<PyByteArray>() || given.is_instance_of::<PyMemoryView>() {
        return Ok(given.py().get_type::<PyBytes>().call1((given,))?.cast_into::<PyBytes>()?);
    }
    let shown = given.get_type().name()?.to_string();
    Err(exception("InvalidInput", ("payload", shown, "bytes; for other types advertise with type=…")))
}

/// A publisher of the blocking face.
#[pyclass(frozen, subclass, extends = Publisher, module = "giusto._core")]
pub(crate) struct BlockingPublisher {}

#[pymethods]
impl BlockingPublisher {
    #[new]
    #[pyo3(signature = (connection, *, timeout_ns=0, max_size_bytes=None, encode=None))]
    fn new(
        connection: &Connection,
        timeout_ns: i64,
        max_size_bytes: Option<usize>,
        encode: Option<Py<PyAny>>,
    ) -> PyClassInitializer<Self> {
        let publisher = Publisher::new(connection, timeout_ns, max_size_bytes, encode);
        PyClassInitializer::from(publisher).add_subclass(Self {})
    }

    /// Publishes; waits while the broker has as much of this topic as it takes.
    ///
    /// `timeout` limits the wait: 0 raises `QueueFull` at once, more raises `TimedOut`.
    #[pyo3(signature = (payload, /, *, priority=0, attributes=None, timeout=None, intended_ns=None))]
    fn publish(
        this: &Bound<'_, Self>,
        payload: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = priority_of)] priority: u8,
        attributes: Option<&Bound<'_, PyAny>>,
        timeout: Option<&Bound<'_, PyAny>>,
        intended_ns: Option<i64>,
    ) -> PyResult<()> {
        let (py, publisher) = (this.py(), this.as_super().get());
        let timeout_ns = timeout_ns(py, timeout)?;
        let rest = Rest::new(priority, attributes, intended_ns)?;
        let payload = publisher.payload(payload)?;
        publisher.check_size(&rest, payload.as_bytes())?;
        let now = publisher.shared.net.now();
        publisher.shared.look(py, now, false)?;
        publisher.look_for_credit(py)?;
        if publisher.send(py, now, &rest, std::iter::once(payload.as_bytes()))? == 1 {
            return Ok(());
        }
        publisher.send_later(py, &rest, payload.as_bytes(), timeout_ns)
    }

    /// Publishes many payloads with as few system calls as possible. `timeout` is for each wait for credit.
    #[pyo3(signature = (payloads, /, *, priority=0, attributes=None, timeout=None))]
    fn publish_many(
        this: &Bound<'_, Self>,
        payloads: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = priority_of)] priority: u8,
        attributes: Option<&Bound<'_, PyAny>>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (py, publisher) = (this.py(), this.as_super().get());
        let timeout_ns = timeout_ns(py, timeout)?;
        let rest = Rest::new(priority, attributes, None)?;
        let payloads: Vec<Bound<'_, PyBytes>> =
            payloads.try_iter()?.map(|payload| publisher.payload(&payload?)).collect::<PyResult<_>>()?;
        payloads.iter().try_for_each(|payload| publisher.check_size(&rest, payload.as_bytes()))?;
        publisher.shared.look(py, publisher.shared.net.now(), false)?;
        let mut sent = 0;
        while let Some(left) = payloads.get(sent..).filter(|left| !left.is_empty()) {
            let count = publisher.send(py, publisher.shared.net.now(), &rest, portion(left))?;
            if count == 0 {
                publisher.wait_credit(py, timeout_ns, publisher.shared.deadline(timeout_ns))?;
            }
            sent += count;
        }
        Ok(())
    }
}

/// A publisher of the asyncio face. A subclass gives `_publish_later(payload, **rest)`: a coroutine that waits for credit.
#[pyclass(frozen, subclass, extends = Publisher, module = "giusto._core")]
pub(crate) struct AsyncPublisher {}

static DONE: PyOnceLock<Py<Done>> = PyOnceLock::new();

#[pymethods]
impl AsyncPublisher {
    #[new]
    #[pyo3(signature = (connection, *, timeout_ns=0, max_size_bytes=None, encode=None))]
    fn new(
        connection: &Connection,
        timeout_ns: i64,
        max_size_bytes: Option<usize>,
        encode: Option<Py<PyAny>>,
    ) -> PyClassInitializer<Self> {
        let publisher = Publisher::new(connection, timeout_ns, max_size_bytes, encode);
        PyClassInitializer::from(publisher).add_subclass(Self {})
    }

    /// Publishes; what it returns is done at once unless the broker has as much of this topic as it takes.
    #[pyo3(signature = (payload, /, *, priority=0, attributes=None, timeout=None, intended_ns=None))]
    fn publish<'py>(
        this: &Bound<'py, Self>,
        payload: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = priority_of)] priority: u8,
        attributes: Option<&Bound<'py, PyAny>>,
        timeout: Option<&Bound<'py, PyAny>>,
        intended_ns: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, publisher) = (this.py(), this.as_super().get());
        timeout_ns(py, timeout)?;
        if publisher.try_publish(py, payload, priority, attributes, intended_ns)? {
            let done = DONE.get_or_try_init(py, || Py::new(py, Done {}))?;
            return Ok(done.bind(py).clone().into_any());
        }
        let rest = PyDict::new(py);
        rest.set_item("priority", priority)?;
        rest.set_item("attributes", attributes)?;
        rest.set_item("timeout", timeout)?;
        rest.set_item("intended_ns", intended_ns)?;
        this.call_method("_publish_later", (payload,), Some(&rest))
    }
}
