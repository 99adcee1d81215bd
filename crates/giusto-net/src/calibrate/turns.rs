//! A turn that finds nothing: what looking costs.

use std::io;

use super::WARM_UP;
use super::path::Scene;
use super::series::{Effort, Series};
use crate::clock;

/// Clients that are connected and silent.
const CLIENTS: usize = 16;

pub(super) fn measure(effort: Effort) -> io::Result<Vec<Series>> {
    let mut scene = Scene::new(CLIENTS, None)?;
    let mut series = Series::new("turn", effort);
    (0..WARM_UP).for_each(|_| scene.bench.turn());
    let end_ns = effort.end_ns();
    while !series.is_full() && clock::now() < end_ns {
        series.time(|| scene.bench.turn());
    }
    scene.close();
    Ok(vec![series])
}
