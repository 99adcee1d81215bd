//! Small scenarios that tests change.

use giusto_core::input::Share;
use giusto_core::output::Overflow;
use giusto_sim::network::{
    Attribute, Broker, Delay, Link, Processor, Publisher, Records, Run, Scenario, Subscriber, Topic, Workload,
};

/// `count` brokers in a row with one topic; links take `delay_ns`.
pub(crate) fn chain(count: u32, delay_ns: i64) -> Scenario {
    let broker = |n| Broker { name: format!("b{n}"), processing_ns: 0, processor: None };
    Scenario {
        name: "test".into(),
        seed: 1,
        brokers: (0..count).map(broker).collect(),
        topics: vec![topic("topic")],
        links: (1..count).map(|n| link(n - 1, n, delay_ns)).collect(),
        records: Records::Deliveries,
        record_capacity: 1 << 20,
        ..Scenario::default()
    }
}

/// A topic with a weight of 1 and quanta of 10 ns.
pub(crate) fn topic(name: &str) -> Topic {
    Topic { name: name.into(), share: Share::default(), service_ns: 10 }
}

/// A link with a constant delay, first come first served.
pub(crate) fn link(source: u32, target: u32, delay_ns: i64) -> Link {
    Link {
        source,
        target,
        delay: Delay::Constant { delay_ns },
        estimate: None,
        propagation_ns: 0,
        medium: None,
        policy: "fifo".into(),
        expiry: None,
        epsilon: 0.04,
        weight: 0.4,
        mean_transmission_ns: None,
        capacity: 1 << 20,
        overflow: Overflow::DropOldest,
    }
}

/// A publisher of small messages on the first topic.
pub(crate) fn publisher(name: &str, broker: u32, workload: Workload) -> Publisher {
    Publisher {
        name: name.into(),
        broker,
        topic: 0,
        workload,
        windows: Vec::new(),
        size_bytes: (100, 100),
        priority: (0, 0),
        timeout_ns: 0,
        delay_ns: 0,
        attributes: Vec::new(),
        limit: None,
    }
}

/// A subscriber to everything that asks for nothing.
pub(crate) fn subscriber(name: &str, broker: u32) -> Subscriber {
    Subscriber {
        name: name.into(),
        broker,
        pattern: "#".into(),
        filter: None,
        deadline_ns: None,
        price: 0.0,
        penalty: 0.0,
        delay_ns: 0,
    }
}

#[allow(dead_code, reason = "not every test program has attributes")]
/// An attribute from `low` to below `high`.
pub(crate) fn at(name: &str, low: f64, high: f64) -> Attribute {
    Attribute { name: name.into(), low, high }
}

/// Publishers send for 10 µs, then everything arrives.
pub(crate) fn run(scenario: &Scenario) -> Run {
    scenario.run(10_000, true, &mut || true).unwrap()
}

/// A processor without search time that serves whenever there is work.
#[allow(dead_code, reason = "not every test program has processors")]
pub(crate) fn processor(input: &str) -> Processor {
    Processor { input: input.into(), fragment_bytes: 1000, search_ns: 0, capacity: 1000, pace: None }
}
