//! The step of a message with filters: all of them belong to one client, and all are satisfied.
//!
//! So none can be passed over, whatever the index looks at first.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use giusto_core::engine::Need;
use giusto_core::frame::attributes::{Value, encode};
use giusto_core::id::Nanos;
use giusto_core::matching::Filter;

use super::WARM_UP;
use super::path::Scene;
use super::series::{Effort, Series, timed};
use crate::clock;
use crate::server::Bench;

pub(super) fn measure(comparisons: usize, effort: Effort) -> io::Result<Vec<Series>> {
    let mut scene = Scene::with(None, |bench| Ok(vec![subscriber(bench, comparisons)?]))?;
    let mut series = Series::new("filter", effort);
    let end_ns = effort.end_ns();
    let outcome = repeat(&mut scene, &mut series, end_ns);
    scene.close();
    outcome.map(|()| vec![series])
}

/// A client with a filter of one comparison in each of so many subscriptions.
fn subscriber(bench: &mut Bench, filters: usize) -> io::Result<TcpStream> {
    let (stream, id) = bench.client("subscriber")?;
    for number in 0..filters {
        let filter: Filter = format!("x < {}", number + 1).parse().map_err(io::Error::other)?;
        bench.hub().subscribe(id, "t", Some(&filter), &Need::default()).map_err(io::Error::other)?;
    }
    Ok(stream)
}

fn repeat(scene: &mut Scene, series: &mut Series, end_ns: Nanos) -> io::Result<()> {
    let mut attributes = Vec::new();
    let values = BTreeMap::from([("x".to_owned(), Value::Int(0))]);
    encode(&values, &mut attributes).map_err(io::Error::other)?;
    let bytes: Arc<[u8]> = scene.frame_with(&attributes, 0)?.into();
    for round in 0.. {
        if series.is_full() || clock::now() >= end_ns {
            break;
        }
        scene.read(&bytes, |bench| bench.hub().has_work())?;
        let (_, spent) = timed(|| scene.bench.step());
        if round >= WARM_UP {
            series.push(spent);
        }
        scene.write(|_| ())?;
    }
    Ok(())
}
