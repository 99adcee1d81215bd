//! Keeps messages between ingress and egress: what the schedulers need, beside the frame's bytes.
//!
//! A message is entered once and referred to by number from one input queue and then from any
//! number of output queues; it goes when the last of them releases it. Entries lie in chunks that
//! never move, so that growing copies nothing and costs no pause.

use crate::arena::{Arena, SLOTS_MAX, Slot};
use crate::id::{FlowId, Nanos};

/// End of a list.
pub(crate) const NONE: u32 = u32::MAX;
const CHUNK: usize = 1 << 10;

/// A message in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// One stored message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Next in its queue, or in the list of free entries.
    pub(crate) next: u32,
    /// Whose it is.
    pub flow: FlowId,
    slot: Slot,
    /// Length of the frame.
    pub size_bytes: u32,
    references: u32,
    /// Quanta that the input stage has yet to spend on it, and its priority in the upper 3 bits.
    work: u32,
    /// When it was entered.
    pub ingress_ns: Nanos,
    /// When the input stage was done with it; `Nanos::MAX` before.
    pub selected_ns: Nanos,
}

const QUANTA_BITS: u32 = 29;
/// Quanta of one message at most.
pub const QUANTA_MAX: u32 = (1 << QUANTA_BITS) - 1;

impl Message {
    /// 0 (normal) to 7 (most urgent).
    #[inline]
    pub fn priority(&self) -> u8 {
        (self.work >> QUANTA_BITS) as u8
    }

    /// Quanta still to be spent.
    #[inline]
    pub fn quanta_left(&self) -> u32 {
        self.work & QUANTA_MAX
    }

    /// Spends one quantum; true when it was the last.
    #[inline]
    pub(crate) fn spend(&mut self) -> bool {
        self.work -= 1;
        self.quanta_left() == 0
    }
}

/// What is known of a message when it is entered.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Whose it is.
    pub flow: FlowId,
    /// 0 (normal) to 7 (most urgent).
    pub priority: u8,
    /// Quanta that the input stage will spend on it: 1 to 2²⁹−1.
    pub quanta: u32,
    /// When it came.
    pub ingress_ns: Nanos,
}

/// Messages at once at most: more would not have a number each in the arena.
pub const MESSAGES_MAX: usize = SLOTS_MAX;

/// All messages between ingress and egress.
#[derive(Debug)]
pub struct Store {
    chunks: Vec<Box<[Message]>>,
    free: u32,
    live: usize,
    most: usize,
    arena: Arena,
}

impl Default for Store {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: NONE, live: 0, most: MESSAGES_MAX, arena: Arena::default() }
    }
}

impl Store {
    /// Whether there is no number left for another message.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.live >= self.most
    }

    /// Copies a frame in, with one reference to it; the store must not be full.
    #[inline]
    pub fn insert(&mut self, entry: Entry, frame: &[u8]) -> MessageId {
        if self.free == NONE {
            self.grow();
        }
        let id = MessageId(self.free);
        let slot = self.arena.put(frame);
        let message = &mut self.chunks[id.0 as usize / CHUNK][id.0 as usize % CHUNK];
        self.free = message.next;
        *message = Message {
            next: NONE,
            flow: entry.flow,
            slot,
            size_bytes: frame.len() as u32,
            references: 1,
            work: u32::from(entry.priority) << QUANTA_BITS | entry.quanta & QUANTA_MAX,
            ingress_ns: entry.ingress_ns,
            selected_ns: Nanos::MAX,
        };
        self.live += 1;
        id
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.chunks.len() * CHUNK;
        let vacant = |n: usize| Message {
            next: if n + 1 == CHUNK { NONE } else { (first + n + 1) as u32 },
            flow: FlowId(NONE),
            slot: Slot::VACANT,
            size_bytes: 0,
            references: 0,
            work: 0,
            ingress_ns: 0,
            selected_ns: Nanos::MAX,
        };
        self.chunks.push((0..CHUNK).map(vacant).collect());
        self.free = first as u32;
    }

    /// One more queue refers to the message.
    #[inline]
    pub fn retain(&mut self, id: MessageId) {
        self.message_mut(id).references += 1;
    }

    /// One queue less refers to the message; with the last one it goes.
    #[inline]
    pub fn release(&mut self, id: MessageId) {
        let free = self.free;
        let message = self.message_mut(id);
        message.references -= 1;
        if message.references == 0 {
            let slot = message.slot;
            message.next = free;
            self.free = id.0;
            self.live -= 1;
            self.arena.free(slot);
        }
    }

    /// The message `id`, which must be live.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Message {
        &self.chunks[id.0 as usize / CHUNK][id.0 as usize % CHUNK]
    }

    #[inline]
    pub(crate) fn message_mut(&mut self, id: MessageId) -> &mut Message {
        &mut self.chunks[id.0 as usize / CHUNK][id.0 as usize % CHUNK]
    }

    /// The frame of a message.
    #[inline]
    pub fn frame(&self, id: MessageId) -> &[u8] {
        let message = self.message(id);
        self.arena.bytes(message.slot, message.size_bytes as usize)
    }

    /// The frame of a message, for stamping its header.
    #[inline]
    pub fn frame_mut(&mut self, id: MessageId) -> &mut [u8] {
        let (slot, len) = (self.message(id).slot, self.message(id).size_bytes as usize);
        self.arena.bytes_mut(slot, len)
    }

    /// Takes at most `capacity` messages from now on.
    pub fn limit(&mut self, capacity: usize) {
        self.most = capacity.min(MESSAGES_MAX);
    }

    /// How many messages can be stored.
    pub fn capacity(&self) -> usize {
        self.most
    }

    /// Messages that somebody refers to.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether nobody refers to any message.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Bytes of memory held, used or not.
    pub fn held_bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Message>() + self.arena.held_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(flow: u32) -> Entry {
        Entry { flow: FlowId(flow), priority: 3, quanta: 2, ingress_ns: 5 }
    }

    #[test]
    fn a_message_lives_until_its_last_reference_goes() {
        let mut store = Store::default();
        let id = store.insert(entry(7), b"frame");
        store.retain(id);
        store.release(id);
        assert_eq!((store.frame(id), store.len()), (&b"frame"[..], 1));
        store.release(id);
        assert!(store.is_empty());
    }

    #[test]
    fn a_million_messages_of_128_bytes_fit_into_250_megabytes() {
        let mut store = Store::default();
        let frame = [0; 56 + 128];
        for _ in 0..1_000_000 {
            store.insert(entry(0), &frame);
        }
        assert!(store.held_bytes() <= 250_000_000, "{}", store.held_bytes());
    }

    #[test]
    fn a_full_store_has_room_again_when_a_message_goes() {
        let mut store = Store { most: 2, ..Store::default() };
        let id = store.insert(entry(0), b"");
        assert!(!store.is_full());
        store.insert(entry(0), b"");
        assert!(store.is_full());
        store.release(id);
        assert!(!store.is_full());
    }

    #[test]
    fn priority_and_quanta_share_a_word() {
        let mut store = Store::default();
        let id = store.insert(entry(7), b"");
        assert_eq!((store.message(id).priority(), store.message(id).quanta_left()), (3, 2));
        assert!(!store.message_mut(id).spend());
        assert!(store.message_mut(id).spend());
        assert_eq!(store.message(id).priority(), 3);
    }
}
