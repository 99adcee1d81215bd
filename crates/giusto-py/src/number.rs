//! Numbers from Python, with an error that names the field instead of an overflow.

use std::fmt::Display;
use std::ops::RangeInclusive;

use giusto_core::error::Invalid;
use pyo3::prelude::*;

use crate::errors::Raise;

/// The whole number `value`, if it is one and within `range`; else `InvalidInput` with the field's name.
pub(crate) fn whole<T>(field: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<T>) -> PyResult<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    let number = value.extract::<i128>().ok().and_then(|number| T::try_from(number).ok());
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        Invalid::new(field, value, expected).raise()
    })
}
