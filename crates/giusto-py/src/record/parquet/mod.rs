//! What a file of records looks like on the disk: Parquet, written as the records come.
//!
//! A general writer takes each value through several layers. Here the types and what the values are like is known: instants
//! grow, and of everything else there are few different values in long runs.

mod arrays;
mod bits;
mod column;
mod delta;
mod dictionary;
mod footer;
mod layout;
mod rows;
mod runs;
mod thrift;

use arrow_array::Array;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{Batch, Portion};
use column::Column;
use footer::{Group, put_footer};
use layout::{At, COLUMNS};
use rows::{Filling, Keys, follow_sent};

/// How a file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

/// The bytes of files of records, one file after the other: those of each group, and in the end those that make it a file.
#[pyclass(module = "giusto._core")]
pub(crate) struct RecordEncoder {
    /// Bytes and records of the groups of the file, and what its footer will say of them.
    length: usize,
    rows: usize,
    groups: Vec<Group>,
    span: Option<(i64, i64)>,
    /// The group that grows.
    waiting: usize,
    columns: Vec<Column>,
    keys: Keys,
    is_planned: bool,
    out: Vec<u8>,
}

#[pymethods]
impl RecordEncoder {
    #[new]
    fn new() -> Self {
        Self {
            length: 0,
            rows: 0,
            groups: Vec::new(),
            span: None,
            waiting: 0,
            columns: COLUMNS.iter().map(Column::new).collect(),
            keys: Keys::default(),
            is_planned: false,
            out: Vec::new(),
        }
    }

    /// Puts records into the group that grows.
    fn add(&mut self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(portion) = records.cast::<Portion>() {
            let portion = portion.get();
            py.detach(|| self.add_portion(portion));
            return Ok(());
        }
        let Ok(batch) = records.cast::<Batch>() else {
            return Err(PyTypeError::new_err("records are a Batch or a Portion"));
        };
        let batch = batch.get();
        py.detach(|| self.add_batch(batch)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Ends the group; its bytes are to be appended to the file.
    fn group<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        py.detach(|| self.encode());
        PyBytes::new(py, &self.out)
    }

    /// The bytes that end the file, with what it says of itself. The next group begins another file.
    #[allow(clippy::needless_pass_by_value, reason = "Python hands over a list of its own")]
    fn end<'py>(&mut self, py: Python<'py>, said: Vec<(String, String)>) -> Bound<'py, PyBytes> {
        self.begin();
        let start = self.out.len();
        put_footer(&mut self.out, self.rows, &self.groups, &said);
        let length = (self.out.len() - start) as u32;
        self.out.extend_from_slice(&length.to_le_bytes());
        self.out.extend_from_slice(MAGIC);
        self.clear();
        PyBytes::new(py, &self.out)
    }

    /// Forgets the file, and the group that grows.
    fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.groups.clear();
        (self.length, self.rows, self.waiting) = (0, 0, 0);
        (self.span, self.is_planned) = (None, false);
    }

    /// Records in the groups so far.
    #[getter]
    const fn rows(&self) -> usize {
        self.rows
    }

    /// Records in the group that grows.
    #[getter]
    const fn waiting(&self) -> usize {
        self.waiting
    }

    /// When the first and the last record of the groups came in, if there is one.
    #[getter]
    const fn span(&self) -> Option<(i64, i64)> {
        self.span
    }
}

impl RecordEncoder {
    fn add_portion(&mut self, portion: &Portion) {
        let Self { columns, keys, is_planned, .. } = self;
        Filling { columns, keys, is_planned, known: portion.known() }.add(portion.rows());
        self.waiting += portion.rows().rows().len();
    }

    fn add_batch(&mut self, batch: &Batch) -> Result<(), ArrowError> {
        if !std::mem::replace(&mut self.is_planned, true) {
            follow_sent(&mut self.columns);
        }
        let rows = batch.rows();
        self.waiting += rows.len();
        arrays::add(&mut self.columns, rows)
    }

    /// Memory for bytes, with those that begin a file if one begins here.
    fn begin(&mut self) {
        self.out.clear();
        if self.length == 0 {
            self.out.extend_from_slice(MAGIC);
        }
    }

    fn encode(&mut self) {
        self.begin();
        if self.waiting > 0 {
            self.put_group();
        }
        self.length += self.out.len();
    }

    fn put_group(&mut self) {
        if !std::mem::replace(&mut self.is_planned, false) {
            follow_sent(&mut self.columns);
        }
        let Self { columns, out, length, .. } = self;
        let chunks: Vec<_> = columns.iter_mut().map(|column| column.put(out, *length)).collect();
        let both = self.span.into_iter().chain(chunks[At::Ingress as usize].span);
        self.span = both.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        self.rows += self.waiting;
        self.groups.push(Group { rows: std::mem::take(&mut self.waiting), chunks });
    }
}
