//! What an idle (client, topic) pair and a queued message cost, as the process sees it.

use giusto_benchmarks::{report, require_release};
use giusto_core::engine::{Config, Engine, Offer};
use giusto_core::frame::{Data, DataHeader, LIMIT_BYTES};
use giusto_core::id::{ClientId, FlowId, TopicId};
use giusto_core::input::Share;
use giusto_core::policer::Limit;

const CLIENTS: u32 = 100;
const TOPICS: u32 = 10_000;
const MESSAGES: u32 = 1_000_000;

/// Resident memory of this process.
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("needs /proc");
    let pages: f64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("resident pages");
    pages * 4096.0
}

fn engine(clients: u32, topics: u32) -> (Engine, Vec<ClientId>, Vec<TopicId>) {
    let mut engine = Engine::new(Config::default()).unwrap();
    let clients = (0..clients).map(|n| engine.connect(&format!("client {n}")).unwrap()).collect();
    let topics =
        (0..topics).map(|n| engine.declare(&format!("topic/{n}"), Share::default()).unwrap()).collect();
    (engine, clients, topics)
}

fn pairs(case: &str, offer: &Offer) {
    let (mut engine, clients, topics) = engine(CLIENTS, TOPICS);
    let before = resident_bytes();
    for &topic in &topics {
        for &client in &clients {
            engine.advertise(client, topic, offer).unwrap();
        }
    }
    let each = (resident_bytes() - before) / f64::from(CLIENTS * TOPICS);
    report("memory", case, each, "bytes");
}

fn messages() {
    let (mut engine, clients, topics) = engine(100, 1_000);
    for &topic in &topics {
        for &client in &clients {
            engine.advertise(client, topic, &Offer::default()).unwrap();
        }
    }
    let before = resident_bytes();
    let mut frame = Vec::new();
    for n in 0..MESSAGES {
        let flow = n % 100_000;
        let header = DataHeader { stream: flow, ..DataHeader::default() };
        let data = Data { header, attributes: &[], payload: &[0; 128] };
        frame.clear();
        data.encode(&mut frame, LIMIT_BYTES).unwrap();
        let client = engine.owner(FlowId(flow)).unwrap();
        engine.ingest(0, client, &frame, &data).unwrap();
    }
    report("memory", "1 million queued messages of 128 bytes", (resident_bytes() - before) / 1e6, "MB");
}

fn main() {
    require_release();
    pairs("idle (client, topic) pair, no rate offered", &Offer::default());
    let limit = Some(Limit::min_sep(1_000_000));
    pairs("idle (client, topic) pair, policed", &Offer { limit, ..Offer::default() });
    messages();
}
