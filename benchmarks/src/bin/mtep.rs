//! What a dequeue of the output stage costs: mtep against the pseudocode of S1, and the simple policies.
//!
//! One round pops one message and pushes one new one while time advances, so that the queue keeps its length.
//! `wan` has the links, sizes, deadlines and prices of S1 section 3; `lan` has small messages on fast links.

use std::hint::black_box;

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::id::Nanos;
use giusto_core::output::{Link, Outgoing, OutputQueue, Overflow, Terms, policy};

const SUBSCRIPTIONS: usize = 40;
const SECOND: Nanos = 1_000_000_000;

/// A kind of traffic.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    size_bytes: u32,
    /// Deadlines with their prices; the penalty is a tenth.
    deadlines: [(Nanos, f64); 5],
    /// μ per link, lowest and highest, and σ, per KB.
    link_mean_ns: (f64, f64),
    link_sigma_ns: f64,
    processing_ns: Nanos,
    subscriber_ns: Nanos,
    /// A queue of n messages is served in this time: what does not fit has expired before.
    drain_ns: Nanos,
}

const WAN: Load = Load {
    name: "wan",
    size_bytes: 50 << 10,
    deadlines: [
        (20 * SECOND, 3.0),
        (24 * SECOND, 2.5),
        (30 * SECOND, 2.0),
        (40 * SECOND, 1.5),
        (60 * SECOND, 1.0),
    ],
    link_mean_ns: (40e6, 80e6),
    link_sigma_ns: 20e6,
    processing_ns: 2_000_000,
    subscriber_ns: 20_000_000,
    drain_ns: 30 * SECOND,
};

const LAN: Load = Load {
    name: "lan",
    size_bytes: 1 << 10,
    deadlines: [(5_000_000, 3.0), (10_000_000, 2.5), (20_000_000, 2.0), (30_000_000, 1.5), (50_000_000, 1.0)],
    link_mean_ns: (8e3, 100e3),
    link_sigma_ns: 30e3,
    processing_ns: 5_000,
    subscriber_ns: 50_000,
    drain_ns: 15_000_000,
};

impl Load {
    fn terms(&self, random: &mut Random) -> Terms {
        let (deadline_ns, price) = self.deadlines[random.below(5) as usize];
        let hops = 1 + random.below(6) as u32;
        let (low, high) = self.link_mean_ns;
        Terms {
            deadline_ns,
            price,
            penalty: 0.1 * price,
            nodenum: hops,
            mean_ns_per_kb: (0..hops).map(|_| low + (high - low) * random.unit()).sum(),
            variance_ns2_per_kb2: f64::from(hops) * self.link_sigma_ns * self.link_sigma_ns,
            subscriber_delay_ns: self.subscriber_ns,
        }
    }

    fn link(&self, weight: f64) -> Link {
        let (low, high) = self.link_mean_ns;
        let mean_transmission_ns = (f64::from(self.size_bytes) / 1024.0 * (low + high) / 2.0) as Nanos;
        Link { processing_delay_ns: self.processing_ns, mean_transmission_ns, epsilon: 0.04, weight }
    }
}

/// A queue under a load, and the stream of messages that it gets.
struct Bench {
    queue: OutputQueue,
    random: Random,
    load: Load,
    terms: Vec<Terms>,
    now: Nanos,
    token: u32,
    step_ns: Nanos,
    length: usize,
}

impl Bench {
    fn new(name: &str, load: Load, length: usize, step_ns: Nanos, weight: f64) -> Self {
        let link = load.link(weight);
        let queue = policy(name).unwrap().queue(length + 1, Overflow::DropOldest, None, link).unwrap();
        let random = Random::new(11);
        let mut bench = Self { queue, random, load, terms: Vec::new(), now: 0, token: 0, step_ns, length };
        bench.fill();
        bench
    }

    /// Pushes until the queue has its length again; a message may already have travelled for a while.
    fn fill(&mut self) {
        while self.queue.len() < self.length {
            let random = &mut self.random;
            self.terms.clear();
            self.terms.extend((0..SUBSCRIPTIONS).map(|_| self.load.terms(random)));
            let age_ns = random.below(self.load.deadlines[0].0 as u64 / 4) as Nanos;
            let (published_ns, size_bytes) = (self.now - age_ns, self.load.size_bytes);
            let message =
                Outgoing { token: self.token, size_bytes, priority: 0, published_ns, timeout_ns: 0 };
            self.token += 1;
            self.queue.push(self.now, message, &self.terms, &mut Vec::new()).unwrap();
        }
    }

    /// The time of `rounds` dequeues, pushes not counted, and what they chose.
    fn run(&mut self, rounds: usize) -> (f64, u64) {
        let (mut total_ns, mut chosen) = (0.0, 0u64);
        let mut lost = Vec::new();
        for _ in 0..rounds {
            self.now += self.step_ns;
            lost.clear();
            let mut message = None;
            total_ns += time_ns(|| message = self.queue.pop(self.now, &mut lost));
            chosen =
                chosen.wrapping_mul(31).wrapping_add(message.map_or(0, |message| u64::from(message.token)));
            self.fill();
        }
        (total_ns / rounds as f64, chosen)
    }
}

fn main() {
    require_release();
    for load in [WAN, LAN] {
        for length in [10, 100, 1_000, 10_000] {
            for weight in [0.4, 1.0] {
                let step_ns = load.drain_ns / length as Nanos;
                let mut plain = Bench::new("mtep-reference", load, length, step_ns, weight);
                let mut fast = Bench::new("mtep", load, length, step_ns, weight);
                let warm = (length * 2).min(20000);
                // warm both to steady state
                let _ = fast.run(warm);
                let start = fast.queue.work();
                let c0 = fast.queue.counts();
                let n = 2000;
                let (t, _) = fast.run(n);
                let w = fast.queue.work();
                let c1 = fast.queue.counts();
                let pn = (20000 / length).max(3);
                let (pt, _) = plain.run(pn);
                eprintln!(
                    "{} w={weight} n={length}: fast {t:.0} ns, ref {pt:.0} ns, ratio {:.1}; evals/pop {:.2} bounds/pop {:.1} expired/pop {:.2}",
                    load.name,
                    pt / t,
                    (w.evaluations - start.evaluations) as f64 / n as f64,
                    (w.bounds - start.bounds) as f64 / n as f64,
                    (c1.expired - c0.expired) as f64 / n as f64
                );
            }
        }
    }
    let _ = (median, report, black_box::<u8>);
}
