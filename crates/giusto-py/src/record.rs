//! The record store as Python sees it.

mod batch;
mod drain;
mod parquet;
mod portion;

use std::fmt::Display;
use std::ops::RangeInclusive;

pub(crate) use batch::Batch;
pub(crate) use drain::Drain;
use giusto_core::error::{ChangeError, Invalid};
use giusto_core::id::{ClientId, SubscriptionId, TopicId};
use giusto_core::record::{self, CAPACITY_MAX, ID_MAX, Names, Outcome, Record, VERSION};
pub(crate) use portion::Portion;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::number::whole;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RECORD_VERSION", VERSION)?;
    module.add("OUTCOMES", Outcome::ALL.map(Outcome::name).to_vec())?;
    module.add_class::<Columns>()?;
    module.add_class::<Batch>()?;
    module.add_class::<Portion>()?;
    module.add_class::<parquet::RecordEncoder>()
}

/// A bounded store of records.
#[pyclass(module = "giusto._core")]
struct Columns {
    core: record::Columns,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(capacity: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capacity = whole("capacity", capacity, 1..=CAPACITY_MAX)?;
        Ok(Self { core: record::Columns::new(capacity).map_err(Raise::raise)? })
    }

    /// From now on number `id` of `column` is called `name`.
    fn set_name(&mut self, column: &str, id: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
        let names = self.names(column)?;
        names.set(whole("id", id, 0..=ID_MAX)?, name).map_err(Raise::raise)
    }

    /// Keeps one record; false, and counted, if there is no room until the next drain.
    #[pyo3(signature = (**fields))]
    fn push(&mut self, py: Python<'_>, fields: Option<Bound<'_, PyDict>>) -> PyResult<bool> {
        let left = fields.unwrap_or_else(|| PyDict::new(py));
        Ok(self.core.push(&Fields { left }.record()?))
    }

    /// Everything that was kept since the last drain.
    fn drain(&mut self) -> PyResult<Batch> {
        Batch::new(self.core.drain()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.core.capacity()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.core.dropped()
    }
}

impl Columns {
    fn names(&mut self, column: &str) -> PyResult<&mut Names> {
        match column {
            "run" => Ok(&mut self.core.run),
            "node" => Ok(&mut self.core.node),
            "topic" => Ok(&mut self.core.topic),
            "publisher" => Ok(&mut self.core.publisher),
            "subscriber" => Ok(&mut self.core.subscriber),
            _ => Err(ChangeError::unknown("column of names", column).raise()),
        }
    }
}

/// Keyword arguments that are taken one after the other.
struct Fields<'py> {
    left: Bound<'py, PyDict>,
}

impl<'py> Fields<'py> {
    fn record(self) -> PyResult<Record> {
        let record = Record {
            run: self.number("run", 0..=ID_MAX)?,
            node: self.number("node", 0..=ID_MAX)?,
            hop: self.optional("hop", 0..=u16::MAX)?.unwrap_or(0),
            topic: TopicId(self.number("topic", 0..=ID_MAX)?),
            publisher: ClientId(self.number("publisher", 0..=ID_MAX)?),
            subscriber: self.optional("subscriber", 0..=ID_MAX)?.map(SubscriptionId),
            subscription: self.optional("subscription", 0..=u32::MAX)?,
            sequence: self.number("sequence", 0..=u64::MAX)?,
            size_bytes: self.number("size_bytes", 0..=u32::MAX)?,
            priority: self.optional("priority", 0..=7)?.unwrap_or(0),
            t_intended_ns: self.nanos("t_intended_ns")?,
            t_sent_ns: self.number("t_sent_ns", i64::MIN..=i64::MAX)?,
            t_ingress_ns: self.number("t_ingress_ns", i64::MIN..=i64::MAX)?,
            t_selected_ns: self.nanos("t_selected_ns")?,
            t_egress_ns: self.nanos("t_egress_ns")?,
            t_received_ns: self.nanos("t_received_ns")?,
            clock_error_ns: self.nanos("clock_error_ns")?.unwrap_or(0),
            min_sep_ns: self.nanos("min_sep_ns")?,
            deadline_ns: self.nanos("deadline_ns")?,
            bound_ns: self.nanos("bound_ns")?,
            price: self.amount("price")?,
            penalty: self.amount("penalty")?,
            outcome: self.outcome()?,
        };
        match self.left.keys().iter().next() {
            Some(name) => Err(ChangeError::unknown("column", name).raise()),
            None => Ok(record),
        }
    }

    /// The argument `name`, if it was given and is not `None`.
    fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.left.get_item(name)?;
        if value.is_some() {
            self.left.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    }

    fn optional<T>(&self, name: &str, range: RangeInclusive<T>) -> PyResult<Option<T>>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        self.take(name)?.map(|value| whole(name, &value, range)).transpose()
    }

    fn number<T>(&self, name: &str, range: RangeInclusive<T>) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        self.optional(name, range)?.ok_or_else(|| Invalid::new(name, "nothing", "a value").raise())
    }

    fn nanos(&self, name: &str) -> PyResult<Option<i64>> {
        self.optional(name, i64::MIN..=i64::MAX)
    }

    fn amount(&self, name: &str) -> PyResult<Option<f64>> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        match value.extract::<f64>() {
            Ok(amount) if amount.is_finite() => Ok(Some(amount)),
            _ => Err(Invalid::new(name, value, "a finite number").raise()),
        }
    }

    fn outcome(&self) -> PyResult<Outcome> {
        let given = self.take("outcome")?.map_or(String::new(), |value| value.to_string());
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == given).ok_or_else(|| {
            let expected = Outcome::ALL.map(Outcome::name).join(", ");
            Invalid::new("outcome", given, format!("one of {expected}")).raise()
        })
    }
}
