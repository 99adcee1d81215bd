//! A publisher cannot begin anew: whatever it does to its offer or its connection, what passes is below its envelope.

use giusto_core::engine::{Config, Engine, Offer};
use giusto_core::frame::{Data, DataHeader};
use giusto_core::id::{ClientId, FlowId, Nanos, TopicId};
use giusto_core::input::Share;
use giusto_core::policer::{Burst, Limit};
use proptest::prelude::*;

const fn limit(count: i64, period_ns: Nanos, burst: i64, jitter_ns: Nanos) -> Limit {
    Limit { count, period_ns, burst: Burst::messages(burst), jitter_ns }
}

/// Bursts, rates and jitters that are larger and smaller than each other in all ways.
const LIMITS: [Limit; 6] = [
    limit(1, 100, 5, 0),
    limit(1, 100, 4, 0),
    limit(1, 100, 1, 0),
    limit(3, 100, 1, 0),
    limit(1, 1_000, 9, 0),
    limit(1, 70, 1, 210),
];

/// One name that connects and publishes on one topic, or does not.
struct World {
    engine: Engine,
    topic: TopicId,
    client: Option<ClientId>,
    flow: Option<FlowId>,
    now: Nanos,
}

impl World {
    fn new() -> Self {
        let mut engine = Engine::new(Config::default()).unwrap();
        let topic = engine.declare("t", Share::default()).unwrap();
        Self { engine, topic, client: None, flow: None, now: 0 }
    }

    fn advertise(&mut self, limit: Limit) {
        let client = *self.client.get_or_insert_with(|| self.engine.connect("p").unwrap());
        self.unadvertise();
        let offer = Offer { limit: Some(limit), ..Offer::default() };
        self.flow = Some(self.engine.advertise(client, self.topic, &offer).unwrap());
    }

    fn unadvertise(&mut self) {
        self.flow.take().into_iter().for_each(|flow| self.engine.unadvertise(flow).unwrap());
    }

    fn disconnect(&mut self) {
        self.client.take().into_iter().for_each(|client| self.engine.disconnect(client).unwrap());
        self.flow = None;
    }

    /// The topic is forgotten and comes back.
    fn declare_anew(&mut self) {
        self.disconnect();
        self.engine.forget(self.topic).unwrap();
        self.engine.declare("other", Share::default()).ok();
        self.topic = self.engine.declare("t", Share::default()).unwrap();
    }

    /// Whether the message was let through.
    fn publish(&mut self) -> bool {
        let Some((client, flow)) = self.client.zip(self.flow) else { return false };
        let header = DataHeader { stream: flow.0, t_sent_ns: self.now, ..DataHeader::default() };
        let data = Data { header, attributes: &[], payload: &[] };
        let mut frame = Vec::new();
        data.encode(&mut frame, u32::MAX).unwrap();
        let passed = self.engine.ingest(self.now, client, &frame, &data).is_ok();
        while self.engine.step(self.now).is_some() {}
        passed
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Advertise(usize),
    Unadvertise,
    Disconnect,
    DeclareAnew,
    /// So many messages at once.
    Publish(usize),
    Wait(Nanos),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let one = prop_oneof![
        4 => (0..LIMITS.len()).prop_map(Act::Advertise),
        1 => Just(Act::Unadvertise),
        1 => Just(Act::Disconnect),
        1 => Just(Act::DeclareAnew),
        5 => (1usize..12).prop_map(Act::Publish),
        2 => prop_oneof![0i64..150, 0i64..3_000].prop_map(Act::Wait),
    ];
    prop::collection::vec(one, 0..120)
}

/// Messages times the product of all periods, as `B + ρt` of the largest B and the largest ρ of some limits.
fn envelope(limits: &[Limit], t_ns: Nanos) -> i128 {
    let unit = unit();
    let rate = |limit: &Limit| i128::from(limit.count) * (unit / i128::from(limit.period_ns));
    let burst =
        |limit: &Limit| i128::from(limit.burst.numerator) * unit + i128::from(limit.jitter_ns) * rate(limit);
    let (bursts, rates) = (limits.iter().map(burst).max(), limits.iter().map(rate).max());
    bursts.unwrap_or(0) + rates.unwrap_or(0) * i128::from(t_ns)
}

fn unit() -> i128 {
    LIMITS.iter().map(|limit| i128::from(limit.period_ns)).product()
}

proptest! {
    #[test]
    fn what_passes_in_any_window_is_below_the_largest_of_the_rules_in_it(acts in acts()) {
        let mut world = World::new();
        let mut rule = LIMITS[0];
        // Also those that did not pass: the rule was in force.
        let mut tried: Vec<(Nanos, Limit, bool)> = Vec::new();
        for act in acts {
            match act {
                Act::Advertise(n) => { rule = LIMITS[n]; world.advertise(rule); }
                Act::Unadvertise => world.unadvertise(),
                Act::Disconnect => world.disconnect(),
                Act::DeclareAnew => world.declare_anew(),
                Act::Publish(count) => {
                    tried.extend((0..count).map(|_| (world.now, rule, world.publish())));
                }
                Act::Wait(span_ns) => world.now += span_ns,
            }
        }
        for first in 0..tried.len() {
            let (mut rules, mut count): (Vec<Limit>, i128) = Default::default();
            for &(now, rule, passed) in &tried[first..] {
                if !rules.contains(&rule) { rules.push(rule); }
                count += i128::from(passed);
                let t_ns = now - tried[first].0;
                prop_assert!(count * unit() <= envelope(&rules, t_ns), "{} in {} ns, {:?}", count, t_ns, rules);
            }
        }
    }

    #[test]
    fn who_owes_nothing_begins_with_all_of_its_burst(first in 0..LIMITS.len(), second in 0..LIMITS.len()) {
        let mut world = World::new();
        world.advertise(LIMITS[first]);
        while world.publish() {}
        world.now += 10_000;
        world.advertise(LIMITS[second]);
        let at_once = (0..99).take_while(|_| world.publish()).count() as i128;
        prop_assert_eq!(at_once, envelope(&[LIMITS[second]], 0) / unit());
    }
}

#[test]
fn a_smaller_burst_does_not_have_to_wait_for_what_the_larger_one_has_spent() {
    let mut world = World::new();
    world.advertise(limit(1, 100, 50, 0));
    while world.publish() {}
    world.advertise(limit(1, 100, 1, 0));
    assert!(!world.publish());
    world.now = 100;
    // What is left is handed on in parts of 2^-32 of a message, rounded down: less than a nanosecond.
    assert!(
        world.publish() || {
            world.now += 1;
            world.publish()
        }
    );
}

#[test]
fn a_larger_burst_adds_what_it_is_larger_by() {
    let mut world = World::new();
    world.advertise(limit(1, 100, 1, 0));
    assert!(world.publish());
    world.advertise(limit(1, 100, 50, 0));
    assert_eq!((0..99).take_while(|_| world.publish()).count(), 49);
}

#[test]
fn an_offer_that_was_not_used_changes_nothing() {
    let mut world = World::new();
    world.advertise(limit(1, 100, 5, 0));
    assert_eq!((0..3).filter(|_| world.publish()).count(), 3);
    world.advertise(limit(1, 7, 80, 0));
    world.advertise(limit(1, 100, 5, 0));
    assert_eq!((0..9).filter(|_| world.publish()).count(), 2);
}
