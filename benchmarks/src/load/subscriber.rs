//! Takes what arrives for one connection, and knows when nothing more will.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::arguments::Arguments;
use super::clock::{nanoseconds, now};
use crate::dialect::{Dialect, Piece};
use crate::wire::Wire;

/// How often a subscriber looks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);
/// Nothing came for this long after the last message was sent: the rest is lost.
const QUIET: Duration = Duration::from_millis(800);

/// What a publisher wrote into a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) t_intended_ns: i64,
    pub(super) sequence: u64,
}

/// How many messages were sent, once that is known.
pub(super) struct Total {
    sent: AtomicU64,
    known: AtomicBool,
}

impl Total {
    pub(super) const fn unknown() -> Self {
        Self { sent: AtomicU64::new(0), known: AtomicBool::new(false) }
    }

    pub(super) fn set(&self, sent: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.known.store(true, Ordering::Release);
    }

    pub(super) fn get(&self) -> Option<u64> {
        self.known.load(Ordering::Acquire).then(|| self.sent.load(Ordering::Relaxed))
    }
}

/// A connection that subscribes.
pub(super) struct Subscriber {
    dialect: &'static dyn Dialect,
    wire: Wire,
}

impl Subscriber {
    /// Connects and subscribes; `input_bytes` may arrive at once.
    pub(super) fn open(arguments: &Arguments, topics: &[String], input_bytes: usize) -> io::Result<Self> {
        let mut wire = Wire::connect(arguments.address, input_bytes)?;
        arguments.dialect.subscribe(&mut wire, topics)?;
        wire.wait_at_most(LOOK)?;
        Ok(Self { dialect: arguments.dialect, wire })
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Takes messages until all that were sent are here, or the rest is lost; returns how many came.
    pub(super) fn listen(
        &mut self,
        total: &Total,
        mut handle: impl FnMut(i64, Stamp),
        progress: &AtomicU64,
    ) -> io::Result<u64> {
        let (mut received, mut quiet_since_ns) = (0, now());
        loop {
            let arrived = self.wire.receive()?;
            let now_ns = now();
            if arrived {
                received += self.take(|stamp| handle(now_ns, stamp))?;
                progress.store(received, Ordering::Relaxed);
            }
            let Some(sent) = total.get() else {
                quiet_since_ns = now_ns;
                continue;
            };
            if arrived {
                quiet_since_ns = now_ns;
            }
            if received >= sent || now_ns - quiet_since_ns > nanoseconds(QUIET) {
                return Ok(received);
            }
        }
    }

    /// Takes what is there, without waiting; returns how many messages that was.
    pub(super) fn take_now(&mut self) -> io::Result<u64> {
        if self.wire.receive_now()? { self.take(|_| ()) } else { Ok(0) }
    }

    fn take(&mut self, mut handle: impl FnMut(Stamp)) -> io::Result<u64> {
        let mut received = 0;
        loop {
            let unread = self.wire.unread();
            let length = match self.dialect.piece(unread)? {
                Piece::Partial => return Ok(received),
                Piece::Message { payload_at, length } => {
                    received += 1;
                    handle(stamp(unread.get(payload_at..length).unwrap_or_default())?);
                    length
                }
                Piece::Credit { length, .. } | Piece::Other { length } => length,
            };
            self.wire.consume(length);
        }
    }
}

#[inline]
fn stamp(payload: &[u8]) -> io::Result<Stamp> {
    let Some((t_intended, rest)) = payload.split_first_chunk::<8>() else {
        return Err(io::Error::other("a message that nobody here has sent"));
    };
    let sequence = rest.first_chunk::<8>().ok_or_else(|| io::Error::other("a message that was cut off"))?;
    Ok(Stamp { t_intended_ns: i64::from_le_bytes(*t_intended), sequence: u64::from_le_bytes(*sequence) })
}
