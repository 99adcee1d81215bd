//! How what a ring has kept becomes batches, away from the thread that forwards.
//!
//! Portions are put down in the order in which the ring handed them over, and taken up in that order, however many threads drain.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_schema::ArrowError;
use giusto_core::record::{Portion, Rows, Unfolding};

use super::Batch;

/// The reading side of one ring.
pub(crate) struct Drain {
    capacity: usize,
    portions: Portions,
    reading: Mutex<Reading>,
    spare: Mutex<Rows>,
}

/// Where portions are put down: whoever forwards never waits there for whoever unfolds.
#[derive(Clone)]
pub(crate) struct Portions(Sender<Portion>);

impl Portions {
    pub(crate) fn put_down(&self, portion: Option<Portion>) {
        // It fails only when the one who would take it up is gone.
        portion.into_iter().for_each(|portion| drop(self.0.send(portion)));
    }
}

/// Portions that have been handed over and not unfolded yet, and what unfolds them.
struct Reading {
    portions: Receiver<Portion>,
    unfolding: Unfolding,
}

impl Drain {
    /// Of a ring with so much room; `None` if it has none.
    pub(crate) fn new(capacity: usize, unfolding: Unfolding) -> Option<Self> {
        let (put, portions) = channel();
        (capacity > 0).then(|| Self {
            capacity,
            portions: Portions(put),
            reading: Mutex::new(Reading { portions, unfolding }),
            spare: Mutex::default(),
        })
    }

    /// Where portions are to be put.
    pub(crate) fn portions(&self) -> Portions {
        self.portions.clone()
    }

    /// Empty memory for the ring to go on with, of which every page is there.
    pub(crate) fn rows(&self) -> Rows {
        let spare = std::mem::take(&mut *hold(&self.spare));
        if spare.capacity() >= self.capacity {
            return spare;
        }
        Rows::new(self.capacity).unwrap_or_default()
    }

    /// The records of the next portion that has some; none if no portion has.
    pub(crate) fn batch(&self) -> Result<Batch, ArrowError> {
        let mut reading = hold(&self.reading);
        let (mut dropped, mut skipped) = (0, 0);
        loop {
            let next = reading.portions.try_recv().ok();
            let is_last = next.is_none();
            let mut portion = next.unwrap_or_default();
            let mut batch = reading.unfolding.batch(&mut portion);
            self.keep(portion.into_rows());
            dropped += batch.dropped;
            skipped += batch.skipped;
            if batch.rows > 0 || is_last {
                (batch.dropped, batch.skipped) = (dropped, skipped);
                return Batch::new(batch);
            }
        }
    }

    fn keep(&self, rows: Rows) {
        let mut spare = hold(&self.spare);
        if rows.capacity() > spare.capacity() {
            *spare = rows;
        }
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
