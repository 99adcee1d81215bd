//! Frames as Python sees them: functions that write one, a function and a class that read them.

mod value;

use giusto_core::error::Invalid;
use giusto_core::frame::{
    self, Credit, Decoded, Decoder, Failure, Frame, Hello, LIMIT_BYTES, Probe, VERSION,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::{Raise, exception};
use crate::number::whole;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FRAME_LIMIT_BYTES", LIMIT_BYTES)?;
    module.add("WIRE_VERSION", VERSION)?;
    module.add_function(wrap_pyfunction!(encode_hello, module)?)?;
    module.add_function(wrap_pyfunction!(encode_data, module)?)?;
    module.add_function(wrap_pyfunction!(encode_control, module)?)?;
    module.add_function(wrap_pyfunction!(encode_credit, module)?)?;
    module.add_function(wrap_pyfunction!(encode_probe, module)?)?;
    module.add_function(wrap_pyfunction!(encode_error, module)?)?;
    module.add_function(wrap_pyfunction!(encode_goodbye, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_class::<FrameDecoder>()?;
    value::register(module)
}

fn encode<'py>(py: Python<'py>, frame: &Frame<'_>, limit_bytes: u32) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    frame.encode(&mut out, limit_bytes).map_err(Raise::raise)?;
    Ok(PyBytes::new(py, &out))
}

fn limit(limit_bytes: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
    limit_bytes.map_or(Ok(LIMIT_BYTES), |limit| whole("limit_bytes", limit, 0..=u32::MAX))
}

#[pyfunction]
#[pyo3(signature = (version=None))]
fn encode_hello<'py>(py: Python<'py>, version: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
    let version = version.map_or(Ok(VERSION), |version| whole("version", version, 0..=u16::MAX))?;
    encode(py, &Frame::Hello(Hello { version }), LIMIT_BYTES)
}

#[pyfunction]
#[pyo3(signature = (payload, *, stream, sequence, t_sent_ns, t_intended_ns=None, source=None, priority=None,
                    flags=None, timeout_ns=None, attributes=None, limit_bytes=None))]
#[expect(clippy::too_many_arguments, reason = "one per field of the frame, all by keyword")]
fn encode_data<'py>(
    py: Python<'py>,
    payload: PyBackedBytes,
    stream: &Bound<'py, PyAny>,
    sequence: &Bound<'py, PyAny>,
    t_sent_ns: &Bound<'py, PyAny>,
    t_intended_ns: Option<&Bound<'py, PyAny>>,
    source: Option<&Bound<'py, PyAny>>,
    priority: Option<&Bound<'py, PyAny>>,
    flags: Option<&Bound<'py, PyAny>>,
    timeout_ns: Option<&Bound<'py, PyAny>>,
    attributes: Option<PyBackedBytes>,
    limit_bytes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let t_sent_ns = whole("t_sent_ns", t_sent_ns, i64::MIN..=i64::MAX)?;
    let header = frame::DataHeader {
        priority: priority.map_or(Ok(0), |priority| whole("priority", priority, 0..=7))?,
        flags: flags.map_or(Ok(0), |flags| whole("flags", flags, 0..=u16::MAX))?,
        stream: whole("stream", stream, 0..=u32::MAX)?,
        source: source.map_or(Ok(0), |source| whole("source", source, 0..=u32::MAX))?,
        sequence: whole("sequence", sequence, 0..=u64::MAX)?,
        t_intended_ns: t_intended_ns
            .map_or(Ok(t_sent_ns), |t| whole("t_intended_ns", t, i64::MIN..=i64::MAX))?,
        t_sent_ns,
        timeout_ns: timeout_ns.map_or(Ok(0), |timeout| whole("timeout_ns", timeout, 0..=i64::MAX))?,
    };
    let attributes = attributes.as_deref().unwrap_or_default();
    let data = frame::Data { header, attributes, payload: &payload };
    encode(py, &Frame::Data(data), limit(limit_bytes)?)
}

#[pyfunction]
#[pyo3(signature = (body, *, limit_bytes=None))]
fn encode_control<'py>(
    py: Python<'py>,
    body: PyBackedBytes,
    limit_bytes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    encode(py, &Frame::Control(&body), limit(limit_bytes)?)
}

#[pyfunction]
#[pyo3(signature = (*, stream, amount))]
fn encode_credit<'py>(
    py: Python<'py>,
    stream: &Bound<'py, PyAny>,
    amount: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let stream = whole("stream", stream, 0..=u32::MAX)?;
    let amount = whole("amount", amount, 0..=u32::MAX)?;
    encode(py, &Frame::Credit(Credit { stream, amount }), LIMIT_BYTES)
}

#[pyfunction]
#[pyo3(signature = (*, sequence, t_sent_ns, t_echoed_ns=None, echo=false))]
fn encode_probe<'py>(
    py: Python<'py>,
    sequence: &Bound<'py, PyAny>,
    t_sent_ns: &Bound<'py, PyAny>,
    t_echoed_ns: Option<&Bound<'py, PyAny>>,
    echo: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let probe = Probe {
        echo,
        sequence: whole("sequence", sequence, 0..=u64::MAX)?,
        t_sent_ns: whole("t_sent_ns", t_sent_ns, i64::MIN..=i64::MAX)?,
        t_echoed_ns: t_echoed_ns.map_or(Ok(0), |t| whole("t_echoed_ns", t, i64::MIN..=i64::MAX))?,
    };
    encode(py, &Frame::Probe(probe), LIMIT_BYTES)
}

#[pyfunction]
fn encode_error<'py>(py: Python<'py>, code: &Bound<'py, PyAny>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    let code = whole("code", code, 0..=u32::MAX)?;
    encode(py, &Frame::Error(Failure { code, text }), LIMIT_BYTES)
}

#[pyfunction]
fn encode_goodbye(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    encode(py, &Frame::Goodbye, LIMIT_BYTES)
}

/// `(frame, consumed)`, or `(None, needed)` if `buffer` holds only the start of a frame.
#[pyfunction]
#[pyo3(signature = (buffer, *, limit_bytes=None))]
fn decode<'py>(
    py: Python<'py>,
    buffer: PyBackedBytes,
    limit_bytes: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Option<Bound<'py, PyAny>>, usize)> {
    match Decoder::new(limit(limit_bytes)?).decode(&buffer).map_err(Raise::raise)? {
        Decoded::Frame { frame, consumed } => Ok((Some(value::from(py, frame)?), consumed)),
        Decoded::Incomplete { needed } => Ok((None, needed)),
    }
}

/// A stream of bytes as an iterator of frames: feed it, then take what is whole.
///
/// It stops at the start of a frame and goes on after the next `feed`. After bytes that are not a frame
/// every further step raises the same error: nothing behind them can be trusted.
#[pyclass(module = "giusto._core")]
struct FrameDecoder {
    decoder: Decoder,
    limit_bytes: u32,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were given out as frames.
    taken: usize,
    /// Bytes of the stream before `buffer`.
    before: u64,
}

#[pymethods]
impl FrameDecoder {
    #[new]
    #[pyo3(signature = (*, limit_bytes=None))]
    fn new(limit_bytes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let limit_bytes = limit(limit_bytes)?;
        let decoder = Decoder::new(limit_bytes);
        Ok(Self { decoder, limit_bytes, buffer: Vec::new(), taken: 0, before: 0 })
    }

    /// Appends bytes; refused while a whole frame's worth of them waits to be taken.
    fn feed(&mut self, data: PyBackedBytes) -> PyResult<()> {
        let limit_bytes = (self.limit_bytes as usize).max(frame::PREFIX_BYTES);
        if self.pending_bytes() >= limit_bytes {
            let expected = format!("fewer than {limit_bytes} bytes waiting: take the frames first");
            return Err(Invalid::new("pending_bytes", self.pending_bytes(), expected).raise());
        }
        self.buffer.drain(..self.taken);
        self.before += self.taken as u64;
        self.taken = 0;
        self.buffer.extend_from_slice(&data);
        Ok(())
    }

    #[getter]
    fn pending_bytes(&self) -> usize {
        self.buffer.len() - self.taken
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let waiting = self.buffer.get(self.taken..).unwrap_or_default();
        match self.decoder.decode(waiting) {
            Ok(Decoded::Frame { frame, consumed }) => {
                let frame = value::from(py, frame)?;
                self.taken += consumed;
                Ok(Some(frame))
            }
            Ok(Decoded::Incomplete { .. }) => Ok(None),
            Err(error) => {
                let offset = self.before + (self.taken + error.offset) as u64;
                Err(exception("ProtocolError", (error.reason.to_string(), offset)))
            }
        }
    }
}
