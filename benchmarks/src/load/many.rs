//! Many topics over many connections: what they cost a broker while nothing is sent, and how fast it still is.
//!
//! Half of the connections publish and half subscribe; the topics are dealt out evenly to both. One
//! thread publishes on all connections in turn, another reads from whichever has something.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::arguments::Arguments;
use super::clock::{nanoseconds, now, sleep_until};
use super::latency::panicked;
use super::outcome::Outcome;
use super::publisher::Publisher;
use super::subscriber::Subscriber;
use super::timeline::SETTLE;

const INPUT_BYTES: usize = 64 * 1024;
/// Messages for each topic before the next connection has its turn.
const PER_TOPIC: usize = 8;
const EVENTS: usize = 256;
/// Messages that were sent and have not arrived.
const ON_THE_WAY: u64 = 100_000;
/// Nobody has credit, or nothing came for a moment: look again after this long.
const PAUSE_NS: i64 = 50_000;

pub(super) fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let before = memory_bytes(arguments.pid)?;
    let halves = deal(arguments.topics, arguments.connections / 2);
    let open = |topics: &Vec<String>| Subscriber::open(arguments, topics, INPUT_BYTES);
    let subscribers = halves.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    let open = |topics: &Vec<String>| Publisher::open(arguments, topics);
    let publishers = halves.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    sleep_until(now() + nanoseconds(SETTLE));
    let idle = memory_bytes(arguments.pid)?;
    let (rate, sent, received) = carry(arguments, publishers, subscribers)?;
    let mut outcome = Outcome::default();
    outcome.text("mode", "many").text("peer", &arguments.name).number("rate", rate);
    outcome.count("connections", arguments.connections as u64).count("topics", arguments.topics as u64);
    outcome.number("before_mb", before as f64 / 1e6).number("idle_mb", idle as f64 / 1e6);
    outcome.number("after_mb", memory_bytes(arguments.pid)? as f64 / 1e6);
    outcome.count("sent", sent).count("lost", sent.saturating_sub(received));
    Ok(outcome)
}

/// Topic names of equal length, as evenly over `connections` as it goes.
fn deal(topics: usize, connections: usize) -> Vec<Vec<String>> {
    let name = |number| format!("topic{number:06}");
    let own = |first| (first..topics).step_by(connections).map(name).collect();
    (0..connections.min(topics)).map(own).collect()
}

/// Sends for a while on all connections; returns the rate in the window, and what was sent and received.
fn carry(
    arguments: &Arguments,
    publishers: Vec<Publisher>,
    subscribers: Vec<Subscriber>,
) -> io::Result<(f64, u64, u64)> {
    let (arrived, stopped, silent) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let listener = scope.spawn(|| listen(subscribers, &arrived, &silent));
        let sender = scope.spawn(|| send(publishers, &arrived, &stopped));
        sleep_until(now() + nanoseconds(SETTLE));
        let (first, first_ns) = (arrived.load(Ordering::Relaxed), now());
        sleep_until(first_ns + nanoseconds(arguments.window));
        let (last, last_ns) = (arrived.load(Ordering::Relaxed), now());
        stopped.store(true, Ordering::Relaxed);
        // Held until all has arrived: a peer may lose what it has not read from a connection that is gone.
        let publishers = sender.join().map_err(|_| panicked())?;
        silent.store(true, Ordering::Relaxed);
        let received = listener.join().map_err(|_| panicked())??;
        let rate = (last - first) as f64 * 1e9 / (last_ns - first_ns) as f64;
        let sent = publishers?.iter().map(Publisher::sent).sum();
        Ok((rate, sent, received))
    })
}

fn send(
    mut publishers: Vec<Publisher>,
    arrived: &AtomicU64,
    stopped: &AtomicBool,
) -> io::Result<Vec<Publisher>> {
    let mut way = Way::default();
    while !stopped.load(Ordering::Relaxed) {
        let mut sent = 0;
        for publisher in &mut publishers {
            if way.has_room(arrived.load(Ordering::Relaxed), now()) {
                sent += publisher.publish_now(publisher.flows() * PER_TOPIC, now())?;
            }
        }
        way.sent += sent as u64;
        if sent == 0 {
            sleep_until(now() + PAUSE_NS);
        }
    }
    Ok(publishers)
}

/// What is on its way: without a limit the sockets of so many connections would hold seconds of traffic.
#[derive(Default)]
struct Way {
    sent: u64,
    arrived: u64,
    lost: u64,
    moved_ns: i64,
}

impl Way {
    fn has_room(&mut self, arrived: u64, now_ns: i64) -> bool {
        if arrived != self.arrived {
            (self.arrived, self.moved_ns) = (arrived, now_ns);
        }
        let waiting = self.sent.saturating_sub(arrived + self.lost);
        if waiting > ON_THE_WAY && now_ns - self.moved_ns > nanoseconds(SETTLE) {
            self.lost += waiting;
            return true;
        }
        waiting <= ON_THE_WAY
    }
}

/// Reads until nothing came for a while after the last message was sent.
fn listen(mut subscribers: Vec<Subscriber>, arrived: &AtomicU64, silent: &AtomicBool) -> io::Result<u64> {
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, subscriber) in subscribers.iter().enumerate() {
        let place = epoll::EventData::new_u64(place as u64);
        epoll::add(&ready, subscriber.wire().stream(), place, epoll::EventFlags::IN)?;
    }
    let wait = Timespec { tv_sec: 0, tv_nsec: nanoseconds(SETTLE) };
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        epoll::wait(&ready, spare_capacity(&mut events), Some(&wait))?;
        if events.is_empty() && silent.load(Ordering::Relaxed) {
            return Ok(arrived.load(Ordering::Relaxed));
        }
        for event in events.drain(..) {
            let received = subscribers[event.data.u64() as usize].take_now()?;
            arrived.fetch_add(received, Ordering::Relaxed);
        }
    }
}

/// Resident memory of a process; 0 if none was named.
fn memory_bytes(pid: Option<u32>) -> io::Result<u64> {
    let Some(pid) = pid else { return Ok(0) };
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| io::Error::other("no VmRSS of that process"))
}
