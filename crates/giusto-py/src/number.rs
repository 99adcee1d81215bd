//! Whole numbers from Python: what does not fit its field is `InvalidInput` with the field's name.

use std::fmt::Display;
use std::ops::RangeInclusive;

use giusto_core::error::Invalid;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors::Raise;

/// The whole number `value`, if it is one and within `range`. `True` equals 1, and is none.
pub(crate) fn whole<T>(field: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<T>) -> PyResult<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    let given = if value.is_instance_of::<PyBool>() { None } else { value.extract::<i128>().ok() };
    let number = given.and_then(|number| T::try_from(number).ok());
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        Invalid::new(field, value, expected).raise()
    })
}

/// The same if `value` is given, else `default`.
pub(crate) fn whole_or<T>(
    field: &str,
    value: Option<&Bound<'_, PyAny>>,
    range: RangeInclusive<T>,
    default: T,
) -> PyResult<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    value.map_or(Ok(default), |value| whole(field, value, range))
}

/// The number of a client, topic, flow or subscription.
pub(crate) fn id(field: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    whole(field, value, 0..=u32::MAX)
}

/// An instant.
pub(crate) fn instant(field: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    whole(field, value, i64::MIN..=i64::MAX)
}

/// A number from 0 to `most`; NaN is none.
pub(crate) fn real_or(
    field: &str,
    value: Option<&Bound<'_, PyAny>>,
    most: f64,
    default: f64,
) -> PyResult<f64> {
    let Some(value) = value else { return Ok(default) };
    let number = value.extract::<f64>().ok().filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| Invalid::new(field, value, format!("a number from 0 to {most:e}")).raise())
}
