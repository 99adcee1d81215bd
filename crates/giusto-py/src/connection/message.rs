//! A received message.

use giusto_core::frame::DataHeader;
use giusto_net::session::Incoming;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::Shared;
use crate::matching::decode_attributes;

/// A message as a subscription receives it.
#[pyclass(frozen, module = "giusto._core")]
pub(crate) struct Message {
    #[pyo3(get)]
    topic: Py<PyString>,
    #[pyo3(get)]
    payload: Py<PyBytes>,
    #[pyo3(get)]
    source: Py<PyString>,
    #[pyo3(get)]
    received_ns: i64,
    header: DataHeader,
    attributes: Option<Box<[u8]>>,
    typed: Option<Box<Typed>>,
}

struct Typed {
    decode: Py<PyAny>,
    value: PyOnceLock<Py<PyAny>>,
}

impl Message {
    /// The message that lies in the inbox, with the session locked: makes nothing that could run other code.
    #[inline]
    pub(super) fn new(py: Python<'_>, shared: &Shared, incoming: &Incoming<'_>) -> Self {
        let header = incoming.data.header;
        let mut names = super::locked(&shared.names);
        let attributes = incoming.data.attributes;
        Self {
            topic: names.topic(py, header.stream, incoming.topic),
            source: names.source(py, header.source, incoming.source),
            payload: PyBytes::new(py, incoming.data.payload).unbind(),
            received_ns: incoming.received_ns,
            header,
            attributes: (!attributes.is_empty()).then(|| attributes.into()),
            typed: None,
        }
    }

    /// The payload is of a type.
    pub(super) fn with_type(mut self, decode: Option<Py<PyAny>>) -> Self {
        self.typed = decode.map(|decode| Box::new(Typed { decode, value: PyOnceLock::new() }));
        self
    }
}

#[pymethods]
impl Message {
    /// The payload as the subscription's type; the payload itself if it has none.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(typed) = &self.typed else { return Ok(self.payload.bind(py).clone().into_any()) };
        let value = typed.value.get_or_try_init(py, || typed.decode.call1(py, (&self.payload,)))?;
        Ok(value.bind(py).clone())
    }

    #[getter]
    fn sent_ns(&self) -> i64 {
        self.header.t_sent_ns
    }

    #[getter]
    fn intended_ns(&self) -> i64 {
        self.header.t_intended_ns
    }

    /// From sent to received: across machines it includes the difference of their clocks.
    #[getter]
    fn latency_ns(&self) -> i64 {
        self.received_ns - self.header.t_sent_ns
    }

    #[getter]
    fn priority(&self) -> u8 {
        self.header.priority
    }

    #[getter]
    fn sequence(&self) -> u64 {
        self.header.sequence
    }

    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        decode_attributes(py, self.attributes.as_deref().unwrap_or_default())
    }

    /// The attributes as they are on the wire: for whoever keeps or forwards them. No bytes for none.
    #[getter]
    fn attribute_block<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.attributes.as_deref().unwrap_or_default())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (topic, source) = (self.topic.bind(py).repr()?, self.source.bind(py).repr()?);
        let payload = self.payload.bind(py);
        let (shown, more) = match payload.as_bytes() {
            long if long.len() > 40 => (&long[..40], format!("… {} bytes", long.len())),
            short => (short, String::new()),
        };
        let shown = PyBytes::new(py, shown).repr()?;
        let (sequence, latency) = (self.header.sequence, self.latency_ns());
        Ok(format!(
            "Message(topic={topic}, payload={shown}{more}, source={source}, sequence={sequence}, latency_ns={latency})"
        ))
    }
}
