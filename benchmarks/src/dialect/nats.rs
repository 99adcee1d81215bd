//! NATS: lines of text, `PUB subject bytes` and `MSG subject sid bytes`, each followed by the payload.

use std::io;

use super::{Dialect, Piece, Shape, Template, decimal, expect, line_end, refused};
use crate::wire::Wire;

const CONNECT: &str =
    "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"load\",\"version\":\"1\"}\r\n";
const END: &[u8] = b"\r\n";

pub(super) struct Nats;

impl Dialect for Nats {
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>> {
        self.say(wire, CONNECT)?;
        Ok(topics.iter().map(|topic| template(topic, shape.payload_bytes)).collect())
    }

    fn subscribe(&self, wire: &mut Wire, topics: &[String]) -> io::Result<()> {
        let mut lines = CONNECT.to_owned();
        for (sid, topic) in topics.iter().enumerate() {
            lines += &format!("SUB {topic} {sid}\r\n");
        }
        self.say(wire, &lines)
    }

    #[inline]
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece> {
        let Some(head) = line_end(bytes) else { return Ok(Piece::Partial) };
        if bytes.starts_with(b"-ERR") {
            return Err(refused(String::from_utf8_lossy(&bytes[..head]).trim()));
        }
        if !bytes.starts_with(b"MSG ") {
            return Ok(Piece::Other { length: head });
        }
        let size_at = bytes[..head].iter().rposition(|&byte| byte == b' ').map_or(head, |at| at + 1);
        let length = head + decimal(&bytes[size_at..head])? + END.len();
        Ok(if bytes.len() >= length { Piece::Message { payload_at: head, length } } else { Piece::Partial })
    }
}

impl Nats {
    /// Sends the lines and a ping; all of them are done when the pong is there.
    fn say(&self, wire: &mut Wire, lines: &str) -> io::Result<()> {
        wire.send(lines.as_bytes())?;
        wire.send(b"PING\r\n")?;
        expect(self, wire, 1, |line| Ok(line.starts_with(b"PONG")))
    }
}

fn template(topic: &str, payload_bytes: usize) -> Template {
    let mut bytes = format!("PUB {topic} {payload_bytes}\r\n").into_bytes();
    let payload_at = bytes.len();
    bytes.resize(payload_at + payload_bytes, 0);
    bytes.extend_from_slice(END);
    Template::free(bytes, payload_at)
}
