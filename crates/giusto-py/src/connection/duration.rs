//! Durations as people write them, in nanoseconds.

use giusto_core::id::Nanos;
use pyo3::prelude::*;

/// A timeout: none is for ever. Text and `timedelta` are read by `giusto.contract`.
pub(super) fn timeout_ns(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Nanos>> {
    let Some(given) = given else { return Ok(None) };
    match given.extract::<f64>() {
        Ok(seconds) if (0.0..=9.0e9).contains(&seconds) => Ok(Some((seconds * 1e9) as Nanos)),
        _ => {
            py.import("giusto.contract")?.call_method1("duration_ns", (given, "timeout"))?.extract().map(Some)
        }
    }
}
