//! What a message costs at the edges of the pipeline: its frame, its token, its record.

use std::hint::black_box;

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::frame::{Data, DataHeader, DataMut, Decoded, Decoder, Frame, LIMIT_BYTES};
use giusto_core::id::{ClientId, SubscriptionId, TopicId};
use giusto_core::policer::{Burst, Limit, Policer};
use giusto_core::record::{Columns, Outcome, Record};

const ROUNDS: usize = 501;
/// Their frames fit into the second cache: the cost of the code, not of the memory behind it.
const MESSAGES: usize = 2_000;

/// A name and one round of work.
type Case = (&'static str, Box<dyn FnMut()>);

fn main() {
    require_release();
    let payload = [7u8; 128];
    let frames = stream(&payload);
    let mut cases: [Case; 6] = [
        ("copy_128", Box::new(copy(payload))),
        ("encode_128", Box::new(encode(payload))),
        ("decode_128", Box::new(decode(frames.clone()))),
        ("decode_and_stamp_128", Box::new(stamp(frames))),
        ("police", Box::new(police())),
        ("record_and_drain", Box::new(record())),
    ];
    let mut samples = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for ((_, case), samples) in cases.iter_mut().zip(&mut samples) {
            samples.push(time_ns(case) / MESSAGES as f64);
        }
    }
    for ((name, _), samples) in cases.iter().zip(&mut samples) {
        report("wire", name, median(samples), "ns per message");
    }
}

fn header(sequence: u64) -> DataHeader {
    DataHeader { stream: 3, sequence, t_sent_ns: sequence as i64, ..DataHeader::default() }
}

fn stream(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for sequence in 0..MESSAGES as u64 {
        let data = Data { header: header(sequence), attributes: b"", payload };
        data.encode(&mut out, LIMIT_BYTES).unwrap();
    }
    out
}

/// What any encoder must do at least: move the bytes.
fn copy(payload: [u8; 128]) -> impl FnMut() {
    let mut out = Vec::new();
    move || {
        out.clear();
        for _ in 0..MESSAGES {
            out.extend_from_slice(black_box(&[0; 56]));
            out.extend_from_slice(black_box(&payload));
        }
        black_box(&out);
    }
}

fn encode(payload: [u8; 128]) -> impl FnMut() {
    let mut out = Vec::new();
    move || {
        out.clear();
        for sequence in 0..MESSAGES as u64 {
            let data = Data { header: header(sequence), attributes: b"", payload: black_box(&payload) };
            data.encode(&mut out, LIMIT_BYTES).unwrap();
        }
        black_box(&out);
    }
}

/// What a broker looks at before it queues a message.
fn look_at(frame: Frame<'_>) {
    if let Frame::Data(Data { header, payload, .. }) = frame {
        black_box((header.stream, header.priority, header.sequence, header.t_sent_ns, header.timeout_ns));
        black_box(payload);
    }
}

fn decode(frames: Vec<u8>) -> impl FnMut() {
    move || {
        let (decoder, mut rest) = (Decoder::default(), black_box(frames.as_slice()));
        while let Ok(Decoded::Frame { frame, consumed }) = decoder.decode(rest) {
            look_at(frame);
            rest = &rest[consumed..];
        }
    }
}

fn stamp(mut frames: Vec<u8>) -> impl FnMut() {
    move || {
        let decoder = Decoder::default();
        let mut rest = black_box(frames.as_mut_slice());
        while let Ok(Decoded::Frame { frame, consumed }) = decoder.decode(rest) {
            look_at(frame);
            let (frame, tail) = rest.split_at_mut(consumed);
            let mut data = DataMut::new(frame).unwrap();
            data.set_stream(5);
            data.set_source(6);
            rest = tail;
        }
    }
}

fn police() -> impl FnMut() {
    let limit = Limit { count: 3, period_ns: 1000, burst: Burst::messages(4), jitter_ns: 500 };
    let mut policer = Policer::new(limit).unwrap();
    let mut random = Random::new(1);
    let steps: Vec<i64> = (0..MESSAGES).map(|_| random.below(700) as i64).collect();
    let mut now = 0;
    move || {
        for step in &steps {
            now += step;
            black_box(policer.conforms(now));
        }
    }
}

fn record() -> impl FnMut() {
    let mut columns = Columns::new(MESSAGES).unwrap();
    for (names, name) in [
        (&mut columns.run, "bench"),
        (&mut columns.node, "here"),
        (&mut columns.topic, "a/b"),
        (&mut columns.publisher, "p"),
        (&mut columns.subscriber, "s"),
    ] {
        names.set(0, name).unwrap();
    }
    move || {
        for sequence in 0..MESSAGES as u64 {
            assert!(columns.push(black_box(&delivered(sequence))));
        }
        black_box(columns.drain());
    }
}

fn delivered(sequence: u64) -> Record {
    Record {
        run: 0,
        node: 0,
        hop: 0,
        topic: TopicId(0),
        publisher: ClientId(0),
        subscription: Some(0),
        subscriber: Some(SubscriptionId(0)),
        sequence,
        size_bytes: 128,
        priority: 3,
        t_intended_ns: Some(sequence as i64),
        t_sent_ns: sequence as i64,
        t_ingress_ns: 3,
        t_selected_ns: Some(4),
        t_egress_ns: Some(5),
        t_received_ns: None,
        clock_error_ns: 0,
        min_sep_ns: Some(10),
        deadline_ns: None,
        bound_ns: Some(100),
        price: None,
        penalty: None,
        outcome: Outcome::Delivered,
    }
}
