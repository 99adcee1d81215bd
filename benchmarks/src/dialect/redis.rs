//! Redis: RESP 2 arrays of strings, `PUBLISH channel payload` and `message channel payload`.

use std::io;

use super::{Dialect, Piece, Shape, Template, decimal, expect, line_end, refused};
use crate::wire::Wire;

pub(super) struct Redis;

impl Dialect for Redis {
    fn advertise(&self, wire: &mut Wire, topics: &[String], shape: Shape) -> io::Result<Vec<Template>> {
        wire.send(&command(&[b"PING"]))?;
        expect(self, wire, 1, |piece| Ok(piece.starts_with(b"+PONG")))?;
        // Nobody reads how many subscribers each message had: Redis at its fastest.
        wire.send(&command(&[b"CLIENT", b"REPLY", b"OFF"]))?;
        Ok(topics.iter().map(|topic| template(topic, shape.payload_bytes)).collect())
    }

    fn subscribe(&self, wire: &mut Wire, topics: &[String]) -> io::Result<()> {
        for topic in topics {
            wire.send(&command(&[b"SUBSCRIBE", topic.as_bytes()]))?;
        }
        expect(self, wire, topics.len(), |piece| Ok(piece.starts_with(b"*3\r\n$9\r\nsubscribe")))
    }

    #[inline]
    fn piece(&self, bytes: &[u8]) -> io::Result<Piece> {
        let Some(head) = line_end(bytes) else { return Ok(Piece::Partial) };
        match bytes[0] {
            b'*' => array(bytes, head),
            b'-' => Err(refused(String::from_utf8_lossy(&bytes[..head]).trim())),
            _ => Ok(Piece::Other { length: head }),
        }
    }
}

/// An array whose elements start at `at`; the last one is the payload if this is a message.
#[inline]
fn array(bytes: &[u8], mut at: usize) -> io::Result<Piece> {
    let elements = decimal(&bytes[1..at])?;
    let is_message = bytes[at..].starts_with(b"$7\r\nmessage");
    let mut payload_at = at;
    for _ in 0..elements {
        let Some(head) = line_end(&bytes[at..]) else { return Ok(Piece::Partial) };
        payload_at = at + head;
        let is_text = bytes[at] == b'$';
        at = payload_at + if is_text { decimal(&bytes[at + 1..payload_at])? + 2 } else { 0 };
        if at > bytes.len() {
            return Ok(Piece::Partial);
        }
    }
    Ok(if is_message { Piece::Message { payload_at, length: at } } else { Piece::Other { length: at } })
}

fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn template(topic: &str, payload_bytes: usize) -> Template {
    let bytes = command(&[b"PUBLISH", topic.as_bytes(), &vec![0; payload_bytes]]);
    let payload_at = bytes.len() - 2 - payload_bytes;
    Template::free(bytes, payload_at)
}
