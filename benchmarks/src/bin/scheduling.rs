//! Enqueue + dequeue of 128-byte messages through the VOQ matrix and every input policy, over the
//! number of topics: `scheduling [rounds]`.
//!
//! Two loads. *active*: 1,000 flows have traffic, the rest are idle, as on a bus with many quiet
//! topics; what grows is what the policy has to skip. *all*: every one of the 100 clients × topics
//! flows has traffic in random order; what grows is also the memory touched (a million flows at
//! 10,000 topics), so this one shows the machine's caches too. Messages come in batches of 32, as
//! from a socket.

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::id::{ClientId, FlowId, TopicId};
use giusto_core::input::{InputStage, REGISTRY, Share, policy};
use giusto_core::queue::{Bounds, Queues};

const CLIENTS: u32 = 100;
const FRAME_BYTES: usize = 56 + 128;
const MESSAGES: usize = 400_000;
const BATCH: usize = 32;

/// A saturated broker: as many messages leave as enter.
struct Load {
    stage: Box<dyn InputStage>,
    queues: Queues,
    arrivals: Vec<(FlowId, TopicId)>,
    at: usize,
}

impl Load {
    fn new(name: &str, topics: u32, active: u32, backlog: usize) -> Self {
        let mut stage = policy(name).unwrap();
        let mut queues = Queues::new(stage.lanes(), 65_536).unwrap();
        for topic in 0..topics {
            let weight = 1 + topic % 10;
            let share = Share { weight, rate: weight, period_ns: 1_000, ..Share::default() };
            stage.allot(TopicId(topic), &share);
            for client in 0..CLIENTS {
                let flow = FlowId(topic * CLIENTS + client);
                let bounds = Bounds { capacity: 65_535, limit_bytes: 1 << 20 };
                queues.open(flow, ClientId(client), TopicId(topic), bounds).unwrap();
                stage.join(&mut queues, TopicId(topic), flow);
            }
        }
        let mut random = Random::new(u64::from(topics));
        let mut any = || FlowId(random.below(u64::from(topics * CLIENTS)) as u32);
        let flows: Vec<FlowId> = (0..active.min(topics * CLIENTS)).map(|_| any()).collect();
        let mut arrival = || flows[random.below(flows.len() as u64) as usize];
        let arrivals =
            (0..MESSAGES).map(|_| arrival()).map(|flow| (flow, TopicId(flow.0 / CLIENTS))).collect();
        let mut load = Self { stage, queues, arrivals, at: 0 };
        (0..backlog).for_each(|_| load.enqueue());
        load
    }

    fn enqueue(&mut self) {
        let (flow, topic) = self.arrivals[self.at % MESSAGES];
        self.at += 1;
        let frame = [self.at as u8; FRAME_BYTES];
        if self.queues.push(self.at as i64, flow, 0, &frame).unwrap().first {
            self.stage.arrived(&self.queues, topic, flow);
        }
    }

    fn dequeue(&mut self) {
        let served = self.stage.next(self.at as i64, &mut self.queues).unwrap();
        std::hint::black_box(self.queues.store.frame(served.message));
        self.queues.store.release(served.message);
    }

    fn batch(&mut self) {
        let room: u32 = (0..BATCH).map(|n| self.queues.room(self.arrivals[(self.at + n) % MESSAGES].0)).sum();
        std::hint::black_box(room);
        (0..BATCH).for_each(|_| self.enqueue());
        (0..BATCH).for_each(|_| self.dequeue());
    }

    /// Nanoseconds per message.
    fn round(&mut self) -> f64 {
        time_ns(|| (0..MESSAGES / BATCH).for_each(|_| self.batch())) / MESSAGES as f64
    }
}

fn main() {
    require_release();
    let rounds: usize = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    for (load, active, backlog) in [("active", 1_000, 1_000), ("all", u32::MAX, 1_000)] {
        for entry in REGISTRY {
            compare(entry.name, load, active, backlog, rounds);
        }
    }
}

fn compare(name: &str, load: &str, active: u32, backlog: usize, rounds: usize) {
    let sizes = [10, 100, 1_000, 10_000];
    let mut loads: Vec<Load> = sizes.iter().map(|&topics| Load::new(name, topics, active, backlog)).collect();
    let mut times = vec![Vec::new(); sizes.len()];
    for round in 0..=rounds {
        for (load, times) in loads.iter_mut().zip(&mut times) {
            let ns = load.round();
            if round > 0 {
                times.push(ns);
            }
        }
    }
    let ns: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    for (topics, ns) in sizes.iter().zip(&ns) {
        report("scheduling", &format!("{name}, {load} | {topics} topics"), 1e3 / ns, "million/s");
    }
    report("scheduling", &format!("{name}, {load} | 10000 against 10"), ns[3] / ns[0], "times slower");
}
