//! Timing the broker's work, as Python asks for it.

use giusto_core::id::Nanos;
use giusto_net::calibrate::{Task, measure};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;
use crate::number::{whole, whole_or};

/// Longest measurement in one call: it cannot be interrupted.
const DURATION_NS_MAX: Nanos = 60_000_000_000;
const SAMPLES_MAX: usize = 10_000;
/// Subscribers, filters, topics, clients or frames.
const COUNT_MAX: usize = 1_000;
const SIZE_BYTES_MAX: usize = 8 << 20;
/// Clients of the broker whose control plane is timed.
const CLIENTS: usize = 100;
/// Names of all tasks.
const TASKS: &str = "path, filter, frame, excess, turn, calls, hop or stalls";

fn task(name: &str, size_bytes: usize, count: usize) -> PyResult<Task> {
    Ok(match name {
        "path" => Task::Path { size_bytes, fanout: count },
        "filter" => Task::Filters { comparisons: count },
        "frame" => Task::Reads { frames: count, policed: false },
        "excess" => Task::Reads { frames: count, policed: true },
        "turn" => Task::Turn,
        "calls" => Task::Calls { topics: count, clients: CLIENTS },
        "hop" => Task::Hop { size_bytes },
        "stalls" => Task::Stalls,
        _ => return Err(exception("InvalidInput", ("task", name, TASKS))),
    })
}

/// Nanoseconds of each time that something was done, and for how many of them the system ran something else.
#[pyfunction(name = "measure")]
#[pyo3(signature = (task, *, duration_ns, size_bytes=None, count=None, samples_max=None))]
fn measure_task<'py>(
    py: Python<'py>,
    task: &str,
    duration_ns: &Bound<'py, PyAny>,
    size_bytes: Option<&Bound<'py, PyAny>>,
    count: Option<&Bound<'py, PyAny>>,
    samples_max: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let task = self::task(
        task,
        whole_or("size_bytes", size_bytes, 0..=SIZE_BYTES_MAX, 0)?,
        whole_or("count", count, 0..=COUNT_MAX, 0)?,
    )?;
    let duration_ns = whole("duration_ns", duration_ns, 1..=DURATION_NS_MAX)?;
    let samples_max = whole_or("samples_max", samples_max, 1..=SAMPLES_MAX, SAMPLES_MAX)?;
    let measured = py.detach(|| measure(task, duration_ns, samples_max))?;
    let found = PyDict::new(py);
    for series in measured {
        found.set_item(series.kind, (series.samples_ns, series.away_ns))?;
    }
    Ok(found)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(measure_task, module)?)
}
