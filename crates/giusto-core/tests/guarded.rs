//! Two classes of traffic: the guarded is served as if the rest were not there, and moving a topic between them loses
//! and reorders nothing.

use giusto_core::effort::Effort;
use giusto_core::engine::{Config, Engine, Need, Offer, Step};
use giusto_core::frame::{Data, DataHeader};
use giusto_core::id::{ClientId, FlowId, Nanos, TopicId};
use giusto_core::input::{REGISTRY, Share};
use giusto_core::output::POLICIES;
use proptest::prelude::*;

const FRAGMENT_BYTES: u32 = 8;

/// Topics `0..topics`, each published on by two clients, and a subscriber of all.
struct World {
    engine: Engine,
    topics: Vec<TopicId>,
    /// Two flows of each topic, in order, and how many messages each has sent.
    flows: Vec<(FlowId, ClientId, u64)>,
    subscriber: ClientId,
}

impl World {
    fn new(input: &str, output: &str, weights: &[u32]) -> Self {
        let config = Config {
            input: input.into(),
            output: output.into(),
            fragment_bytes: FRAGMENT_BYTES,
            ..Config::default()
        };
        let mut engine = Engine::new(config).unwrap();
        let publishers = ["a", "b"].map(|name| engine.connect(name).unwrap());
        let subscriber = engine.connect("subscriber").unwrap();
        engine.subscribe(subscriber, "#", None, &Need::default()).unwrap();
        let (mut topics, mut flows) = (Vec::new(), Vec::new());
        for (n, &weight) in weights.iter().enumerate() {
            let period_ns = 10 * Nanos::from(weight);
            let share = Share { weight, rate: weight, period_ns, deadline_ns: period_ns, ..Share::default() };
            let topic = engine.declare(&format!("t{n}"), share).unwrap();
            topics.push(topic);
            for client in publishers {
                flows.push((engine.advertise(client, topic, &Offer::default()).unwrap(), client, 0));
            }
        }
        Self { engine, topics, flows, subscriber }
    }

    /// Whether the message was taken in.
    fn publish(&mut self, now: Nanos, flow: usize, size: u8) -> bool {
        let (id, client, sequence) = self.flows[flow];
        let header = DataHeader { stream: id.0, sequence, t_sent_ns: now, ..DataHeader::default() };
        let payload = vec![0; usize::from(size)];
        let data = Data { header, attributes: &[], payload: &payload };
        let mut frame = Vec::new();
        data.encode(&mut frame, u32::MAX).unwrap();
        let taken = self.engine.ingest(now, client, &frame, &data).is_ok();
        self.flows[flow].2 += u64::from(taken);
        taken
    }

    fn waiting(&self, flow: usize) -> u32 {
        self.engine.waiting_in(self.flows[flow].1, self.topics[flow / 2])
    }

    /// (topic, source, sequence) of what the subscriber's link carries next.
    fn take(&mut self, now: Nanos) -> Option<(TopicId, ClientId, u64)> {
        self.take_for(now, self.subscriber)
    }

    fn take_for(&mut self, now: Nanos, client: ClientId) -> Option<(TopicId, ClientId, u64)> {
        let token = self.engine.take(now, client)?;
        let delivery = self.engine.delivery(token).unwrap();
        let sequence = u64::from_le_bytes(delivery.frame[16..24].try_into().unwrap());
        let taken = (delivery.topic, delivery.source, sequence);
        self.engine.finish(token);
        Some(taken)
    }
}

/// (T3) with (T2) for the first message of a backlog, in quanta: one publisher on each topic, and a quantum that was just missed.
fn first_of_backlog(own: u32, all: &[u32]) -> u32 {
    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let divisor = all.iter().fold(0, |divisor, &weight| gcd(divisor, weight));
    let cells: u32 = all.iter().map(|weight| weight.saturating_sub(own) / divisor + 1).sum();
    cells + 1
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Publish(usize, u8),
    Step,
    Take,
    Guard(usize, bool),
}

fn acts(flows: usize, topics: usize) -> impl Strategy<Value = Vec<Act>> {
    let one = prop_oneof![
        4 => (0..flows, 0u8..20).prop_map(|(flow, size)| Act::Publish(flow, size)),
        4 => Just(Act::Step),
        2 => Just(Act::Take),
        1 => (0..topics, any::<bool>()).prop_map(|(topic, guarded)| Act::Guard(topic, guarded)),
    ];
    prop::collection::vec(one, 0..300)
}

fn input() -> impl Strategy<Value = &'static str> {
    prop::sample::select(REGISTRY.iter().map(|policy| policy.name).collect::<Vec<_>>())
}

fn output() -> impl Strategy<Value = &'static str> {
    prop::sample::select(POLICIES.map(|policy| policy.name).to_vec())
}

proptest! {
    #[test]
    fn guarded_topics_are_served_as_by_a_policy_that_has_no_others(
        input in input(),
        weights in prop::collection::vec(1u32..6, 6),
        acts in acts(12, 1),
    ) {
        // The first three topics are guarded beside the rest; in the other engine nothing is, and there are no others.
        let (mut both, mut alone) = (World::new(input, "fifo", &weights), World::new(input, "fifo", &weights[..3]));
        for topic in 0..3 {
            prop_assert!(both.engine.guard(both.topics[topic], true).unwrap());
        }
        for (now, act) in acts.into_iter().enumerate() {
            let now = now as Nanos;
            match act {
                Act::Publish(flow, size) => {
                    both.publish(now, flow, size);
                    if flow < 6 { alone.publish(now, flow, size); }
                }
                Act::Step => {
                    let (waited, expected) = (both.engine.waiting_guarded(), alone.engine.step(now));
                    let served = both.engine.step(now);
                    prop_assert_eq!(waited > 0, expected.is_some());
                    // Never a quantum of the rest while a guarded message waits.
                    if expected.is_some() { prop_assert_eq!(served, expected); }
                }
                Act::Take | Act::Guard(..) => {}
            }
            prop_assert_eq!(both.engine.waiting_guarded(), alone.engine.waiting());
        }
    }

    #[test]
    fn topics_that_change_their_class_at_any_instant_lose_and_reorder_nothing(
        input in input(),
        output in output(),
        weights in prop::collection::vec(1u32..6, 4),
        acts in acts(8, 4),
    ) {
        let mut world = World::new(input, output, &weights);
        let mut next = std::collections::HashMap::new();
        let mut last_ns = 0;
        let mut check = |(topic, source, sequence)| {
            let expected = next.entry((topic, source)).or_insert(0);
            prop_assert_eq!(sequence, *expected);
            *expected += 1;
            Ok(())
        };
        for (now, act) in acts.into_iter().enumerate() {
            let now = now as Nanos;
            last_ns = now;
            match act {
                Act::Publish(flow, size) => prop_assert!(world.publish(now, flow, size)),
                Act::Step => {
                    let (guarded, waiting) = (world.engine.waiting_guarded(), world.engine.waiting());
                    let quantum = world.engine.step(now);
                    prop_assert_eq!(quantum.is_some(), waiting > 0);
                    let complete = quantum.is_some_and(|quantum| quantum.step != Step::Fragment);
                    let fewer = usize::from(guarded > 0 && complete);
                    prop_assert_eq!(world.engine.waiting_guarded(), guarded - fewer);
                }
                Act::Take => if let Some(taken) = world.take(now) { check(taken)? },
                Act::Guard(topic, guarded) => {
                    let topic = world.topics[topic];
                    let is_so = world.engine.guard(topic, guarded).unwrap();
                    prop_assert!(is_so || !guarded);
                    prop_assert_eq!(world.engine.is_guarded(topic), guarded || !is_so);
                }
            }
        }
        while world.engine.step(last_ns).is_some() {}
        while let Some(taken) = world.take(last_ns) { check(taken)? }
        let totals = world.engine.totals();
        let published: u64 = world.flows.iter().map(|flow| flow.2).sum();
        prop_assert_eq!((totals.ingested, totals.selected, totals.delivered), (published, published, published));
        prop_assert_eq!((world.engine.stored(), world.engine.waiting_guarded()), (0, 0));
        for &topic in &world.topics {
            prop_assert!(world.engine.guard(topic, false).unwrap());
        }
        prop_assert!(!world.engine.has_guarded());
    }
    #[test]
    fn topics_that_are_guarded_one_client_after_the_other_lose_and_reorder_nothing(
        input in input(),
        output in output(),
        weights in prop::collection::vec(1u32..6, 2),
        acts in acts(4, 2),
    ) {
        let mut world = World::new(input, output, &weights);
        let mut subscribers = vec![world.subscriber];
        for name in ["c", "d", "e"] {
            let client = world.engine.connect(name).unwrap();
            world.engine.subscribe(client, "#", None, &Need::default()).unwrap();
            subscribers.push(client);
        }
        let mut next = std::collections::HashMap::new();
        let mut check = |client, (topic, source, sequence)| {
            let expected = next.entry((client, topic, source)).or_insert(0);
            prop_assert_eq!(sequence, *expected);
            *expected += 1;
            Ok(())
        };
        let last_ns = acts.len() as Nanos;
        for (now, act) in acts.into_iter().enumerate() {
            let (client, now) = (subscribers[now % subscribers.len()], now as Nanos);
            match act {
                Act::Publish(flow, size) => prop_assert!(world.publish(now, flow, size)),
                Act::Step => drop(world.engine.step(now)),
                Act::Take => if let Some(taken) = world.take_for(now, client) { check(client, taken)? },
                Act::Guard(topic, guarded) => {
                    world.engine.guard_some(world.topics[topic], guarded, &mut Effort::units(1)).unwrap();
                }
            }
        }
        while world.engine.step(last_ns).is_some() {}
        for client in subscribers {
            while let Some(taken) = world.take_for(last_ns, client) { check(client, taken)? }
        }
        prop_assert_eq!(world.engine.stored(), 0);
        let published: u64 = world.flows.iter().map(|flow| flow.2).sum();
        prop_assert_eq!(world.engine.totals().delivered, 4 * published);
    }

    #[test]
    fn what_was_promised_keeps_its_bound_when_topics_come_under_contract_at_any_instant(
        weights in prop::collection::vec(1u32..30, 5),
        acts in acts(10, 5),
    ) {
        let mut world = World::new("twrr", "fifo", &weights);
        let mut guarded = vec![weights[0]];
        world.engine.guard(world.topics[0], true).unwrap();
        // Guarded quanta so far; when the first message of a backlog came in, by topic.
        let (mut quanta, mut since) = (0, [None; 5]);
        for act in acts {
            match act {
                Act::Publish(flow, _) => for _ in 0..20 {
                    let (topic, before) = (flow / 2, world.engine.waiting_guarded());
                    let is_first = world.waiting(2 * topic) == 0;
                    // One publisher on each topic.
                    world.publish(0, 2 * topic, 1);
                    let is_promised = world.engine.waiting_guarded() > before;
                    if is_first && is_promised { since[topic] = Some(quanta); }
                },
                Act::Guard(topic, _) => if !world.engine.is_guarded(world.topics[topic]) {
                    world.engine.guard(world.topics[topic], true).unwrap();
                    guarded.push(weights[topic]);
                },
                Act::Step | Act::Take => for _ in 0..7 {
                    quanta += u32::from(world.engine.waiting_guarded() > 0);
                    let Some(quantum) = world.engine.step(0) else { break };
                    let topic = world.flows.iter().position(|one| one.0 == quantum.flow).unwrap() / 2;
                    if let Some(start) = since[topic].take() {
                        let bound = first_of_backlog(weights[topic], &guarded);
                        prop_assert!(quanta - start <= bound, "{} quanta, at most {}", quanta - start, bound);
                    }
                },
            }
        }
    }
}

#[test]
fn a_topic_of_which_messages_wait_is_guarded_in_as_many_portions_as_there_are_clients() {
    let mut world = World::new("twrr", "fifo", &[1]);
    (0..640).for_each(|n| drop(world.engine.connect(&format!("{n}"))));
    assert!(world.publish(0, 0, 1) && world.engine.step(0).is_some());
    let portion = || !world.engine.guard_some(world.topics[0], true, &mut Effort::units(64)).unwrap();
    assert_eq!(std::iter::repeat_with(portion).take_while(|&is_left| is_left).count(), 640 / 64);
}
