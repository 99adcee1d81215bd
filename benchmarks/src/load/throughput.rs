//! How many messages a peer carries: the publisher sends as fast as they are taken, and what arrives in a window counts.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::arguments::Arguments;
use super::clock::{nanoseconds, now, sleep_until};
use super::latency::panicked;
use super::outcome::Outcome;
use super::publisher::Publisher;
use super::subscriber::{Subscriber, Total};
use super::timeline::SETTLE;

const INPUT_BYTES: usize = 256 * 1024;

pub(super) fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let topics = ["fast".to_owned()];
    let subscriber = Subscriber::open(arguments, &topics, INPUT_BYTES)?;
    let publisher = Publisher::open(arguments, &topics)?;
    let flow = Flow::default();
    let (rate, sent, received) = thread::scope(|scope| {
        let listener = scope.spawn(|| flow.listen(subscriber));
        let sender = scope.spawn(|| flow.send(publisher, now()));
        let rate = flow.rate(now() + nanoseconds(SETTLE), arguments.window);
        flow.stop();
        let publisher = sender.join().map_err(|_| panicked())?;
        let received = listener.join().map_err(|_| panicked())?;
        io::Result::Ok((rate, publisher?.sent(), received?))
    })?;
    let mut outcome = Outcome::default();
    outcome.text("mode", "throughput").text("peer", &arguments.name).number("rate", rate);
    outcome.count("sent", sent).count("lost", sent.saturating_sub(received));
    Ok(outcome)
}

/// Messages from one publisher to one subscriber without a pause.
pub(super) struct Flow {
    arrived: AtomicU64,
    stopped: AtomicBool,
    total: Total,
}

impl Default for Flow {
    fn default() -> Self {
        Self { arrived: AtomicU64::new(0), stopped: AtomicBool::new(false), total: Total::unknown() }
    }
}

impl Flow {
    /// Sends from `start_ns` on until stopped. The connection is returned, to be closed only when all has
    /// arrived: a peer may lose what it has not read yet from a connection that is gone.
    pub(super) fn send(&self, mut publisher: Publisher, start_ns: i64) -> io::Result<Publisher> {
        sleep_until(start_ns);
        let mut outcome = Ok(());
        while outcome.is_ok() && !self.stopped.load(Ordering::Relaxed) {
            outcome = publisher.publish(usize::MAX, now());
        }
        self.total.set(publisher.sent());
        outcome.map(|()| publisher)
    }

    /// Takes messages until all are here or lost; returns how many.
    pub(super) fn listen(&self, mut subscriber: Subscriber) -> io::Result<u64> {
        subscriber.listen(&self.total, |_, _| (), &self.arrived)
    }

    /// Messages per second that arrive in a window from `from_ns` on.
    pub(super) fn rate(&self, from_ns: i64, window: Duration) -> f64 {
        sleep_until(from_ns);
        let (first, first_ns) = (self.arrived.load(Ordering::Relaxed), now());
        sleep_until(from_ns + nanoseconds(window));
        let (last, last_ns) = (self.arrived.load(Ordering::Relaxed), now());
        (last - first) as f64 * 1e9 / (last_ns - first_ns) as f64
    }

    /// The publisher sends no more.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}
