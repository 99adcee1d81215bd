//! What awaiting `publish` gives when nothing has to be waited for.

use pyo3::prelude::*;

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
