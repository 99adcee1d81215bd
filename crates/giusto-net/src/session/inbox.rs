//! What waits for one subscription: whole frames in the order in which they came, within limits.
//!
//! ```text
//! bytes  ┊ given out ┊ received_ns i64 │ frame │ received_ns i64 │ frame │ …
//!                    ^ start
//! ```
//!
//! One copy puts a frame in. What was given out is overwritten when it is the larger part.

use giusto_core::frame::{Data, DataMut, Decoded, Decoder, Frame};
use giusto_core::id::Nanos;

const STAMP_BYTES: usize = 8;
/// Below this it does not pay to move bytes to the front.
const COMPACT_BYTES: usize = 64 << 10;
/// An empty inbox gives back what it holds above this.
const KEPT_BYTES: usize = 4 << 20;

/// What a full inbox does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The oldest message makes room.
    #[default]
    DropOldest,
    /// The message that comes is dropped.
    DropNew,
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Messages, at least 1.
    pub messages: usize,
    /// Bytes of frames; one message may always wait.
    pub bytes: usize,
    /// What happens above that.
    pub overflow: Overflow,
}

impl Default for Limits {
    fn default() -> Self {
        Self { messages: 65_536, bytes: 64 << 20, overflow: Overflow::default() }
    }
}

/// One message as it waits: stream and source are slots of the session's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) received_ns: Nanos,
    pub(crate) data: Data<'a>,
}

/// Slots of topic and source of a message that left without being given out.
pub(crate) type Evicted = (u32, u32);

/// A queue of frames.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    count: usize,
    limits: Limits,
}

impl Inbox {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits: Limits { messages: limits.messages.max(1), ..limits }, ..Self::default() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Puts a data frame in, with slots in place of its numbers. False: it is full, the message was
    /// dropped. `evicted` is told of each one that had to go for it.
    #[inline]
    pub(crate) fn push(
        &mut self,
        received_ns: Nanos,
        (topic, source): (u32, u32),
        frame: &[u8],
        evicted: impl FnMut(Evicted),
    ) -> bool {
        if self.is_full(frame.len()) && !self.make_room(frame.len(), evicted) {
            return false;
        }
        self.compact();
        self.bytes.extend_from_slice(&received_ns.to_le_bytes());
        let at = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        if let Some(mut data) = self.bytes.get_mut(at..).and_then(DataMut::new) {
            data.set_stream(topic);
            data.set_source(source);
        }
        self.count += 1;
        true
    }

    /// The oldest message, which waits no more.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<'_>> {
        let waiting = self.bytes.get(self.start..)?;
        let received_ns = waiting.first_chunk().copied().map(i64::from_le_bytes)?;
        let decoded = Decoder::new(u32::MAX).decode(waiting.get(STAMP_BYTES..)?);
        let Ok(Decoded::Frame { frame: Frame::Data(data), consumed }) = decoded else { return None };
        self.start += STAMP_BYTES + consumed;
        self.count -= 1;
        Some(Entry { received_ns, data })
    }

    #[inline]
    fn is_full(&self, frame_bytes: usize) -> bool {
        let bytes = self.bytes.len() - self.start + frame_bytes;
        self.count > 0 && (self.count >= self.limits.messages || bytes > self.limits.bytes)
    }

    #[cold]
    fn make_room(&mut self, frame_bytes: usize, mut evicted: impl FnMut(Evicted)) -> bool {
        if self.limits.overflow == Overflow::DropNew {
            return false;
        }
        while self.is_full(frame_bytes) {
            match self.pop() {
                Some(entry) => evicted((entry.data.header.stream, entry.data.header.source)),
                None => return false,
            }
        }
        true
    }

    #[inline]
    fn compact(&mut self) {
        if self.count == 0 {
            self.bytes.clear();
            self.start = 0;
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes.shrink_to(KEPT_BYTES);
            }
        } else if self.start > COMPACT_BYTES && self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use giusto_core::frame::{DataHeader, LIMIT_BYTES};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn frame(sequence: u64, size: usize) -> Vec<u8> {
        let header = DataHeader { sequence, ..DataHeader::default() };
        let payload = vec![sequence as u8; size];
        let mut out = Vec::new();
        Data { header, attributes: &[], payload: &payload }.encode(&mut out, LIMIT_BYTES).unwrap();
        out
    }

    fn drain(inbox: &mut Inbox) -> Vec<u64> {
        std::iter::from_fn(|| inbox.pop().map(|entry| entry.data.header.sequence)).collect()
    }

    #[test]
    fn a_message_comes_out_with_its_slots_and_its_time() {
        let mut inbox = Inbox::default();
        assert!(inbox.push(77, (5, 6), &frame(9, 3), |_| ()));
        let entry = inbox.pop().unwrap();
        assert_eq!((entry.received_ns, entry.data.payload), (77, [9, 9, 9].as_slice()));
        assert_eq!((entry.data.header.stream, entry.data.header.source), (5, 6));
        assert_eq!(inbox.pop(), None);
    }

    #[test]
    fn the_oldest_goes_when_it_is_full() {
        let mut inbox = Inbox::new(Limits { messages: 2, ..Limits::default() });
        let mut gone = Vec::new();
        for sequence in 0..5 {
            assert!(inbox.push(0, (sequence as u32, 0), &frame(sequence, 1), |(topic, _)| gone.push(topic)));
        }
        assert_eq!(gone, [0, 1, 2]);
        assert_eq!(drain(&mut inbox), [3, 4]);
    }

    #[test]
    fn the_new_one_goes_if_that_is_the_policy() {
        let mut inbox = Inbox::new(Limits { bytes: 200, overflow: Overflow::DropNew, messages: 9 });
        assert!(inbox.push(0, (0, 0), &frame(0, 500), |_| ()), "one may always wait");
        assert!(!inbox.push(0, (0, 0), &frame(1, 1), |_| ()));
        assert_eq!(drain(&mut inbox), [0]);
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in vec((any::<bool>(), 0usize..40_000), 1..200)) {
            let mut inbox = Inbox::new(Limits { messages: 20, ..Limits::default() });
            let mut model = VecDeque::new();
            for (i, (put, size)) in steps.into_iter().enumerate() {
                if put {
                    let mut gone = 0;
                    inbox.push(0, (0, 0), &frame(i as u64, size), |_| gone += 1);
                    model.push_back((i as u64, size));
                    let over = model.len().saturating_sub(20);
                    model.drain(..over);
                    prop_assert_eq!(gone, over);
                } else {
                    let found = inbox.pop().map(|e| (e.data.header.sequence, e.data.payload.len()));
                    prop_assert_eq!(found, model.pop_front());
                }
                prop_assert_eq!(inbox.len(), model.len());
            }
        }
    }
}
