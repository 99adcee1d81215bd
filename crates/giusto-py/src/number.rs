//! Numbers from Python, with an error that names the field instead of an overflow.

use std::ops::RangeInclusive;

use giusto_core::error::Invalid;
use pyo3::prelude::*;

use crate::errors::Raise;

/// A whole number within `range`.
pub(crate) fn whole<T>(field: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<T>) -> PyResult<T>
where
    T: Copy + TryFrom<i128> + Into<i128>,
{
    let (low, high): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
    let number = value.extract::<i128>().ok().filter(|number| (low..=high).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        let shown = value.repr().map_or_else(|_| "?".into(), |repr| repr.to_string());
        Invalid::new(field, shown, format!("a whole number from {low} to {high}")).raise()
    })
}
