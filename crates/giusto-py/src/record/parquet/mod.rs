//! What a file of records looks like on the disk: Parquet, written column by column as the records lie in memory.
//!
//! A general writer takes each value through several layers. Here the types and what the values are like is known: instants
//! grow, and of everything else there are few different values in long runs.

mod bits;
mod chunk;
mod delta;
mod dictionary;
mod footer;
mod runs;
mod thrift;

use arrow_array::{Array, ArrayRef};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Batch;
use chunk::chunk;
use footer::{Column, Group, put_footer};

/// How a file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";
/// Columns whose values grow from row to row.
const RISING: [&str; 7] = [
    "sequence",
    "t_intended_ns",
    "t_sent_ns",
    "t_ingress_ns",
    "t_selected_ns",
    "t_egress_ns",
    "t_received_ns",
];
/// The column that says when the first and the last record of a file came in.
const ARRIVAL: &str = "t_ingress_ns";

/// The bytes of one file of records: those of each group, and in the end those that make it a file.
#[pyclass(module = "giusto._core")]
pub(crate) struct RecordEncoder {
    length: usize,
    rows: usize,
    groups: Vec<Group>,
    span: Option<(i64, i64)>,
    /// Memory for the values of a column, kept from group to group: fresh memory takes the machine longer than filling it.
    rising: Vec<i64>,
}

#[pymethods]
impl RecordEncoder {
    #[new]
    fn new() -> Self {
        Self { length: 0, rows: 0, groups: Vec::new(), span: None, rising: Vec::new() }
    }

    /// The bytes of a group of these batches, to be appended to the file.
    #[allow(clippy::needless_pass_by_value, reason = "Python hands over a list of its own")]
    fn group<'py>(
        &mut self,
        py: Python<'py>,
        batches: Vec<PyRef<'py, Batch>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let batches: Vec<_> = batches.iter().map(|batch| batch.rows()).collect();
        let bytes = py.detach(|| self.encode(&batches));
        let bytes = bytes.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The bytes that end the file, with what it says of itself.
    #[allow(clippy::needless_pass_by_value, reason = "Python hands over a list of its own")]
    fn end<'py>(&self, py: Python<'py>, said: Vec<(String, String)>) -> Bound<'py, PyBytes> {
        let mut out = if self.length == 0 { MAGIC.to_vec() } else { Vec::new() };
        let start = out.len();
        put_footer(&mut out, self.rows, &self.groups, &said);
        let length = (out.len() - start) as u32;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(MAGIC);
        PyBytes::new(py, &out)
    }

    /// Records so far.
    #[getter]
    const fn rows(&self) -> usize {
        self.rows
    }

    /// When the first and the last record came in, if there is one.
    #[getter]
    const fn span(&self) -> Option<(i64, i64)> {
        self.span
    }
}

impl RecordEncoder {
    fn encode(&mut self, batches: &[arrow_array::StructArray]) -> Result<Vec<u8>, ArrowError> {
        let mut out = if self.length == 0 { MAGIC.to_vec() } else { Vec::new() };
        let Some(first) = batches.first() else { return Ok(out) };
        let mut columns = Vec::with_capacity(first.num_columns());
        for (index, field) in first.fields().iter().enumerate() {
            let arrays: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(index).clone()).collect();
            let is_rising = RISING.contains(&field.name().as_str());
            let chunk = chunk(&arrays, field.is_nullable(), is_rising.then_some(&mut self.rising))?;
            columns.push(Column::new(field, &chunk, self.length + out.len()));
            if field.name() == ARRIVAL {
                self.note(chunk.span);
            }
            out.extend_from_slice(&chunk.bytes);
        }
        let rows = batches.iter().map(Array::len).sum();
        self.rows += rows;
        self.length += out.len();
        self.groups.push(Group { rows, columns });
        Ok(out)
    }

    fn note(&mut self, span: Option<(i64, i64)>) {
        let both = self.span.into_iter().chain(span);
        self.span = both.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    }
}
