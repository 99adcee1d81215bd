//! Policies written in Python: adapters that let one stand where a policy of the core does.
//!
//! A stage cannot fail, Python can. The first error is kept, the stage does nothing from then on, and whoever
//! drives it asks for the error afterwards.

mod input;
mod output;

use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use input::PythonInput;
pub(crate) use output::PythonOutput;
use pyo3::prelude::*;

/// The first error of the policies that share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaint(Arc<Mutex<Option<PyErr>>>);

impl Complaint {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Whether there was an error.
    pub(crate) fn is_some(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Raises the error, once.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// A Python object, until it fails.
#[derive(Debug)]
struct Object {
    object: Option<Py<PyAny>>,
    complaint: Complaint,
}

impl Object {
    /// What `factory()` returns.
    fn new(factory: &Py<PyAny>, complaint: Complaint) -> Self {
        let made = Python::attach(|py| factory.call0(py));
        let object = made.map_err(|error| complaint.note(error)).ok();
        Self { object, complaint }
    }

    /// Lets `work` use the object; none if it has failed, or fails now.
    fn with<T>(&mut self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        match Python::attach(|py| work(object.bind(py))) {
            Ok(value) => Some(value),
            Err(error) => {
                self.complaint.note(error);
                self.object = None;
                None
            }
        }
    }
}
