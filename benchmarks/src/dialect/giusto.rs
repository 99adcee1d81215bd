//! giusto: data frames with one fixed header, credits for each flow, and msgpack maps for what is not data.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, Hello, LIMIT_BYTES, VERSION};
use rmpv::Value;

use super::{Dialect, Piece, Shape, Template, expect, refused};
use crate::wire::Wire;

/// Offsets within a data frame, as docs/reference/wire.md has them.
const SEQUENCE_AT: usize = 16;
const PAYLOAD_AT: usize = 56;

pub(super) struct Giusto;

impl Dialect for Giusto {
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>> {
        self.connect(wire)?;
        let offer = map([("queue", shape.queue.into()), ("max_size_bytes", shape.payload_bytes.into())]);
        let requests = topics.iter().map(|topic| {
            vec![("op", "advertise".into()), ("topic", topic.as_str().into()), ("offer", offer.clone())]
        });
        let answers = self.ask(wire, requests.collect())?;
        answers.iter().map(|answer| template(answer, shape.payload_bytes)).collect()
    }

    fn subscribe(&self, wire: &mut Wire, topics: &[String]) -> io::Result<()> {
        self.connect(wire)?;
        let requests =
            topics.iter().map(|topic| vec![("op", "subscribe".into()), ("pattern", topic.as_str().into())]);
        self.ask(wire, requests.collect()).map(drop)
    }

    #[inline]
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece> {
        let decoded = Decoder::default().decode(bytes).map_err(|error| refused(error.to_string()))?;
        let Decoded::Frame { frame, consumed: length } = decoded else { return Ok(Piece::Partial) };
        match frame {
            Frame::Data(data) => Ok(Piece::Message { payload_at: length - data.payload.len(), length }),
            Frame::Credit(credit) => {
                Ok(Piece::Credit { stream: credit.stream, amount: credit.amount.into(), length })
            }
            Frame::Error(failure) => Err(refused(format!("error {}: {}", failure.code, failure.text))),
            _ => Ok(Piece::Other { length }),
        }
    }
}

impl Giusto {
    fn connect(&self, wire: &mut Wire) -> io::Result<()> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("load-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        wire.send(&encoded(&Frame::Hello(Hello { version: VERSION })))?;
        let version = env!("CARGO_PKG_VERSION").into();
        let request = vec![("op", "connect".into()), ("name", name.into()), ("version", version)];
        self.ask(wire, vec![request]).map(drop)
    }

    /// Sends the requests and waits for all answers, in the order of the requests.
    fn ask(&self, wire: &mut Wire, requests: Vec<Vec<(&str, Value)>>) -> io::Result<Vec<Value>> {
        let count = requests.len();
        let mut bytes = Vec::new();
        for (id, mut request) in requests.into_iter().enumerate() {
            request.push(("id", id.into()));
            let mut body = Vec::new();
            rmpv::encode::write_value(&mut body, &map(request)).map_err(io::Error::other)?;
            bytes.extend_from_slice(&encoded(&Frame::Control(&body)));
        }
        wire.send(&bytes)?;
        let mut answers = vec![Value::Nil; count];
        expect(self, wire, count, |frame| {
            let Some((id, answer)) = answer(frame)? else { return Ok(false) };
            let place = answers.get_mut(id).ok_or_else(|| refused("an answer to nothing"))?;
            *place = answer;
            Ok(true)
        })?;
        Ok(answers)
    }
}

/// The answer in a frame with the id of its request; notices have none.
fn answer(frame: &[u8]) -> io::Result<Option<(usize, Value)>> {
    let Ok(Decoded::Frame { frame: Frame::Control(mut body), .. }) = Decoder::default().decode(frame) else {
        return Ok(None);
    };
    let value = rmpv::decode::read_value(&mut body).map_err(io::Error::other)?;
    if field(&value, "op").and_then(Value::as_str) == Some("failed") {
        return Err(refused(value.to_string()));
    }
    Ok(field(&value, "id").and_then(Value::as_u64).map(|id| (id as usize, value)))
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

fn map<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Everything that is encoded here is far below the limit.
    frame.encode(&mut bytes, LIMIT_BYTES).expect("a small frame");
    bytes
}

fn template(advertised: &Value, payload_bytes: usize) -> io::Result<Template> {
    let number = |name| field(advertised, name).and_then(Value::as_u64);
    let (Some(flow), Some(credit)) = (number("flow"), number("credit")) else {
        return Err(refused(format!("no flow and credit in {advertised}")));
    };
    let header = DataHeader { stream: flow as u32, ..DataHeader::default() };
    let payload = vec![0; payload_bytes];
    let bytes = encoded(&Frame::Data(Data { header, attributes: b"", payload: &payload }));
    Ok(Template {
        bytes,
        payload_at: PAYLOAD_AT,
        sequence_at: Some(SEQUENCE_AT),
        grant: Some((flow as u32, credit)),
    })
}
