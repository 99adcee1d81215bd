//! When what is measured: an open loop sends at intended instants, and a message counts for the window it was intended in.

use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clock::{be_punctual, nanoseconds, now, sleep_until};
use super::outcome::histogram;
use super::publisher::Publisher;
use super::subscriber::{Stamp, Subscriber, Total};

/// Before the first window, and between two of them.
pub(super) const SETTLE: Duration = Duration::from_millis(300);

/// A part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
}

impl Window {
    /// A window that opens when everything has settled after `instant_ns`.
    pub(super) fn after(instant_ns: i64, length: Duration) -> Self {
        let from_ns = instant_ns + nanoseconds(SETTLE);
        Self { from_ns, to_ns: from_ns + nanoseconds(length) }
    }

    fn contains(self, instant_ns: i64) -> bool {
        (self.from_ns..self.to_ns).contains(&instant_ns)
    }
}

/// What one subscriber saw.
pub(super) struct Tally {
    windows: Vec<(Window, Histogram<u64>)>,
    next: u64,
    /// Messages that came after a later one.
    pub(super) disordered: u64,
    /// All messages.
    pub(super) received: u64,
}

impl Tally {
    /// Listens until the end of the run.
    pub(super) fn listen(mut subscriber: Subscriber, windows: &[Window], total: &Total) -> io::Result<Self> {
        let windows = windows.iter().map(|&window| (window, histogram())).collect();
        let mut tally = Self { windows, next: 0, disordered: 0, received: 0 };
        let record = |now_ns, stamp| tally.record(now_ns, stamp);
        tally.received = subscriber.listen(total, record, &AtomicU64::new(0))?;
        Ok(tally)
    }

    fn record(&mut self, now_ns: i64, stamp: Stamp) {
        self.disordered += u64::from(stamp.sequence < self.next);
        self.next = self.next.max(stamp.sequence + 1);
        let delay_ns = (now_ns - stamp.t_intended_ns).max(0) as u64;
        for (window, delays_ns) in &mut self.windows {
            if window.contains(stamp.t_intended_ns) {
                delays_ns.saturating_record(delay_ns);
            }
        }
    }

    /// The delays of all subscribers in one of the windows.
    pub(super) fn delays(tallies: &[Self], window: usize) -> io::Result<Histogram<u64>> {
        let mut all = histogram();
        for tally in tallies {
            all.add(&tally.windows[window].1).map_err(io::Error::other)?;
        }
        if all.is_empty() { Err(io::Error::other("no message arrived")) } else { Ok(all) }
    }
}

/// Sends at a constant rate from one instant to another; returns how late it was itself.
pub(super) fn pace(
    publisher: &mut Publisher,
    rate: u64,
    from_ns: i64,
    to_ns: i64,
) -> io::Result<Histogram<u64>> {
    be_punctual();
    let mut late = histogram();
    for number in 0.. {
        let t_intended_ns = from_ns + (number * 1_000_000_000 / i128::from(rate)) as i64;
        if t_intended_ns >= to_ns {
            break;
        }
        sleep_until(t_intended_ns);
        late.saturating_record((now() - t_intended_ns) as u64);
        publisher.publish(1, t_intended_ns)?;
    }
    Ok(late)
}
