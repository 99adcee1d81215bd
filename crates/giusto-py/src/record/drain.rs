//! How what a ring has kept is taken up, away from the thread that forwards.
//!
//! Portions are put down in the order in which the ring handed them over, and taken up in that order, however many threads drain.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use giusto_core::record::{Rows, Unfolding};

use super::Portion;

type Core = giusto_core::record::Portion;

/// The reading side of one ring.
pub(crate) struct Drain {
    capacity: usize,
    portions: Portions,
    reading: Mutex<Reading>,
    spare: Spare,
}

/// Where portions are put down: whoever forwards never waits there for whoever takes them up.
#[derive(Clone)]
pub(crate) struct Portions(Sender<Core>);

impl Portions {
    pub(crate) fn put_down(&self, portion: Option<Core>) {
        // It fails only when the one who would take it up is gone.
        portion.into_iter().for_each(|portion| drop(self.0.send(portion)));
    }
}

/// Portions that have been handed over and not taken up yet, and what their numbers stand for.
struct Reading {
    portions: Receiver<Core>,
    unfolding: Unfolding,
}

/// Memory that the ring can go on with at the next drain.
#[derive(Clone, Default)]
pub(crate) struct Spare(Arc<Mutex<Rows>>);

impl Spare {
    fn take(&self) -> Rows {
        std::mem::take(&mut *hold(&self.0))
    }

    pub(super) fn keep(&self, rows: Rows) {
        let mut spare = hold(&self.0);
        if rows.capacity() > spare.capacity() {
            *spare = rows;
        }
    }
}

impl Drain {
    /// Of a ring with so much room; `None` if it has none.
    pub(crate) fn new(capacity: usize, unfolding: Unfolding) -> Option<Self> {
        let (put, portions) = channel();
        (capacity > 0).then(|| Self {
            capacity,
            portions: Portions(put),
            reading: Mutex::new(Reading { portions, unfolding }),
            spare: Spare::default(),
        })
    }

    /// Where portions are to be put.
    pub(crate) fn portions(&self) -> Portions {
        self.portions.clone()
    }

    /// Empty memory for the ring to go on with, of which every page is there.
    pub(crate) fn rows(&self) -> Rows {
        let spare = self.spare.take();
        if spare.capacity() >= self.capacity {
            return spare;
        }
        Rows::new(self.capacity).unwrap_or_default()
    }

    /// The next portion that has records; an empty one if none has.
    pub(crate) fn portion(&self) -> Portion {
        let mut reading = hold(&self.reading);
        let (mut dropped, mut skipped) = (0, 0);
        loop {
            let next = reading.portions.try_recv().ok();
            let is_last = next.is_none();
            let mut portion = next.unwrap_or_default();
            let known = reading.unfolding.learn(&mut portion);
            dropped += portion.dropped();
            skipped += portion.skipped();
            let portion = Portion::new(portion, known, self.spare.clone(), (dropped, skipped));
            if !portion.rows().rows().is_empty() || is_last {
                return portion;
            }
        }
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
