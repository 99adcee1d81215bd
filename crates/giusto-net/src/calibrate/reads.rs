//! A read that finds many of the smallest frames: what a client can make the broker do at once.

use std::io;
use std::sync::Arc;

use giusto_core::id::Nanos;
use giusto_core::policer::Limit;

use super::WARM_UP;
use super::path::Scene;
use super::series::{Effort, Series};
use crate::clock;

/// Payload of the smallest message that says something.
const SIZE_BYTES: usize = 1;
/// Time between two messages of an offer that nobody keeps.
const MIN_SEP_NS: Nanos = 1_000_000_000;

pub(super) fn measure(frames: usize, policed: bool, effort: Effort) -> io::Result<Vec<Series>> {
    let mut scene = Scene::new(0, policed.then_some(Limit::min_sep(MIN_SEP_NS)))?;
    let mut series = Series::new(if policed { "excess" } else { "frame" }, effort);
    let end_ns = effort.end_ns();
    let outcome = repeat(&mut scene, frames, &mut series, end_ns);
    scene.close();
    outcome.map(|()| vec![series])
}

fn repeat(scene: &mut Scene, frames: usize, series: &mut Series, end_ns: Nanos) -> io::Result<()> {
    let bytes: Arc<[u8]> = scene.frame(SIZE_BYTES)?.repeat(frames).into();
    for round in 0.. {
        if series.is_full() || clock::now() >= end_ns {
            break;
        }
        let due = (round as u64 + 1) * frames as u64;
        let publisher = scene.publisher;
        let spent = scene.read(&bytes, |bench| {
            bench.forgive(publisher);
            let seen = bench.hub().totals();
            seen.ingested + seen.policed >= due
        })?;
        if round >= WARM_UP {
            series.push(spent);
        }
        while scene.bench.step() {}
        scene.write(|_| ())?;
    }
    Ok(())
}
