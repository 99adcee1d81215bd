//! Which frames of a connection go out before any data, and which of them a guarded message has to wait for.
//!
//! Names of topics and sources go before everything else, since no message can be understood before them. All other control
//! frames, answers above all, go in their order, and guarded messages overtake them. A frame that has begun to go out is
//! finished first.

/// Bytes in a row, of which some have gone.
#[derive(Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    sent: usize,
}

impl Line {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Moves so many bytes to `out`; it has no memory when all have gone.
    fn pour(&mut self, out: &mut Vec<u8>, count: usize) {
        out.extend_from_slice(&self.rest()[..count]);
        self.sent += count;
        if self.rest().is_empty() {
            *self = Self::default();
        }
    }

    /// The length of the frame that begins there.
    fn frame_bytes(&self, from: usize) -> Option<usize> {
        let prefix = self.rest().get(from..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*prefix) as usize)
    }

    /// Bytes of the whole frames in front that fit into so many.
    fn whole_bytes(&self, room: usize) -> usize {
        let mut whole = 0;
        while let Some(bytes) = self.frame_bytes(whole).filter(|&bytes| bytes > 0 && whole + bytes <= room) {
            whole += bytes;
        }
        whole
    }
}

/// Frames that go out before any data, or before any but guarded data.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    names: Line,
    others: Line,
    /// Bytes of the others that have to go before anything else: the end of a frame whose start has gone.
    torn: usize,
    /// The frames of the handshake have gone: until then everything keeps its order.
    is_settled: bool,
}

impl Outbox {
    /// To append a frame to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.others.bytes
    }

    /// To append a frame to that goes before the others.
    pub(super) fn names(&mut self) -> &mut Vec<u8> {
        if self.is_settled { &mut self.names.bytes } else { &mut self.others.bytes }
    }

    /// Bytes of frames that go before the others.
    #[inline]
    pub(super) fn names_bytes(&self) -> usize {
        self.names.rest().len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.names.rest().len() + self.others.rest().len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves frames to `out` until that has `limit_bytes`; whether all have gone. A frame is cut only if it is longer
    /// than that: nothing else may follow it then.
    #[inline]
    pub(super) fn pour(&mut self, out: &mut Vec<u8>, limit_bytes: usize) -> bool {
        self.is_empty() || self.pour_all(out, limit_bytes)
    }

    fn pour_all(&mut self, out: &mut Vec<u8>, limit_bytes: usize) -> bool {
        if !self.pour_first(out, limit_bytes) {
            return false;
        }
        let (room, waiting) = (limit_bytes.saturating_sub(out.len()), self.others.rest().len());
        let mut count = if waiting <= room { waiting } else { self.others.whole_bytes(room) };
        if count == 0 && out.is_empty() {
            let frame_bytes = self.others.frame_bytes(0).map_or(waiting, |bytes| bytes.min(waiting));
            count = room.min(frame_bytes);
            self.torn = frame_bytes - count;
        }
        self.others.pour(out, count);
        self.is_empty()
    }

    /// The same only for what guarded messages have to wait for.
    #[inline]
    pub(super) fn pour_first(&mut self, out: &mut Vec<u8>, limit_bytes: usize) -> bool {
        let ahead = if self.is_settled { self.torn } else { self.others.rest().len() };
        if ahead + self.names.rest().len() == 0 {
            return true;
        }
        let count = ahead.min(limit_bytes.saturating_sub(out.len()));
        self.others.pour(out, count);
        self.torn = self.torn.saturating_sub(count);
        if count < ahead {
            return false;
        }
        let count = self.names.rest().len().min(limit_bytes.saturating_sub(out.len()));
        self.names.pour(out, count);
        self.names.rest().is_empty()
    }

    /// The handshake is over once all that is in it now has gone.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.is_settled |= self.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use giusto_core::frame::Frame;

    use super::*;

    fn frame(letter: u8, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Frame::Control(&vec![letter; count]).encode(&mut bytes, u32::MAX).unwrap();
        bytes
    }

    fn settled() -> Outbox {
        let mut outbox = Outbox::default();
        outbox.settle();
        outbox
    }

    fn first(outbox: &mut Outbox, limit_bytes: usize) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let done = outbox.pour_first(&mut out, limit_bytes);
        (out, done)
    }

    fn all(outbox: &mut Outbox, limit_bytes: usize) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let done = outbox.pour(&mut out, limit_bytes);
        (out, done)
    }

    #[test]
    fn guarded_messages_wait_for_names_and_for_nothing_else() {
        let mut outbox = settled();
        outbox.bytes().extend(frame(b'a', 100));
        assert_eq!(first(&mut outbox, 1_000), (vec![], true));
        outbox.names().extend(frame(b'n', 10));
        assert_eq!(first(&mut outbox, 1_000), (frame(b'n', 10), true));
        assert_eq!(all(&mut outbox, 1_000), (frame(b'a', 100), true));
    }

    #[test]
    fn until_the_handshake_is_over_everything_keeps_its_order() {
        let mut outbox = Outbox::default();
        outbox.bytes().extend(frame(b'a', 10));
        outbox.names().extend(frame(b'n', 10));
        assert_eq!(first(&mut outbox, 1_000), ([frame(b'a', 10), frame(b'n', 10)].concat(), true));
    }

    #[test]
    fn frames_are_not_cut_unless_one_alone_is_too_long() {
        let mut outbox = settled();
        outbox.bytes().extend([frame(b'a', 20), frame(b'b', 20), frame(b'c', 200)].concat());
        assert_eq!(all(&mut outbox, 100), ([frame(b'a', 20), frame(b'b', 20)].concat(), false));
        assert_eq!(all(&mut outbox, 100), (frame(b'c', 200)[..100].to_vec(), false));
        // Names that come now do not get into the midst of it.
        outbox.names().extend(frame(b'n', 10));
        let rest = frame(b'c', 200)[100..].to_vec();
        assert_eq!(first(&mut outbox, 50), (rest[..50].to_vec(), false));
        assert_eq!(first(&mut outbox, 1_000), ([rest[50..].to_vec(), frame(b'n', 10)].concat(), true));
        assert!(outbox.is_empty());
    }

    #[test]
    fn whatever_the_limits_are_all_bytes_go_and_names_are_whole() {
        for limit_bytes in 1..200 {
            let mut outbox = settled();
            outbox.bytes().extend([frame(b'a', 90), frame(b'b', 5)].concat());
            outbox.names().extend(frame(b'n', 30));
            let mut sent = Vec::new();
            while !outbox.is_empty() {
                sent.extend(first(&mut outbox, limit_bytes).0);
                sent.extend(all(&mut outbox, limit_bytes).0);
            }
            assert_eq!(sent, [frame(b'n', 30), frame(b'a', 90), frame(b'b', 5)].concat());
        }
    }
}
