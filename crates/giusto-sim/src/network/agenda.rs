//! What happens next: events ordered by time, then by kind, then in the order in which they were put in.
//!
//! A heap with four children per node: it is half as deep as a binary one, and the four lie side by side.

use giusto_core::id::Nanos;

/// What may happen, in the order in which it happens at one instant. Links and processors choose what they
/// serve next after all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    /// A broker goes down: its number.
    Down,
    /// A link has ended a transmission, or may transmit again: its number.
    Free,
    /// Somebody may send on a medium: its number.
    Look,
    /// A copy has passed the matching of a broker: its slot.
    Ready,
    /// A publisher sends: its number.
    Publish,
    /// A processor has ended a quantum, or may serve again: the number of its broker.
    Serve,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: Nanos,
    pub(super) kind: Kind,
    pub(super) subject: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at_ns: Nanos,
    /// The kind in the upper byte, then the order of entry.
    order: u64,
    kind: Kind,
    subject: u32,
}

impl Entry {
    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        (self.at_ns, self.order) < (other.at_ns, other.order)
    }
}

/// Everything that is going to happen.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: Vec<Entry>,
    entered: u64,
}

impl Agenda {
    /// Puts `kind` of `subject` on the agenda.
    #[inline]
    pub(super) fn push(&mut self, at_ns: Nanos, kind: Kind, subject: u32) {
        self.entered += 1;
        let entry = Entry { at_ns, order: (kind as u64) << 56 | self.entered, kind, subject };
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    /// When something happens next.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<Nanos> {
        self.heap.first().map(|entry| entry.at_ns)
    }

    /// Takes what happens next.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some(Event { at_ns: first.at_ns, kind: first.kind, subject: first.subject })
    }

    #[inline]
    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / 4;
            if !entry.precedes(&self.heap[parent]) {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    /// Puts `entry` in, with the root free.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let mut place = 0;
        loop {
            let first = 4 * place + 1;
            let children = first..(first + 4).min(self.heap.len());
            let Some(least) =
                children.reduce(|a, b| if self.heap[b].precedes(&self.heap[a]) { b } else { a })
            else {
                break;
            };
            if !self.heap[least].precedes(&entry) {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [Kind; 6] = [Kind::Down, Kind::Free, Kind::Look, Kind::Ready, Kind::Publish, Kind::Serve];

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_kind_and_entry(given in prop::collection::vec((0..20_i64, 0..6_usize), 0..200)) {
            let mut agenda = Agenda::default();
            for (n, &(at_ns, kind)) in given.iter().enumerate() {
                agenda.push(at_ns, KINDS[kind], n as u32);
            }
            let mut expected: Vec<(i64, usize, u32)> =
                given.iter().enumerate().map(|(n, &(at_ns, kind))| (at_ns, kind, n as u32)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            while let Some(event) = agenda.pop() {
                found.push((event.at_ns, event.kind as usize, event.subject));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
