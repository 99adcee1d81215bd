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

#[cfg(test)]
mod tests {
    use giusto_core::frame::{Credit, Data, DataHeader, Frame, LIMIT_BYTES};

    use super::{PAYLOAD_BYTES, Piece, named};

    /// However the bytes arrive, they are a message with this payload, and only when all of them are there.
    fn check_message(name: &str, bytes: &[u8], payload: &[u8]) {
        let dialect = named(name).expect("a dialect");
        for cut in 0..bytes.len() {
            assert_eq!(dialect.piece(&bytes[..cut]).expect("a start"), Piece::Partial, "{name}: {cut} bytes");
        }
        let more = [bytes, bytes].concat();
        let Piece::Message { payload_at, length } = dialect.piece(&more).expect("a message") else {
            panic!("{name}: not a message");
        };
        assert_eq!(length, bytes.len(), "{name}");
        assert_eq!(&bytes[payload_at..payload_at + payload.len()], payload, "{name}");
    }

    /// The bytes are something that the load passes over.
    fn check_other(name: &str, bytes: &[u8]) {
        let piece = named(name).expect("a dialect").piece(bytes);
        assert_eq!(piece.expect("a piece"), Piece::Other { length: bytes.len() }, "{name}");
    }

    fn frame(frame: &Frame<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes, LIMIT_BYTES).expect("a small frame");
        bytes
    }

    #[test]
    fn messages_are_recognised_in_every_dialect_however_they_are_cut() {
        check_message("relay", &[7; PAYLOAD_BYTES], &[7; PAYLOAD_BYTES]);
        check_message("nats", b"MSG fast 0 6\r\nab\r\ncd\r\n", b"ab\r\ncd");
        check_message("redis", b"*3\r\n$7\r\nmessage\r\n$4\r\nfast\r\n$4\r\n\r\nab\r\n", b"\r\nab");
        check_message("mqtt", b"\x30\x0a\x00\x04fastabcd", b"abcd");
        let data = Data { header: DataHeader::default(), attributes: b"", payload: b"abcd" };
        check_message("giusto", &frame(&Frame::Data(data)), b"abcd");
    }

    #[test]
    fn a_long_mqtt_message_has_a_length_of_two_bytes() {
        let body = [&b"\x00\x04fast"[..], &[9; 128]].concat();
        check_message("mqtt", &[&[0x30, 0x86, 0x01], &body[..]].concat(), &[9; 128]);
    }

    #[test]
    fn what_is_not_a_message_is_passed_over() {
        check_other("nats", b"PING\r\n");
        check_other("redis", b":1\r\n");
        check_other("redis", b"*3\r\n$9\r\nsubscribe\r\n$4\r\nfast\r\n:1\r\n");
        check_other("mqtt", b"\xd0\x00");
        check_other("giusto", &frame(&Frame::Control(b"\x80")));
    }

    #[test]
    fn credits_name_their_flow() {
        let bytes = frame(&Frame::Credit(Credit { stream: 3, amount: 256 }));
        let piece = named("giusto").expect("a dialect").piece(&bytes).expect("a piece");
        assert_eq!(piece, Piece::Credit { stream: 3, amount: 256, length: bytes.len() });
    }

    #[test]
    fn what_a_peer_complains_about_is_an_error() {
        for (name, bytes) in [("nats", &b"-ERR 'Slow Consumer'\r\n"[..]), ("redis", b"-ERR no\r\n")] {
            let error = named(name).expect("a dialect").piece(bytes).expect_err("a complaint");
            assert!(error.to_string().contains("-ERR"), "{error}");
        }
    }
}
