//! How what a ring has kept becomes batches, away from the thread that forwards.
//!
//! Portions are put down in the order in which the ring handed them over, and taken up in that order, however many threads drain.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::ArrowError;
use giusto_core::record::{Portion, Row, Unfolding, buffer};

use super::Batch;

/// The reading side of one ring.
pub(crate) struct Drain {
    capacity: usize,
    portions: Arc<Portions>,
    unfolding: Mutex<Unfolding>,
    spare: Mutex<Vec<Row>>,
}

/// Portions that have been handed over and not unfolded yet.
#[derive(Default)]
pub(crate) struct Portions(Mutex<VecDeque<Portion>>);

impl Portions {
    pub(crate) fn put_down(&self, portion: Option<Portion>) {
        hold(&self.0).extend(portion);
    }
}

impl Drain {
    /// Of a ring with so much room; `None` if it has none.
    pub(crate) fn new(capacity: usize, unfolding: Unfolding) -> Option<Self> {
        (capacity > 0).then(|| Self {
            capacity,
            portions: Arc::default(),
            unfolding: Mutex::new(unfolding),
            spare: Mutex::default(),
        })
    }

    /// Where portions are to be put.
    pub(crate) fn portions(&self) -> Arc<Portions> {
        Arc::clone(&self.portions)
    }

    /// An empty buffer for the ring to go on with, whose memory is there.
    pub(crate) fn buffer(&self) -> Vec<Row> {
        let spare = std::mem::take(&mut *hold(&self.spare));
        if spare.capacity() >= self.capacity {
            return spare;
        }
        buffer(self.capacity).unwrap_or_default()
    }

    /// The records of the next portion that has some; none if no portion has.
    pub(crate) fn batch(&self) -> Result<Batch, ArrowError> {
        let mut unfolding = hold(&self.unfolding);
        let (mut dropped, mut skipped) = (0, 0);
        loop {
            let next = hold(&self.portions.0).pop_front();
            let is_last = next.is_none();
            let mut portion = next.unwrap_or_default();
            let mut batch = unfolding.batch(&mut portion);
            self.keep(portion.into_buffer());
            dropped += batch.dropped;
            skipped += batch.skipped;
            if batch.rows > 0 || is_last {
                (batch.dropped, batch.skipped) = (dropped, skipped);
                return Batch::new(batch);
            }
        }
    }

    fn keep(&self, buffer: Vec<Row>) {
        let mut spare = hold(&self.spare);
        if buffer.capacity() > spare.capacity() {
            *spare = buffer;
        }
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
