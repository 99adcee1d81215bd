//! Calls of the control plane: the data thread does nothing else meanwhile.

use std::io;

use giusto_core::engine::{Need, Offer};
use giusto_core::frame::{Frame, Hello, LIMIT_BYTES, VERSION};
use giusto_core::id::TopicId;
use giusto_core::input::Share;
use giusto_core::record::Rows;

use super::WARM_UP;
use super::series::{Effort, Series};
use crate::clock;
use crate::hub::{ConnId, Hub, HubConfig};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const KINDS: [&str; 5] = ["status", "clients", "subscribe", "advertise", "drain"];
/// Records that there is room for.
const RECORDS: usize = 1 << 16;
/// Topics whose status is asked for in one call.
const TOPICS_AT_ONCE: usize = 64;
/// Topics that each client publishes on.
const FLOWS: usize = 10;

pub(super) fn measure(topics: usize, clients: usize, effort: Effort) -> io::Result<Vec<Series>> {
    let mut spare = Rows::new(RECORDS).unwrap_or_default();
    let (mut hub, topics, clients) = populated(topics.max(1), clients.max(1)).map_err(io::Error::other)?;
    let mut series = KINDS.map(|kind| Series::new(kind, effort));
    for round in 0..WARM_UP {
        let mut unused = series.clone();
        call(&mut hub, topics[round % topics.len()], clients[round % clients.len()], &mut unused);
        spare = drain(&mut hub, spare, &mut unused);
    }
    let end_ns = effort.end_ns();
    let mut round = 0;
    while !series.iter().all(Series::is_full) && clock::now() < end_ns {
        call(&mut hub, topics[round % topics.len()], clients[round % clients.len()], &mut series);
        spare = drain(&mut hub, spare, &mut series);
        round += 1;
    }
    Ok(series.into())
}

/// Every client subscribes to all, and publishes on some.
fn populated(topics: usize, clients: usize) -> Result<(Hub, Vec<TopicId>, Vec<ConnId>), Failure> {
    let mut config = HubConfig::default();
    config.engine.record_capacity = RECORDS;
    let mut hub = Hub::new(config)?;
    let topics = (0..topics)
        .map(|number| hub.declare(&format!("a/{number}/b"), Share::default()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut conns = Vec::new();
    for number in 0..clients {
        let conn = greeted(&mut hub)?;
        hub.connect(conn, &format!("client {number}"), None)?;
        hub.subscribe(conn, "a/+/b", None, &Need::default())?;
        for flow in 0..FLOWS.min(topics.len()) {
            hub.advertise(conn, topics[(number * FLOWS + flow) % topics.len()], &Offer::default())?;
        }
        conns.push(conn);
    }
    Ok((hub, topics, conns))
}

fn greeted(hub: &mut Hub) -> Result<ConnId, Failure> {
    let conn = hub.open(0, "calibration".into()).ok_or("no room for a connection")?;
    let mut hello = Vec::new();
    Frame::Hello(Hello { version: VERSION }).encode(&mut hello, LIMIT_BYTES)?;
    hub.receive(0, conn, &hello);
    Ok(conn)
}

/// One call of each kind; what changes something is timed both ways.
fn call(hub: &mut Hub, topic: TopicId, conn: ConnId, series: &mut [Series; 5]) {
    let [status, clients, subscribe, advertise, _] = series;
    status.time(|| hub.topic_status(topic.0, TOPICS_AT_ONCE));
    clients.time(|| hub.client_status(0, usize::MAX));
    if let Ok(subscription) = subscribe.time(|| hub.subscribe(conn, "#", None, &Need::default())) {
        let _ = subscribe.time(|| hub.unsubscribe(conn, subscription));
    }
    if let Ok(flow) = advertise.time(|| hub.advertise(conn, topic, &Offer::default())) {
        let _ = advertise.time(|| hub.unadvertise(conn, flow));
    }
}

/// Has the records handed over, with what the calls before have changed; returns the memory for the next time.
fn drain(hub: &mut Hub, spare: Rows, series: &mut [Series; 5]) -> Rows {
    let [.., drain] = series;
    drain.time(|| hub.swap_records(spare)).unwrap_or_default().into_rows()
}
