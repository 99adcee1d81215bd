//! A drained batch as Arrow takes it over.
//!
//! The buffers of the integer columns change their owner and nothing else; only the names of a batch's
//! dictionaries are written anew. Whoever knows the Arrow PyCapsule interface can take a batch.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray, StructArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema};
use giusto_core::record::{self, Column, Optional, Outcome, VERSION};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Records that were drained at once; Arrow takes them through `__arrow_c_array__`.
#[pyclass(frozen, module = "giusto._core")]
pub(crate) struct Batch {
    schema: Schema,
    rows: StructArray,
    dropped: u64,
    skipped: u64,
}

impl Batch {
    pub(crate) fn new(batch: record::Batch) -> Result<Self, ArrowError> {
        let mut fields = Vec::with_capacity(batch.columns.len());
        let mut arrays = Vec::with_capacity(batch.columns.len());
        for (name, column) in batch.columns {
            let (array, nullable) = into_array(column)?;
            fields.push(Field::new(name, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        let version = [("giusto.record.version".to_owned(), VERSION.to_string())];
        let schema = Schema::new_with_metadata(fields, version.into());
        let rows = StructArray::try_new_with_length(schema.fields().clone(), arrays, None, batch.rows)?;
        Ok(Self { schema, rows, dropped: batch.dropped, skipped: batch.skipped })
    }

    /// The columns.
    pub(super) const fn rows(&self) -> &StructArray {
        &self.rows
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.dropped
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.schema)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The requested schema is a wish that the interface lets us decline.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&self.rows.to_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// The column as an Arrow array, and whether its values may be missing.
fn into_array(column: Column) -> Result<(ArrayRef, bool), ArrowError> {
    Ok(match column {
        Column::Name { keys, names } => {
            let names = StringArray::from_iter_values(names.iter().map(AsRef::<str>::as_ref));
            let keys = optional::<Int32Type, u32>(keys)?;
            (Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?), true)
        }
        Column::Outcome(keys) => {
            let names = StringArray::from_iter_values(Outcome::ALL.map(Outcome::name));
            let keys = primitive::<Int8Type, u8>(keys, None)?;
            (Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?), false)
        }
        Column::Int8(values) => (Arc::new(primitive::<Int8Type, i8>(values, None)?), false),
        Column::Int32(values) => (Arc::new(primitive::<Int32Type, i32>(values, None)?), false),
        Column::Int64(values) => (Arc::new(primitive::<Int64Type, i64>(values, None)?), false),
        Column::OptionalInt64(values) => (Arc::new(optional::<Int64Type, i64>(values)?), true),
        Column::OptionalFloat64(values) => (Arc::new(optional::<Float64Type, f64>(values)?), true),
    })
}

/// Takes over the buffer of `values`. `T` may be the unsigned twin of the array's type.
fn primitive<A: ArrowPrimitiveType, T: ArrowNativeType>(
    values: Vec<T>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<A>, ArrowError> {
    let rows = values.len();
    PrimitiveArray::try_new(ScalarBuffer::new(Buffer::from_vec(values), 0, rows), nulls)
}

fn optional<A: ArrowPrimitiveType, T: ArrowNativeType + Default>(
    column: Optional<T>,
) -> Result<PrimitiveArray<A>, ArrowError> {
    let (values, valid, missing) = column.into_parts();
    let valid = BooleanBuffer::new(Buffer::from_vec(valid), 0, values.len());
    primitive(values, (missing > 0).then(|| NullBuffer::new(valid)))
}
