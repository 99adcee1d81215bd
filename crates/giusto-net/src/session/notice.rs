//! Which control frames the session understands itself: the names of topics and sources.
//!
//! Data that follows such a notice in the same read must find the name, so it cannot wait for the
//! interpreter. All other control bodies are handed up unread.

/// A notice that gives a number a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice<'a> {
    /// Data frames with this stream are of this topic.
    Topic { number: u32, name: &'a str },
    /// Data frames with this source are of this client.
    Source { number: u32, name: &'a str },
}

/// The notice in a control body; none if it is anything else.
pub(crate) fn read(body: &[u8]) -> Option<Notice<'_>> {
    let mut reader = Reader { rest: body };
    let (mut operation, mut number, mut name) = (None, None, None);
    for _ in 0..reader.map()? {
        match reader.text()? {
            "op" => operation = Some(reader.text()?),
            "number" => number = Some(reader.whole()?),
            "name" => name = Some(reader.text()?),
            _ => reader.skip()?,
        }
    }
    let (number, name) = (number?, name?);
    match operation? {
        "topicis" => Some(Notice::Topic { number, name }),
        "sourceis" => Some(Notice::Source { number, name }),
        _ => None,
    }
}

/// As much of msgpack as notices are made of.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// A big-endian number of `count` bytes.
    fn number(&mut self, count: usize) -> Option<u64> {
        Some(self.take(count)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn map(&mut self) -> Option<usize> {
        match self.byte()? {
            start @ 0x80..=0x8f => Some(usize::from(start & 0x0f)),
            0xde => self.number(2).map(|count| count as usize),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = match self.byte()? {
            start @ 0xa0..=0xbf => usize::from(start & 0x1f),
            0xd9 => self.number(1)? as usize,
            0xda => self.number(2)? as usize,
            _ => return None,
        };
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn whole(&mut self) -> Option<u32> {
        let number = match self.byte()? {
            small @ 0x00..=0x7f => u64::from(small),
            0xcc => self.number(1)?,
            0xcd => self.number(2)?,
            0xce => self.number(4)?,
            0xcf => self.number(8)?,
            _ => return None,
        };
        u32::try_from(number).ok()
    }

    /// Passes over one plain value of a newer broker.
    fn skip(&mut self) -> Option<()> {
        let count = match self.byte()? {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 0,
            start @ 0xa0..=0xbf => usize::from(start & 0x1f),
            0xc4 | 0xd9 => self.number(1)? as usize,
            0xc5 | 0xda => self.number(2)? as usize,
            0xc6 | 0xdb => self.number(4)? as usize,
            0xcc | 0xd0 => 1,
            0xcd | 0xd1 => 2,
            0xca | 0xce | 0xd2 => 4,
            0xcb | 0xcf | 0xd3 => 8,
            _ => return None,
        };
        self.take(count).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `{"op": op, "number": number, "name": name}` as msgspec writes it.
    fn body(op: &str, number: u32, name: &str) -> Vec<u8> {
        let mut out = vec![0x83];
        for (key, value) in [("op", op), ("name", name)] {
            out.push(0xa0 | key.len() as u8);
            out.extend(key.as_bytes());
            out.extend([0xd9, value.len() as u8]);
            out.extend(value.as_bytes());
        }
        out.extend([0xa6]);
        out.extend(b"number");
        out.push(0xce);
        out.extend(number.to_be_bytes());
        out
    }

    #[test]
    fn names_of_topics_and_sources_are_read() {
        assert_eq!(read(&body("topicis", 7, "a/b")), Some(Notice::Topic { number: 7, name: "a/b" }));
        assert_eq!(read(&body("sourceis", 70_000, "x")), Some(Notice::Source { number: 70_000, name: "x" }));
        assert_eq!(read(&body("matched", 7, "a/b")), None);
    }

    #[test]
    fn a_field_that_is_not_known_is_passed_over() {
        let mut extended = body("topicis", 7, "a/b");
        extended[0] = 0x84;
        extended.extend([0xa3, b'n', b'e', b'w', 0xcb, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(read(&extended), Some(Notice::Topic { number: 7, name: "a/b" }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_notice_or_not(bytes: Vec<u8>, cut in 0usize..40) {
            let _ = read(&bytes);
            let whole = body("topicis", 1, "name");
            let cut = cut.min(whole.len() - 1);
            prop_assert_eq!(read(&whole[..cut]), None);
        }
    }
}
