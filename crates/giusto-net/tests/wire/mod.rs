//! What tests say to a broker and read from it.
#![allow(dead_code)] // Not every test says everything.

use giusto_core::engine::{Need, Offer};
use giusto_core::frame::{
    Data, DataHeader, Decoded, Decoder, Frame, Hello, Kind, LIMIT_BYTES, Probe, VERSION,
};
use giusto_core::id::{FlowId, TopicId};
use giusto_core::input::Share;
use giusto_core::queue::Bounds;
use giusto_net::hub::{ConnId, Event, Hub};

/// A frame that a test keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    Hello,
    Data { stream: u32, source: u32, sequence: u64, payload: Vec<u8> },
    Control(Vec<u8>),
    Credit { stream: u32, amount: u32 },
    Probe { sequence: u64, t_echoed_ns: i64 },
    Error(u32, String),
    Goodbye,
}

/// All frames of `bytes`, which must be whole.
pub(crate) fn frames(mut bytes: &[u8]) -> Vec<Owned> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let Ok(Decoded::Frame { frame, consumed }) = Decoder::default().decode(bytes) else {
            panic!("not whole frames: {bytes:?}")
        };
        found.push(owned(&frame));
        bytes = &bytes[consumed..];
    }
    found
}

pub(crate) fn owned(frame: &Frame<'_>) -> Owned {
    match *frame {
        Frame::Hello(_) => Owned::Hello,
        Frame::Data(data) => Owned::Data {
            stream: data.header.stream,
            source: data.header.source,
            sequence: data.header.sequence,
            payload: data.payload.to_vec(),
        },
        Frame::Control(body) => Owned::Control(body.to_vec()),
        Frame::Credit(credit) => Owned::Credit { stream: credit.stream, amount: credit.amount },
        Frame::Probe(probe) => Owned::Probe { sequence: probe.sequence, t_echoed_ns: probe.t_echoed_ns },
        Frame::Error(failure) => Owned::Error(failure.code, failure.text.to_owned()),
        Frame::Goodbye => Owned::Goodbye,
    }
}

pub(crate) fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes, LIMIT_BYTES).unwrap();
    bytes
}

pub(crate) fn hello() -> Vec<u8> {
    encode(&Frame::Hello(Hello { version: VERSION }))
}

pub(crate) fn control(body: &[u8]) -> Vec<u8> {
    encode(&Frame::Control(body))
}

pub(crate) fn probe(sequence: u64) -> Vec<u8> {
    encode(&Frame::Probe(Probe { echo: false, sequence, t_sent_ns: 1, t_echoed_ns: 0 }))
}

pub(crate) fn data(flow: FlowId, sequence: u64, payload: &[u8]) -> Vec<u8> {
    let header = DataHeader { stream: flow.0, sequence, ..DataHeader::default() };
    encode(&Frame::Data(Data { header, attributes: &[], payload }))
}

pub(crate) fn offer(capacity: u32) -> Offer {
    Offer { bounds: Bounds { capacity, limit_bytes: 1 << 20 }, limit: None }
}

/// A connection that has said hello and been made a client.
pub(crate) fn client(hub: &mut Hub, name: &str) -> ConnId {
    let conn = hub.open(0, format!("tcp://{name}")).unwrap();
    hub.receive(0, conn, &[hello(), control(b"connect")].concat());
    hub.connect(conn, name, None).unwrap();
    sent(hub, 0, conn);
    hub.events().clear();
    conn
}

/// All that goes to a connection now.
pub(crate) fn sent(hub: &mut Hub, now: i64, conn: ConnId) -> Vec<Owned> {
    let mut out = Vec::new();
    hub.fill(now, conn, &mut out, usize::MAX);
    frames(&out)
}

/// A publisher with a flow on `topic` and a subscriber to everything.
pub(crate) fn pair(hub: &mut Hub, capacity: u32) -> (ConnId, ConnId, TopicId, FlowId) {
    let (publisher, subscriber) = (client(hub, "publisher"), client(hub, "subscriber"));
    let topic = hub.declare("ward/3/alarm", Share::default()).unwrap();
    let flow = hub.advertise(publisher, topic, &offer(capacity)).unwrap();
    hub.subscribe(subscriber, "#", None, &Need::default()).unwrap();
    (publisher, subscriber, topic, flow)
}

/// Steps until nothing waits; returns how often.
pub(crate) fn run(hub: &mut Hub, now: i64) -> usize {
    let steps = std::iter::from_fn(|| hub.step(now).then_some(())).count();
    hub.gather(now);
    steps
}

/// `count` messages, one after the other.
pub(crate) fn publish(hub: &mut Hub, conn: ConnId, flow: FlowId, count: u64, payload: &[u8]) {
    (0..count).for_each(|n| {
        hub.receive(0, conn, &data(flow, n, payload));
    });
}

/// The payloads of data frames.
pub(crate) fn payloads(frames: &[Owned]) -> Vec<Vec<u8>> {
    let payload = |frame: &Owned| match frame {
        Owned::Data { payload, .. } => Some(payload.clone()),
        _ => None,
    };
    frames.iter().filter_map(payload).collect()
}

/// Credits that frames give.
pub(crate) fn credits(frames: &[Owned]) -> u32 {
    let amount = |frame: &Owned| match frame {
        Owned::Credit { amount, .. } => *amount,
        _ => 0,
    };
    frames.iter().map(amount).sum()
}

pub(crate) fn is_closed(event: &Event, which: ConnId) -> bool {
    matches!(event, Event::Closed { conn, .. } if *conn == which)
}

/// A kind byte that no frame has.
pub(crate) const NO_KIND: u8 = Kind::Goodbye as u8 + 1;
