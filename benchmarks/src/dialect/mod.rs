//! How each peer is spoken to: what makes a connection a publisher or a subscriber, and what its messages look like.
//!
//! Every dialect is written down here byte by byte, so that all peers get the same load from the same
//! loop, and no client library is part of what is measured.

use std::io::{self, ErrorKind};

use crate::wire::Wire;

mod giusto;
mod mqtt;
mod nats;
mod redis;
mod relay;

/// Bytes of a payload unless told otherwise.
pub const PAYLOAD_BYTES: usize = 128;

/// The protocol of one peer.
pub trait Dialect: Sync {
    /// Makes the connection a publisher; returns the wire form of one message for each topic.
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>>;
    /// Makes the connection a subscriber; returns when the peer has confirmed all topics.
    fn subscribe(&self, wire: &mut Wire, topics: &[String]) -> io::Result<()>;
    /// What the bytes start with.
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece>;
}

/// What the messages are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of each payload.
    pub payload_bytes: usize,
    /// Messages of one flow that the broker is asked to have room for, if it can be asked.
    pub queue: u32,
}

/// One message as it goes over the wire, to be stamped where it lies.
#[derive(Clone, Debug)]
pub struct Template {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where its payload starts.
    pub payload_at: usize,
    /// Where the protocol itself wants a sequence number, if it does.
    pub sequence_at: Option<usize>,
    /// How many may be sent at first, and the number by which more are granted; none: as many as one likes.
    pub grant: Option<(u32, u64)>,
}

impl Template {
    /// A message whose peer grants no credits.
    fn free(bytes: Vec<u8>, payload_at: usize) -> Self {
        Self { bytes, payload_at, sequence_at: None, grant: None }
    }
}

/// What a peer sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A published message; its payload is `payload_bytes` from `payload_at` on.
    Message {
        /// Offset of the payload.
        payload_at: usize,
        /// Length of the whole piece.
        length: usize,
    },
    /// Permission to send more.
    Credit {
        /// The number in [`Template::grant`].
        stream: u32,
        /// How many more.
        amount: u64,
        /// Length of the whole piece.
        length: usize,
    },
    /// Anything else.
    Other {
        /// Length of the whole piece.
        length: usize,
    },
    /// Not all of it is there yet.
    Partial,
}

/// The dialect called `name`.
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    Some(match name {
        "relay" => &relay::Relay,
        "nats" => &nats::Nats,
        "redis" => &redis::Redis,
        "mqtt" => &mqtt::Mqtt,
        "giusto" => &giusto::Giusto,
        _ => return None,
    })
}

/// Reads until `count` pieces were accepted; what comes before and between them is dropped.
fn expect(
    dialect: &dyn Dialect,
    wire: &mut Wire,
    count: usize,
    mut accept: impl FnMut(&[u8]) -> io::Result<bool>,
) -> io::Result<()> {
    let mut found = 0;
    while found < count {
        let length = match dialect.piece(wire.unread())? {
            Piece::Partial => {
                if !wire.receive()? {
                    return Err(io::Error::new(ErrorKind::TimedOut, "the peer does not answer"));
                }
                continue;
            }
            Piece::Message { length, .. } | Piece::Credit { length, .. } | Piece::Other { length } => length,
        };
        found += usize::from(accept(&wire.unread()[..length])?);
        wire.consume(length);
    }
    Ok(())
}

/// What the peer said is not what its protocol allows here.
fn refused(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text.into())
}

/// Offset just behind the first line, if all of it is there.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n').map(|at| at + 1)
}

/// The decimal number that the digits at the end of a line make.
fn decimal(digits: &[u8]) -> io::Result<usize> {
    let digits = digits.trim_ascii();
    digits.iter().try_fold(0usize, |value, digit| match digit {
        b'0'..=b'9' => Ok(value * 10 + usize::from(digit - b'0')),
        _ => Err(refused(format!("not a number: {}", String::from_utf8_lossy(digits)))),
    })
}
