//! Several subscribers of one topic, first all reading, then beside one that has stopped.
//!
//! What the stopped one has not read fills every buffer on its way: another topic that only it
//! subscribes to is sent as ballast first.

use std::io;
use std::thread;

use super::arguments::Arguments;
use super::clock::{nanoseconds, now, sleep_until};
use super::latency::{panicked, report};
use super::outcome::Outcome;
use super::publisher::Publisher;
use super::subscriber::{Subscriber, Total};
use super::timeline::{SETTLE, Tally, Window, pace};

const INPUT_BYTES: usize = 64 * 1024;
/// More than the buffers of a connection hold; less than makes peers hang up on it.
const BALLAST_BYTES: u64 = 16 << 20;
/// Settling times that the ballast may take before the second window.
const BALLAST_SETTLES: i64 = 5;

pub(super) fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let (paced, ballast) = ("paced".to_owned(), "ballast".to_owned());
    let only = [paced.clone()];
    let open = || Subscriber::open(arguments, &only, INPUT_BYTES);
    let others = (0..arguments.subscribers).map(|_| open()).collect::<io::Result<Vec<_>>>()?;
    let stopping = Subscriber::open(arguments, &[paced, ballast.clone()], INPUT_BYTES)?;
    stopping.wire().shrink()?;
    let mut publisher = Publisher::open(arguments, &only)?;
    let weight = Publisher::open(arguments, &[ballast])?;

    let start_ns = now();
    let reading = Window::after(start_ns, arguments.window);
    let full_ns = reading.to_ns + BALLAST_SETTLES * nanoseconds(SETTLE);
    let windows = [reading, Window::after(full_ns, arguments.window)];
    let total = Total::unknown();
    let (tallies, loaded, late) = thread::scope(|scope| {
        let listen = |subscriber| scope.spawn(|| Tally::listen(subscriber, &windows, &total));
        let listeners: Vec<_> = others.into_iter().map(listen).collect();
        let stopped = scope.spawn(|| read_until(stopping, reading.to_ns));
        let loader = scope.spawn(|| fill(weight, arguments.shape.payload_bytes, reading.to_ns, full_ns));
        let late = pace(&mut publisher, arguments.rate, start_ns, windows[1].to_ns);
        total.set(publisher.sent());
        let joined = listeners.into_iter().map(|listener| listener.join().map_err(|_| panicked())?);
        let tallies = joined.collect::<io::Result<Vec<_>>>()?;
        let late = late?;
        let loaded = loader.join().map_err(|_| panicked())??;
        // Held until here: its connection must stay open.
        drop(stopped.join().map_err(|_| panicked())??);
        io::Result::Ok((tallies, loaded, late))
    })?;

    let mut outcome = Outcome::default();
    outcome.text("mode", "stalled").text("peer", &arguments.name).count("rate", arguments.rate);
    outcome.delays("reading_", &Tally::delays(&tallies, 0)?).delays("stalled_", &Tally::delays(&tallies, 1)?);
    outcome.delays("sender_", &late);
    report(&mut outcome, publisher.sent(), &tallies);
    outcome.count("ballast", loaded);
    Ok(outcome)
}

/// Reads what arrives until an instant; returns the open connection, from which nobody reads then.
fn read_until(mut subscriber: Subscriber, until_ns: i64) -> io::Result<Subscriber> {
    let step_ns = 1_000_000;
    while now() < until_ns {
        subscriber.take_now()?;
        sleep_until((now() + step_ns).min(until_ns));
    }
    Ok(subscriber)
}

/// Sends the ballast, or as much of it as the peer takes in time; returns how many messages.
fn fill(mut publisher: Publisher, payload_bytes: usize, from_ns: i64, until_ns: i64) -> io::Result<u64> {
    sleep_until(from_ns);
    while now() < until_ns && publisher.sent() * (payload_bytes as u64) < BALLAST_BYTES {
        publisher.publish(usize::MAX, now())?;
    }
    Ok(publisher.sent())
}
