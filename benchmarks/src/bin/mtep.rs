//! What a dequeue of the output stage costs: mtep against the pseudocode of S1, and the simple policies.
//!
//! One round pops one message and pushes one new one while time advances, so that the queue keeps its length.
//! `wan` has the links, sizes, deadlines and prices of S1 section 3; `lan` has small messages on fast links.
//! In both, a queue of any length is served within the same time, so that a message stays for about as many dequeues
//! as the queue is long. `overload` is `wan` at the pace of the paper's links: a message stays for ten dequeues.

use std::collections::BTreeMap;
use std::hint::black_box;

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::id::Nanos;
use giusto_core::output::{BYTES_PER_KB, Link, Lost, Outgoing, OutputQueue, Overflow, Terms, policy};

const SUBSCRIPTIONS: usize = 40;
const ROUNDS: usize = 11;
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
    /// Time between dequeues: a queue served in this time, however long it is, or the link's own pace.
    drain_ns: Option<Nanos>,
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
    drain_ns: Some(30 * SECOND),
};

/// The link of S1 at its own pace: one message per LMT of 3 s, so that most of a long queue expires unsent.
const OVERLOAD: Load = Load { name: "overload", drain_ns: None, ..WAN };

const LAN: Load = Load {
    name: "lan",
    size_bytes: 1 << 10,
    deadlines: [(5_000_000, 3.0), (10_000_000, 2.5), (20_000_000, 2.0), (30_000_000, 1.5), (50_000_000, 1.0)],
    link_mean_ns: (8e3, 100e3),
    link_sigma_ns: 30e3,
    processing_ns: 5_000,
    subscriber_ns: 50_000,
    drain_ns: Some(15_000_000),
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

    fn message(&self, token: u32, now: Nanos, random: &mut Random) -> (Outgoing, Vec<Terms>) {
        let terms = (0..SUBSCRIPTIONS).map(|_| self.terms(random)).collect();
        let age_ns = random.below(self.deadlines[0].0 as u64 / 4) as Nanos;
        let (published_ns, size_bytes) = (now - age_ns, self.size_bytes);
        (Outgoing { token, size_bytes, priority: 0, published_ns, timeout_ns: 0 }, terms)
    }

    /// LMT: the mean size times the mean μ.
    fn mean_transmission_ns(&self) -> Nanos {
        let (low, high) = self.link_mean_ns;
        (f64::from(self.size_bytes) / BYTES_PER_KB * (low + high) / 2.0) as Nanos
    }

    fn step_ns(&self, length: usize) -> Nanos {
        self.drain_ns.map_or(self.mean_transmission_ns(), |drain_ns| drain_ns / length as Nanos)
    }

    /// Dequeues during which the whole queue is replaced, once the shortest deadline counts.
    fn turnover(&self, length: usize) -> usize {
        let dequeues = self.deadlines[2].0 / self.step_ns(length);
        (dequeues as usize).clamp(100, 20_000)
    }

    fn queue(&self, name: &str, length: usize) -> OutputQueue {
        let link = Link {
            processing_delay_ns: self.processing_ns,
            mean_transmission_ns: self.mean_transmission_ns(),
            ..Link::default()
        };
        policy(name).unwrap().queue(length + 1, Overflow::DropOldest, None, link).unwrap()
    }
}

/// A queue under a load, and the stream of messages that it gets.
struct Bench {
    queue: OutputQueue,
    load: Load,
    length: usize,
    random: Random,
    now: Nanos,
    token: u32,
    /// What is queued, in queue order.
    live: BTreeMap<u32, (Outgoing, Vec<Terms>)>,
    lost: Vec<Lost>,
    push_ns: f64,
}

impl Bench {
    fn new(name: &str, load: Load, length: usize) -> Self {
        let queue = load.queue(name, length);
        let (random, live, lost) = (Random::new(11), BTreeMap::new(), Vec::new());
        let mut bench = Self { queue, load, length, random, now: 0, token: 0, live, lost, push_ns: 0.0 };
        bench.fill();
        bench
    }

    /// A queue of another policy with the same content and the same future.
    fn twin(&self, name: &str) -> Self {
        let mut queue = self.load.queue(name, self.length);
        let mut lost = Vec::new();
        for (message, terms) in self.live.values() {
            queue.push(self.now, *message, terms, &mut lost).unwrap();
        }
        let (random, live) = (self.random.clone(), self.live.clone());
        Self { queue, random, live, lost, push_ns: 0.0, ..*self }
    }

    /// Pushes until the queue has its length again; a message may already have travelled for a while.
    fn fill(&mut self) {
        while self.queue.len() < self.length {
            let (message, terms) = self.load.message(self.token, self.now, &mut self.random);
            self.token += 1;
            self.push_ns += time_ns(|| {
                black_box(self.queue.push(self.now, message, &terms, &mut self.lost).is_ok());
            });
            self.live.insert(message.token, (message, terms));
        }
    }

    /// Nanoseconds per dequeue over `rounds`, pushes not counted, and a digest of what was chosen.
    fn run(&mut self, rounds: usize) -> (f64, u64) {
        let (mut total_ns, mut chosen) = (0.0, 0u64);
        for _ in 0..rounds {
            self.now += self.load.step_ns(self.length);
            let mut message = None;
            total_ns += time_ns(|| message = self.queue.pop(self.now, &mut self.lost));
            let token = message.map(|message| message.token);
            chosen = chosen.wrapping_mul(31).wrapping_add(token.map_or(0, u64::from));
            for gone in self.lost.drain(..).map(|lost| lost.token).chain(token) {
                self.live.remove(&gone);
            }
            self.fill();
        }
        (total_ns / rounds as f64, chosen)
    }
}

/// mtep against the pseudocode, alternating, at moments spread over one turnover of the queue.
fn compare(load: Load, length: usize) {
    let turnover = load.turnover(length);
    let mut fast = Bench::new("mtep", load, length);
    fast.run(2 * turnover);
    let (before, first) = (fast.queue.work(), fast.token);
    let (mut fast_ns, mut plain_ns, mut dequeues) = (Vec::new(), Vec::new(), 0);
    fast.push_ns = 0.0;
    for _ in 0..ROUNDS {
        let both = (1_000 / length).clamp(1, 50);
        let mut plain = fast.twin("mtep-reference");
        let (plain_time, plain_chosen) = plain.run(both);
        let (fast_time, fast_chosen) = fast.run(both);
        assert_eq!(plain_chosen, fast_chosen, "mtep chose another message than the pseudocode");
        let alone = turnover / ROUNDS;
        let (alone_time, _) = fast.run(alone);
        plain_ns.push(plain_time);
        fast_ns.push((fast_time * both as f64 + alone_time * alone as f64) / (both + alone) as f64);
        dequeues += both + alone;
    }
    let after = fast.queue.work();
    let (fast_ns, plain_ns) = (median(&mut fast_ns), median(&mut plain_ns));
    let case = |what: &str| format!("{}, {length} messages | {what}", load.name);
    let per_dequeue = |count: u64| count as f64 / dequeues as f64;
    report("mtep", &case("pseudocode"), plain_ns, "ns/dequeue");
    report("mtep", &case("mtep"), fast_ns, "ns/dequeue");
    report("mtep", &case("ratio"), plain_ns / fast_ns, "x");
    report("mtep", &case("push"), fast.push_ns / f64::from((fast.token - first).max(1)), "ns/push");
    report("mtep", &case("exact"), per_dequeue(after.evaluations - before.evaluations), "messages/dequeue");
    report("mtep", &case("bounded"), per_dequeue(after.bounds - before.bounds), "messages/dequeue");
}

/// Push and pop of plain messages, without terms, at a queue length of 100.
fn plain_path(names: &[&str]) {
    const MESSAGES: u32 = 200_000;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for _ in 0..ROUNDS {
        for (name, times) in names.iter().zip(&mut times) {
            let mut queue = WAN.queue(name, 1_000);
            let mut lost = Vec::new();
            let mut offer = |queue: &mut OutputQueue, token: u32| {
                let (priority, now) = ((token.wrapping_mul(2_654_435_761) >> 29) as u8, Nanos::from(token));
                let message = Outgoing { token, size_bytes: 128, priority, published_ns: now, timeout_ns: 0 };
                black_box(queue.push(now, message, &[], &mut lost).is_ok());
            };
            (0..100).for_each(|token| offer(&mut queue, token));
            let mut lost = Vec::new();
            times.push(time_ns(|| {
                for token in 100..100 + MESSAGES {
                    offer(&mut queue, token);
                    black_box(queue.pop(Nanos::from(token), &mut lost).map_or(0, |message| message.token));
                }
            }));
        }
    }
    for (name, times) in names.iter().zip(&mut times) {
        report("output push + pop", name, median(times) / f64::from(MESSAGES), "ns");
    }
}

fn main() {
    require_release();
    plain_path(&["fifo", "priority", "lrt", "mtep"]);
    for load in [WAN, OVERLOAD, LAN] {
        for length in [10, 100, 1_000, 10_000] {
            compare(load, length);
        }
    }
}
