//! MQTT 3.1.1 at quality of service 0: nothing is acknowledged.

use std::io;

use super::{Dialect, Piece, Shape, Template, expect, refused};
use crate::wire::Wire;

const CONNECT: u8 = 0x10;
const CONNACK: u8 = 0x20;
const PUBLISH: u8 = 0x30;
const SUBSCRIBE: u8 = 0x82;
const SUBACK: u8 = 0x90;
/// `MQTT`, level 4, a clean session, no keep-alive, no name: the broker makes one.
const GREETING: &[u8] = b"\x00\x04MQTT\x04\x02\x00\x00\x00\x00";
/// Topics in one request, so that it and its answer stay small.
const PER_REQUEST: usize = 16;

pub(super) struct Mqtt;

impl Dialect for Mqtt {
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>> {
        self.connect(wire)?;
        Ok(topics.iter().map(|topic| template(topic, shape.payload_bytes)).collect())
    }

    fn subscribe(&self, wire: &mut Wire, topics: &[String]) -> io::Result<()> {
        self.connect(wire)?;
        for some in topics.chunks(PER_REQUEST) {
            let mut body = vec![0, 1];
            for topic in some {
                body.extend_from_slice(&text(topic));
                body.push(0);
            }
            wire.send(&packet(SUBSCRIBE, &body))?;
            expect(self, wire, 1, |piece| Ok(piece[0] == SUBACK))?;
        }
        Ok(())
    }

    #[inline]
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece> {
        let Some((head, rest)) = prefix(bytes)? else { return Ok(Piece::Partial) };
        let length = head + rest;
        if bytes.len() < length {
            return Ok(Piece::Partial);
        }
        if bytes[0] & 0xF0 != PUBLISH {
            return Ok(Piece::Other { length });
        }
        let Some(topic) = bytes[head..length].first_chunk::<2>() else {
            return Err(refused("a message without a topic"));
        };
        Ok(Piece::Message { payload_at: head + 2 + usize::from(u16::from_be_bytes(*topic)), length })
    }
}

impl Mqtt {
    fn connect(&self, wire: &mut Wire) -> io::Result<()> {
        wire.send(&packet(CONNECT, GREETING))?;
        expect(self, wire, 1, |piece| match piece {
            [CONNACK, _, _, 0] => Ok(true),
            other => Err(refused(format!("the broker refuses the connection: {other:?}"))),
        })
    }
}

/// Where the body starts and how long it is, once that can be told.
#[inline]
fn prefix(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let mut rest = 0;
    for (place, byte) in bytes.iter().skip(1).take(4).enumerate() {
        rest |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(Some((place + 2, rest)));
        }
    }
    if bytes.len() > 4 { Err(refused("a length of more than four bytes")) } else { Ok(None) }
}

fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    let mut rest = body.len();
    loop {
        let low = (rest & 0x7F) as u8;
        rest >>= 7;
        bytes.push(if rest > 0 { low | 0x80 } else { low });
        if rest == 0 {
            break;
        }
    }
    bytes.extend_from_slice(body);
    bytes
}

fn text(value: &str) -> Vec<u8> {
    let mut bytes = (value.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(value.as_bytes());
    bytes
}

fn template(topic: &str, payload_bytes: usize) -> Template {
    let mut body = text(topic);
    body.resize(body.len() + payload_bytes, 0);
    let bytes = packet(PUBLISH, &body);
    let payload_at = bytes.len() - payload_bytes;
    Template::free(bytes, payload_at)
}
