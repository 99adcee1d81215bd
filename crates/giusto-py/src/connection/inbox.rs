//! What a subscription is made of: taking messages out, waiting for them, or being awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use giusto_core::error::Invalid;
use giusto_core::record::Party;
use giusto_net::session::{Figures, Limits, Overflow, Watch};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::duration::timeout_ns;
use super::message::Message;
use super::{Connection, Shared};
use crate::errors::{Raise, exception};
use crate::matching::parse_filter;

/// `(topic, came, bytes, lost, dropped, late, span_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns)`.
type Row = (String, u64, u64, u64, u64, u64, i64, u64, u64, u64, u64, u64);

/// What waits for one subscription.
#[pyclass(frozen, subclass, module = "giusto._core")]
pub(crate) struct Inbox {
    shared: Arc<Shared>,
    key: u32,
    decode: Option<Py<PyAny>>,
    is_closed: AtomicBool,
}

impl Inbox {
    /// The next message, if one waits.
    #[inline]
    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        let taken = self
            .shared
            .net
            .with(|session| session.take(self.key, |incoming| Message::new(py, &self.shared, &incoming)));
        taken.map(|message| self.finish(py, message)).transpose()
    }

    #[inline]
    fn finish(&self, py: Python<'_>, message: Message) -> PyResult<Py<Message>> {
        match &self.decode {
            None => Py::new(py, message),
            Some(decode) => Py::new(py, message.with_type(Some(decode.clone_ref(py)))),
        }
    }

    /// Reads what has come, unless an event loop does: a user may never wait.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.look(py, self.shared.net.now(), true)
    }

    /// Waits until something waits here; false if the deadline passes.
    fn wait(&self, py: Python<'_>, deadline_ns: Option<i64>) -> PyResult<bool> {
        let key = self.key;
        let waiting = |session: &mut giusto_net::session::Session| match session.waiting(key) {
            Some(0) => None,
            Some(_) => Some(true),
            None => Some(false),
        };
        let found = self.shared.wait_for(py, deadline_ns, waiting)?;
        if found == Some(false) {
            return Err(exception("Closed", ("the subscription was ended by unsubscribe()",)));
        }
        Ok(found.is_some())
    }

    fn is_over(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

/// Names with `_` are for the faces, not for whoever has a subscription.
#[pymethods]
impl Inbox {
    #[new]
    #[pyo3(signature = (connection, pattern, filter=None, *, messages=65_536, bytes=67_108_864,
                        overflow="drop_oldest", late_ns=0, sep_ns=0, decode=None))]
    #[expect(clippy::too_many_arguments, reason = "all by keyword")]
    fn new(
        connection: &Connection,
        pattern: &str,
        filter: Option<&Bound<'_, PyAny>>,
        messages: usize,
        bytes: usize,
        overflow: &str,
        late_ns: i64,
        sep_ns: i64,
        decode: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let overflow = match overflow {
            "drop_oldest" => Overflow::DropOldest,
            "drop_new" => Overflow::DropNew,
            other => return Err(Invalid::new("overflow", other, "drop_oldest or drop_new").raise()),
        };
        let filter = filter.map(parse_filter).transpose()?;
        let limits = Limits { messages, bytes, overflow };
        let watch = Watch { late_ns, sep_ns, bound_ns: 0, gaps: filter.is_none() };
        let shared = connection.shared.clone();
        let key = shared.net.with(|session| session.open_inbox(pattern, filter.as_ref(), limits, watch));
        let key = key.map_err(Raise::raise)?;
        Ok(Self { shared, key, decode, is_closed: AtomicBool::new(false) })
    }

    #[getter]
    fn key(&self) -> u32 {
        self.key
    }

    /// How many messages can be taken without waiting.
    fn available(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py)?;
        Ok(self.shared.net.with(|session| session.waiting(self.key)).unwrap_or(0))
    }

    /// Throws away what waits; returns how many messages that were.
    fn purge(&self) -> usize {
        self.shared.net.with(|session| session.purge(self.key))
    }

    /// The next message, or None if none waits.
    #[pyo3(name = "_take")]
    fn take(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        if let Some(message) = self.next(py)? {
            return Ok(Some(message));
        }
        self.look(py)?;
        self.next(py)
    }

    /// Up to `most` of the messages that wait.
    #[pyo3(name = "_take_many")]
    fn take_many<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let taken: Vec<Message> = self.shared.net.with(|session| {
            let next = || session.take(self.key, |incoming| Message::new(py, &self.shared, &incoming));
            std::iter::from_fn(next).take(most).collect()
        });
        let messages: Vec<Py<Message>> =
            taken.into_iter().map(|message| self.finish(py, message)).collect::<PyResult<_>>()?;
        PyList::new(py, messages)
    }

    /// Calls `callback` with up to `most` messages; an exception goes to `failed(exception)`. Returns how many.
    /// What is meant for the whole program, such as `KeyboardInterrupt`, is raised.
    #[pyo3(name = "_drain_into")]
    fn drain_into(
        &self,
        py: Python<'_>,
        callback: &Bound<'_, PyAny>,
        failed: &Bound<'_, PyAny>,
        most: usize,
    ) -> PyResult<usize> {
        for count in 0..most {
            let Some(message) = self.next(py)? else { return Ok(count) };
            match callback.call1((message,)) {
                Err(error) if error.is_instance_of::<PyException>(py) => drop(failed.call1((error,))?),
                called => drop(called?),
            }
        }
        Ok(most)
    }

    /// Lets the connection tell when something waits here.
    #[pyo3(name = "_announce")]
    fn announce(&self) {
        self.shared.net.with(|session| session.announce(self.key));
    }

    /// Deliveries later than this are told as beyond their bound.
    #[pyo3(name = "_set_bound")]
    fn set_bound(&self, bound_ns: i64) {
        self.shared.net.with(|session| session.watch(self.key, |watch| watch.bound_ns = bound_ns));
    }

    /// What the records tell of the subscription: its number at the broker, and what it was granted for which worth.
    #[pyo3(name = "_tell_records")]
    fn tell_records(
        &self,
        number: u32,
        deadline_ns: Option<i64>,
        bound_ns: Option<i64>,
        worth: Option<(f64, f64)>,
    ) -> PyResult<()> {
        let party = Party { number: Some(number), deadline_ns, bound_ns, worth, ..Party::named("") };
        self.shared.net.with(|session| session.describe(self.key, party)).map_err(Raise::raise)
    }

    /// How the topics have been arriving: since the beginning, or since the last call with `recent`.
    #[pyo3(name = "_figures", signature = (*, recent=false))]
    fn figures(&self, recent: bool) -> Vec<Row> {
        let figures = self.shared.net.with(|session| session.figures(self.key, recent));
        figures.into_iter().map(|(topic, figures)| row(topic.to_string(), &figures)).collect()
    }

    /// Ends the inbox; what waits in it is gone.
    #[pyo3(name = "_close")]
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.shared.net.with(|session| session.close_inbox(self.key));
        self.shared.net.notify();
    }
}

fn row(topic: String, figures: &Figures) -> Row {
    let at = |quantile| figures.delays.value_at_quantile(quantile).min(figures.max_ns);
    let Figures { messages, bytes, lost, dropped, late, span_ns, max_ns, .. } = *figures;
    (topic, messages, bytes, lost, dropped, late, span_ns, at(0.5), at(0.9), at(0.99), at(0.999), max_ns)
}

/// An inbox of the blocking face.
#[pyclass(frozen, subclass, extends = Inbox, module = "giusto._core")]
pub(crate) struct BlockingInbox {}

#[pymethods]
impl BlockingInbox {
    #[new]
    #[pyo3(signature = (connection, pattern, filter=None, *, messages=65_536, bytes=67_108_864,
                        overflow="drop_oldest", late_ns=0, sep_ns=0, decode=None))]
    #[expect(clippy::too_many_arguments, reason = "all by keyword")]
    fn new(
        connection: &Connection,
        pattern: &str,
        filter: Option<&Bound<'_, PyAny>>,
        messages: usize,
        bytes: usize,
        overflow: &str,
        late_ns: i64,
        sep_ns: i64,
        decode: Option<Py<PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let inbox =
            Inbox::new(connection, pattern, filter, messages, bytes, overflow, late_ns, sep_ns, decode)?;
        Ok(PyClassInitializer::from(inbox).add_subclass(Self {}))
    }

    /// The next message. Raises `TimedOut` if none comes in time.
    #[pyo3(signature = (timeout=None))]
    fn receive(this: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Message>> {
        let (py, inbox) = (this.py(), this.as_super().get());
        let timeout_ns = timeout_ns(py, timeout)?;
        let deadline_ns = inbox.shared.deadline(timeout_ns);
        loop {
            if let Some(message) = inbox.next(py)? {
                return Ok(message);
            }
            if !inbox.wait(py, deadline_ns)? {
                return Err(exception("TimedOut", ("receive", timeout_ns)));
            }
        }
    }

    /// Waits until something waits here, or `notify` was called since `seen`; false if not in time.
    #[pyo3(name = "_wait", signature = (seen, timeout_ns=None))]
    fn wait(this: &Bound<'_, Self>, seen: u64, timeout_ns: Option<i64>) -> PyResult<bool> {
        let (py, inbox) = (this.py(), this.as_super().get());
        inbox.shared.wait_or_notified(py, inbox.shared.deadline(timeout_ns), seen, |session| {
            session.waiting(inbox.key).filter(|&waiting| waiting > 0).map(drop)
        })
    }

    /// Up to `most` messages: waits for the first, takes what else is there. None in time: an empty list.
    #[pyo3(signature = (most=1024, timeout=None))]
    fn receive_many<'py>(
        this: &Bound<'py, Self>,
        most: usize,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, inbox) = (this.py(), this.as_super().get());
        let deadline_ns = inbox.shared.deadline(timeout_ns(py, timeout)?);
        if most > 0 && !inbox.wait(py, deadline_ns)? {
            return Ok(PyList::empty(py));
        }
        inbox.take_many(py, most)
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Ends with the subscription and when the bus is closed; a connection that is lost for good raises `Closed`.
    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<Message>>> {
        let (py, inbox) = (this.py(), this.as_super().get());
        loop {
            if let Some(message) = inbox.next(py)? {
                return Ok(Some(message));
            }
            match inbox.wait(py, None) {
                // In memory nothing more can happen.
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(_) if inbox.is_over() || inbox.shared.is_closed() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
