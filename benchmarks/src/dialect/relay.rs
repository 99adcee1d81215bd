//! The bare relay: a byte that says which end this is, answered by the same byte; then payloads, nothing else.

use std::io;

use super::{Dialect, PAYLOAD_BYTES, Piece, Shape, Template, refused};
use crate::wire::Wire;

pub(super) struct Relay;

impl Dialect for Relay {
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>> {
        if topics.len() != 1 || shape.payload_bytes != PAYLOAD_BYTES {
            return Err(refused("the relay has one topic and payloads of 128 bytes"));
        }
        greet(wire, b"P")?;
        Ok(vec![Template::free(vec![0; PAYLOAD_BYTES], 0)])
    }

    fn subscribe(&self, wire: &mut Wire, _: &[String]) -> io::Result<()> {
        greet(wire, b"S")
    }

    #[inline]
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece> {
        Ok(if bytes.len() >= PAYLOAD_BYTES {
            Piece::Message { payload_at: 0, length: PAYLOAD_BYTES }
        } else {
            Piece::Partial
        })
    }
}

fn greet(wire: &mut Wire, role: &[u8]) -> io::Result<()> {
    wire.send(role)?;
    wire.receive()?;
    if wire.unread() != role {
        return Err(refused("this is not the relay"));
    }
    wire.consume(1);
    Ok(())
}
