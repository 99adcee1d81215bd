//! `giusto._core`: the core as Python sees it. Conversions only; nothing is decided here.

use pyo3::prelude::*;

mod calibrate;
mod connection;
mod engine;
mod errors;
mod frame;
mod input;
mod matching;
mod network;
mod number;
mod options;
mod output;
mod plane;
mod policer;
mod policy;
mod record;

/// The native core of giusto.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SOURCE_DIGEST", env!("GIUSTO_SOURCE_DIGEST"))?;
    module.add("PROFILE", env!("GIUSTO_PROFILE"))?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    calibrate::register(module)?;
    connection::register(module)?;
    engine::register(module)?;
    frame::register(module)?;
    input::register(module)?;
    matching::register(module)?;
    network::register(module)?;
    output::register(module)?;
    plane::register(module)?;
    policer::register(module)?;
    record::register(module)?;
    Ok(())
}
