//! Keyword arguments of classes that have many: each is taken once, and what is left is refused.

use std::fmt::Display;
use std::ops::RangeInclusive;

use giusto_core::engine::Config;
use giusto_core::output::{Expiry, Link, Overflow, SPAN_NS_MAX};
use giusto_core::record::{CAPACITY_MAX as RECORDS_MAX, ONE_OF_MAX};
use giusto_core::store::MESSAGES_MAX;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::number::whole_or;

/// What was given by name; `None` is as if it was not given.
pub(crate) struct Options<'py> {
    left: Option<Bound<'py, PyDict>>,
}

impl<'py> Options<'py> {
    pub(crate) fn new(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        Ok(Self { left: given.map(|given| given.copy()).transpose()? })
    }

    /// Takes the argument called `name`.
    pub(crate) fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(left) = &self.left else { return Ok(None) };
        let value = left.get_item(name)?;
        if value.is_some() {
            left.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    }

    pub(crate) fn whole<T>(&self, name: &str, range: RangeInclusive<T>, default: T) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        whole_or(name, self.take(name)?.as_ref(), range, default)
    }

    fn text(&self, name: &str, default: &str) -> PyResult<String> {
        self.take(name)?.map_or_else(|| Ok(default.to_owned()), |value| value.extract())
    }

    fn real(&self, name: &str, default: f64) -> PyResult<f64> {
        self.take(name)?.map_or(Ok(default), |value| value.extract())
    }

    /// Refuses what nobody has taken.
    pub(crate) fn finish(self, class: &str) -> PyResult<()> {
        match self.left.and_then(|left| left.keys().get_item(0).ok()) {
            None => Ok(()),
            Some(name) => {
                Err(PyTypeError::new_err(format!("{class}() got an unexpected keyword argument '{name}'")))
            }
        }
    }
}

/// How an engine is to be made.
pub(crate) fn engine_config(options: &Options<'_>) -> PyResult<Config> {
    let default = Config::default();
    let link = Link {
        processing_delay_ns: options.whole("processing_delay_ns", 0..=SPAN_NS_MAX, 0)?,
        mean_transmission_ns: options.whole("mean_transmission_ns", 0..=SPAN_NS_MAX, 0)?,
        epsilon: options.real("epsilon", default.link.epsilon)?,
        weight: options.real("weight", default.link.weight)?,
    };
    let expiry = options.take("expiry")?.map(|name| name.extract::<String>()).transpose()?;
    Ok(Config {
        input: options.text("input", &default.input)?,
        output: options.text("output", &default.output)?,
        fragment_bytes: options.whole("fragment_bytes", 1..=u32::MAX, default.fragment_bytes)?,
        message_capacity: options.whole("message_capacity", 1..=MESSAGES_MAX, default.message_capacity)?,
        output_capacity: options.whole("output_capacity", 1..=1 << 24, default.output_capacity)?,
        output_bytes: options.whole("output_bytes", 1..=u64::MAX, default.output_bytes)?,
        overflow: Overflow::named(&options.text("overflow", "drop_oldest")?).map_err(Raise::raise)?,
        expiry: expiry.as_deref().map(Expiry::named).transpose().map_err(Raise::raise)?,
        link,
        record_capacity: options.whole("record_capacity", 0..=RECORDS_MAX, 0)?,
        record_sampling: options.whole("record_sampling", 1..=ONE_OF_MAX, 1)?,
        run: options.text("run", &default.run)?,
        node: options.text("node", &default.node)?,
    })
}
