//! What `async for` awaits: done at once while messages wait, a future of the loop otherwise.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;

use super::inbox::AsyncInbox;
use super::locked;

/// After so many messages in a row other tasks have a turn.
const IN_A_ROW: u32 = 256;

/// The next message of an inbox.
#[pyclass(frozen, module = "giusto._core")]
pub(super) struct Next {
    inbox: Py<AsyncInbox>,
    /// What the loop waits for on our behalf.
    pending: Mutex<Option<Py<PyAny>>>,
}

impl Next {
    pub(super) fn new(inbox: Py<AsyncInbox>) -> Self {
        Self { inbox, pending: Mutex::new(None) }
    }

    /// Goes on with the future that was yielded last; what it yields, or none if it is done.
    fn resume(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(pending) = locked(&self.pending).take() else { return Ok(None) };
        match pending.bind(py).call_method0("__next__") {
            Ok(yielded) => {
                *locked(&self.pending) = Some(pending);
                Ok(Some(yielded.unbind()))
            }
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[pymethods]
impl Next {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let inbox = self.inbox.bind(py);
        loop {
            if let Some(yielded) = self.resume(py)? {
                return Ok(yielded);
            }
            let in_a_row = inbox.get().in_a_row.fetch_add(1, Ordering::Relaxed);
            if in_a_row >= IN_A_ROW {
                inbox.get().in_a_row.store(0, Ordering::Relaxed);
                return Ok(py.None());
            }
            if let Some(message) = inbox.as_super().get().next(py)? {
                return Err(PyStopIteration::new_err((message,)));
            }
            inbox.get().in_a_row.store(0, Ordering::Relaxed);
            let waiter = inbox.call_method0("_waiter")?;
            if waiter.is_none() {
                return Err(PyStopAsyncIteration::new_err(()));
            }
            *locked(&self.pending) = Some(waiter.call_method0("__await__")?.unbind());
        }
    }
}

/// What awaiting a message that has left gives: nothing, at once.
#[pyclass(frozen, module = "giusto._core")]
pub(super) struct Done {}

#[pymethods]
impl Done {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> Option<Py<PyAny>> {
        None
    }
}
