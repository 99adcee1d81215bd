//! Records as a ring has kept them: what a file is written of.

use std::sync::Arc;

use giusto_core::record::{self, Known, Rows};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::Batch;
use super::drain::Spare;

/// Records that were drained at once, for a [`super::RecordEncoder`]. The ring gets their memory back in the end.
#[pyclass(frozen, module = "giusto._core")]
pub(crate) struct Portion {
    portion: record::Portion,
    known: Arc<Known>,
    spare: Spare,
    dropped: u64,
    skipped: u64,
}

impl Portion {
    /// `missing` are the records that were dropped and skipped since the portion before.
    pub(super) fn new(
        portion: record::Portion,
        known: Arc<Known>,
        spare: Spare,
        missing: (u64, u64),
    ) -> Self {
        Self { portion, known, spare, dropped: missing.0, skipped: missing.1 }
    }

    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    pub(super) const fn rows(&self) -> &Rows {
        self.portion.rows()
    }

    /// As columns.
    pub(super) fn unfolded(&self) -> record::Batch {
        let batch = self.known.batch(&self.portion);
        record::Batch { dropped: self.dropped, skipped: self.skipped, ..batch }
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.spare.keep(std::mem::take(&mut self.portion).into_rows());
    }
}

#[pymethods]
impl Portion {
    /// The same records as columns.
    pub(crate) fn batch(&self, py: Python<'_>) -> PyResult<Batch> {
        let batch = py.detach(|| Batch::new(self.unfolded()));
        batch.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn __len__(&self) -> usize {
        self.rows().rows().len()
    }

    #[getter]
    const fn dropped(&self) -> u64 {
        self.dropped
    }

    #[getter]
    const fn skipped(&self) -> u64 {
        self.skipped
    }
}
