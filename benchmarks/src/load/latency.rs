//! Delay through a peer at a constant rate, from the instant at which each message was meant to be sent.

use std::io;
use std::thread;

use super::arguments::Arguments;
use super::clock::now;
use super::outcome::Outcome;
use super::publisher::Publisher;
use super::subscriber::{Subscriber, Total};
use super::timeline::{Tally, Window, pace};

const INPUT_BYTES: usize = 256 * 1024;

pub(super) fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let topics = ["paced".to_owned()];
    let open = || Subscriber::open(arguments, &topics, INPUT_BYTES);
    let subscribers = (0..arguments.subscribers).map(|_| open()).collect::<io::Result<Vec<_>>>()?;
    let mut publisher = Publisher::open(arguments, &topics)?;
    let start_ns = now();
    let window = Window::after(start_ns, arguments.window);
    let total = Total::unknown();
    let (late, tallies) = thread::scope(|scope| {
        let listen = |subscriber| scope.spawn(|| Tally::listen(subscriber, &[window], &total));
        let listeners: Vec<_> = subscribers.into_iter().map(listen).collect();
        let late = pace(&mut publisher, arguments.rate, start_ns, window.to_ns);
        total.set(publisher.sent());
        let joined = listeners.into_iter().map(|listener| listener.join().map_err(|_| panicked())?);
        io::Result::Ok((late?, joined.collect::<io::Result<Vec<_>>>()?))
    })?;
    let mut outcome = Outcome::default();
    outcome.text("mode", "latency").text("peer", &arguments.name).count("rate", arguments.rate);
    outcome.delays("", &Tally::delays(&tallies, 0)?).delays("sender_", &late);
    report(&mut outcome, publisher.sent(), &tallies);
    Ok(outcome)
}

/// Adds what was sent, lost and out of order.
pub(super) fn report(outcome: &mut Outcome, sent: u64, tallies: &[Tally]) {
    let lost: u64 = tallies.iter().map(|tally| sent.saturating_sub(tally.received)).sum();
    let disordered = tallies.iter().map(|tally| tally.disordered).sum();
    outcome.count("sent", sent).count("lost", lost).count("disordered", disordered);
}

pub(super) fn panicked() -> io::Error {
    io::Error::other("a thread of the load panicked")
}
