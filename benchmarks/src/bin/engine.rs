//! The whole pipeline without sockets: ingest, step, take, finish, in nanoseconds per message.

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::engine::{Config, Engine, Need, Offer};
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, LIMIT_BYTES};
use giusto_core::id::ClientId;
use giusto_core::input::{REGISTRY, Share};
use giusto_core::record::{Portion, Rows};

const MESSAGES: usize = 100_000;
const BATCH: usize = 32;
const ROUNDS: usize = 9;

struct Bench {
    engine: Engine,
    frames: Vec<Vec<u8>>,
    publisher: ClientId,
    readers: Vec<ClientId>,
    rows: Rows,
}

impl Bench {
    fn new(input: &str, topics: usize, readers: usize, record_capacity: usize) -> Self {
        let config = Config { input: input.into(), record_capacity, ..Config::default() };
        let mut engine = Engine::new(config).unwrap();
        let publisher = engine.connect("publisher").unwrap();
        let readers: Vec<ClientId> =
            (0..readers).map(|n| engine.connect(&format!("reader {n}")).unwrap()).collect();
        for &reader in &readers {
            engine.subscribe(reader, "topic/+", None, &Need::default()).unwrap();
        }
        let mut random = Random::new(1);
        let flows: Vec<u32> = (0..topics)
            .map(|n| {
                let topic = engine.declare(&format!("topic/{n}"), Share::default()).unwrap();
                engine.advertise(publisher, topic, &Offer::default()).unwrap().0
            })
            .collect();
        let frame = |sequence| {
            let stream = flows[random.below(topics as u64) as usize];
            let header = DataHeader { stream, sequence, ..DataHeader::default() };
            let mut frame = Vec::new();
            Data { header, attributes: &[], payload: &[7; 128] }.encode(&mut frame, LIMIT_BYTES).unwrap();
            frame
        };
        let frames = (0..MESSAGES as u64).map(frame).collect();
        Self { engine, frames, publisher, readers, rows: Rows::default() }
    }

    /// Nanoseconds per message.
    fn round(&mut self) -> f64 {
        let decoder = Decoder::default();
        time_ns(|| {
            for (number, batch) in self.frames.chunks(BATCH).enumerate() {
                for bytes in batch {
                    if let Ok(Decoded::Frame { frame: Frame::Data(data), .. }) = decoder.decode(bytes) {
                        self.engine.ingest(0, self.publisher, bytes, &data).unwrap();
                    }
                }
                while self.engine.step(1).is_some() {}
                for &reader in &self.readers {
                    while let Some(token) = self.engine.take(2, reader) {
                        std::hint::black_box(self.engine.delivery(token).map(|delivery| delivery.frame[60]));
                        self.engine.finish(token);
                    }
                }
                if number % 32 == 31 {
                    let portion = self.engine.swap_records(std::mem::take(&mut self.rows));
                    self.rows = portion.map_or_else(Rows::default, Portion::into_rows);
                }
            }
        }) / MESSAGES as f64
    }
}

fn main() {
    require_release();
    let mut cases: Vec<(String, Bench)> = Vec::new();
    for policy in REGISTRY {
        cases.push((
            format!("{}, 1,000 topics, 1 subscriber", policy.name),
            Bench::new(policy.name, 1_000, 1, 0),
        ));
    }
    cases.push(("twrr, 1 topic, 1 subscriber".into(), Bench::new("twrr", 1, 1, 0)));
    cases.push(("twrr, 1,000 topics, 10 subscribers".into(), Bench::new("twrr", 1_000, 10, 0)));
    cases
        .push(("twrr, 1,000 topics, 1 subscriber, with records".into(), Bench::new("twrr", 1_000, 1, 2_048)));
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        cases.iter_mut().zip(&mut times).for_each(|((_, bench), times)| times.push(bench.round()));
    }
    for ((case, _), times) in cases.iter().zip(&mut times) {
        report("engine", case, median(times), "ns per message");
    }
}
