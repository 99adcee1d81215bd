//! What waits for the control plane, and when that is enough: so many events, or so many bytes in them.
//!
//! The control plane takes all that waits at a time, as one batch. A connection has a bounded part of each, so that
//! nobody waits behind all that another one asks.

use std::collections::VecDeque;

use super::Event;

/// Bytes of control frames that may wait, but for the frame that exceeds it.
const BYTES_MAX: usize = 4 << 20;

/// Events in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct News {
    events: VecDeque<Event>,
    bytes: usize,
    batch: u64,
}

impl News {
    /// One more.
    pub(super) fn push(&mut self, event: Event) {
        if let Event::Control { body, .. } = &event {
            self.bytes += body.len();
        }
        self.events.push_back(event);
    }

    /// The number of the batch that is being filled.
    pub(super) fn batch(&self) -> u64 {
        self.batch
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether `capacity` events wait, or too many bytes.
    pub(crate) fn is_full(&self, capacity: usize) -> bool {
        self.events.len() >= capacity || self.bytes >= BYTES_MAX
    }

    /// All that waits; another batch begins.
    pub(crate) fn take(&mut self) -> VecDeque<Event> {
        self.bytes = 0;
        self.batch += 1;
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::ConnId;

    fn control(bytes: usize) -> Event {
        Event::Control { conn: ConnId(0), body: vec![0; bytes] }
    }

    #[test]
    fn it_is_full_by_number_or_by_size_until_all_is_taken() {
        let mut news = News::default();
        news.push(control(1));
        assert!(news.is_full(1) && !news.is_full(2));
        news.push(control(BYTES_MAX));
        assert!(news.is_full(1_000));
        assert_eq!((news.batch(), news.take().len(), news.batch()), (0, 2, 1));
        assert!(news.is_empty() && !news.is_full(1));
    }
}
