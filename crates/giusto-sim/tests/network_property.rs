//! What holds in every network.

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use giusto_core::input::REGISTRY;
use giusto_core::matching::topic;
use giusto_core::output::{Expiry, Fifo, OutputStage, Overflow};
use giusto_core::policer::Limit;
use giusto_core::record::{Batch, Column, Outcome};
use giusto_sim::network::{
    Broker, Delay, Fault, FaultKind, Link, Medium, MediumKind, OutputPolicy, Processor, Publisher, Records,
    Run, Scenario, Subscriber, Workload,
};
use proptest::prelude::*;
use scene::{at, chain, link, processor, publisher, run, subscriber};

const TOPICS: [&str; 3] = ["a/1", "a/2", "b"];
const PATTERNS: [&str; 5] = ["#", "a/+", "a/1", "b", "a/#"];
const FILTERS: [Option<&str>; 4] = [None, Some("x < 5"), Some("x >= 2 or y < 1"), Some("z = 1")];
const POLICIES: [&str; 4] = ["fifo", "priority", "lrt", "mtep"];

fn workloads() -> impl Strategy<Value = Workload> {
    prop_oneof![
        (200..5000_i64, prop::option::of(0..2000_i64), 0..200_i64).prop_map(
            |(period_ns, phase_ns, jitter_ns)| Workload::Periodic { period_ns, phase_ns, jitter_ns }
        ),
        (500..5000_i64).prop_map(|mean_ns| Workload::Poisson { mean_ns }),
        (0..500_i64, 500..3000_i64).prop_map(|(low_ns, high_ns)| Workload::Uniform { low_ns, high_ns }),
        (1..10_u32, 500..3000_i64).prop_map(|(burst, period_ns)| Workload::Greedy {
            burst,
            count: 1,
            period_ns
        }),
        prop::collection::vec(0..10_000_i64, 0..10).prop_map(|mut at_ns| {
            at_ns.sort_unstable();
            Workload::Trace { at_ns }
        }),
    ]
}

fn delays() -> impl Strategy<Value = Delay> {
    prop_oneof![
        (0..2000_i64).prop_map(|delay_ns| Delay::Constant { delay_ns }),
        (0.0..20_000.0, 0.0..5_000.0).prop_map(|(mean_ns_per_kb, deviation_ns_per_kb)| Delay::Normal {
            mean_ns_per_kb,
            deviation_ns_per_kb
        }),
        (100_000_000..10_000_000_000_u64).prop_map(|bits_per_s| Delay::Bandwidth {
            bits_per_s,
            overhead_bytes: 8,
            least_bytes: 64
        }),
    ]
}

prop_compose! {
    fn links(brokers: u32)(
        source in 0..brokers, step in 1..brokers, delay in delays(), policy in 0..4_usize, expiry in 0..4_usize,
        capacity in prop_oneof![Just(1 << 20), 1..6_usize], overflow in 0..2_usize,
    ) -> Link {
        Link {
            delay,
            policy: POLICIES[policy].into(),
            expiry: [None, Some(Expiry::None), Some(Expiry::Dead), Some(Expiry::Eps)][expiry],
            capacity,
            overflow: [Overflow::DropOldest, Overflow::DropNew][overflow],
            ..link(source, (source + step) % brokers, 0)
        }
    }
}

prop_compose! {
    fn publishers(brokers: u32)(
        broker in 0..brokers, topic in 0..3_u32, workload in workloads(), size in 1..2000_u32, priority in 0..8_u8,
        timeout_ns in prop_oneof![Just(0), 500..20_000_i64], limited in prop::option::of(200..2000_i64),
        delay_ns in 0..100_i64,
    ) -> Publisher {
        Publisher {
            topic,
            size_bytes: (size / 2, size),
            priority: (0, priority),
            timeout_ns,
            delay_ns,
            limit: limited.map(Limit::min_sep),
            attributes: vec![at("x", 0.0, 10.0), at("y", 0.0, 2.0)],
            ..publisher("", broker, workload)
        }
    }
}

prop_compose! {
    fn subscribers(brokers: u32)(
        broker in 0..brokers, pattern in 0..5_usize, filter in 0..4_usize,
        deadline_ns in prop::option::of(100..20_000_i64), price in 0..4_u8, delay_ns in 0..100_i64,
    ) -> Subscriber {
        Subscriber {
            pattern: PATTERNS[pattern].into(),
            filter: FILTERS[filter].map(|filter| filter.parse().unwrap()),
            deadline_ns,
            price: price.into(),
            penalty: f64::from(price) / 10.0,
            delay_ns,
            ..subscriber("", broker)
        }
    }
}

/// Brokers in a ring, so that everyone is reached, with more links across.
fn scenarios() -> impl Strategy<Value = Scenario> {
    (2..7_u32).prop_flat_map(|brokers| {
        let publishers = prop::collection::vec(publishers(brokers), 1..5);
        let subscribers = prop::collection::vec(subscribers(brokers), 1..12);
        let links = prop::collection::vec(links(brokers), brokers as usize..15);
        let processing = (0..100_i64, prop::option::weighted(0.3, 0..REGISTRY.len()));
        let processing = prop::collection::vec(processing, brokers as usize);
        (Just(brokers), any::<u64>(), links, publishers, subscribers, processing).prop_map(assemble)
    })
}

type Parts = (u32, u64, Vec<Link>, Vec<Publisher>, Vec<Subscriber>, Vec<(i64, Option<usize>)>);

fn assemble((brokers, seed, mut links, mut publishers, mut subscribers, processing): Parts) -> Scenario {
    for (n, link) in links.iter_mut().enumerate().take(brokers as usize) {
        (link.source, link.target) = (n as u32, (n as u32 + 1) % brokers);
    }
    for (n, publisher) in publishers.iter_mut().enumerate() {
        publisher.name = format!("p{n}");
    }
    for (n, subscriber) in subscribers.iter_mut().enumerate() {
        subscriber.name = format!("s{n}");
    }
    let topics = TOPICS.map(scene::topic).to_vec();
    let mut scenario = Scenario { seed, links, publishers, subscribers, topics, ..chain(brokers, 0) };
    for (broker, (processing_ns, input)) in scenario.brokers.iter_mut().zip(processing) {
        broker.processing_ns = processing_ns;
        broker.processor = input.map(|input| Processor { capacity: 5, ..processor(REGISTRY[input].name) });
    }
    scenario
}

/// Publisher, number, subscriber (none for a hop), received, outcome of each record.
type Row = (String, i64, Option<String>, Option<i64>, u8);

fn rows(batch: &Batch) -> Vec<Row> {
    let column =
        |name: &str| batch.columns.iter().find(|(known, _)| *known == name).map(|(_, column)| column);
    let name = |column: Option<&Column>, row: usize| match column {
        Some(Column::Name { keys, names }) => keys.value(row).map(|key| names[key as usize].to_string()),
        _ => None,
    };
    let row = |row: usize| {
        let Some(Column::Int64(sequence)) = column("sequence") else { panic!("no sequence") };
        let Some(Column::OptionalInt64(received)) = column("t_received_ns") else { panic!("no instant") };
        let Some(Column::Outcome(outcome)) = column("outcome") else { panic!("no outcome") };
        let publisher = name(column("publisher"), row).unwrap_or_default();
        (publisher, sequence[row], name(column("subscriber"), row), received.value(row), outcome[row])
    };
    (0..batch.rows).map(row).collect()
}

fn all_rows(run: &Run) -> Vec<Row> {
    run.batches.iter().flat_map(rows).collect()
}

/// The links of the only shortest path from one broker to another, found by trying all.
fn path(scenario: &Scenario, from: u32, to: u32) -> Vec<usize> {
    fn best(scenario: &Scenario, at: u32, to: u32, seen: &mut Vec<u32>) -> Option<(i64, Vec<usize>)> {
        if at == to {
            return Some((0, Vec::new()));
        }
        seen.push(at);
        let mut found: Option<(i64, Vec<usize>)> = None;
        for (n, link) in scenario.links.iter().enumerate().filter(|(_, link)| link.source == at) {
            let Delay::Constant { delay_ns } = link.delay else { panic!("constant delays only") };
            if seen.contains(&link.target) {
                continue;
            }
            if let Some((cost, mut rest)) = best(scenario, link.target, to, seen) {
                if found.as_ref().is_none_or(|(least, _)| cost + delay_ns < *least) {
                    rest.push(n);
                    found = Some((cost + delay_ns, rest));
                }
            }
        }
        seen.pop();
        found
    }
    best(scenario, from, to, &mut Vec::new()).map(|(_, links)| links).unwrap_or_default()
}

prop_compose! {
    /// Scenarios in which links and brokers fail for a while, and links share media.
    fn failing()(scenario in scenarios())(
        media in prop::collection::vec(0..6_u32, 15), slot_ns in 1..50_i64, attempts in 2..17_u32,
        faults in prop::collection::vec((0..4_u8, 0..100_u32, 0..9000_i64, 1..3000_i64), 0..5),
        scenario in Just(scenario),
    ) -> Scenario {
        let fault = |(kind, at, from_ns, length_ns): (u8, u32, i64, i64)| {
            let link = at % scenario.links.len() as u32;
            let kind = match kind {
                0 => FaultKind::LinkDown { link },
                1 => FaultKind::BrokerDown { broker: at % scenario.brokers.len() as u32 },
                2 => FaultKind::Spike { link, factor: 2.5, extra_ns: 30 },
                _ => FaultKind::Loss { link, probability: 0.5 },
            };
            Fault { kind, window: (from_ns, from_ns + length_ns) }
        };
        let kinds = [MediumKind::Can, MediumKind::Switched, MediumKind::Ethernet { slot_ns, gap_ns: 5, attempts }];
        let named = |(n, kind): (usize, MediumKind)| Medium { name: format!("m{n}"), kind };
        let faults = faults.into_iter().map(fault).collect();
        let mut scenario = Scenario { faults, ..scenario.clone() };
        scenario.media = kinds.into_iter().enumerate().map(named).collect();
        for (link, medium) in scenario.links.iter_mut().zip(media) {
            link.medium = (medium < 3).then_some(medium);
        }
        scenario
    }
}

proptest! {
    #[test]
    fn every_delivery_that_should_be_has_exactly_one_outcome(scenario in failing()) {
        let run = run(&scenario);
        for total in &run.totals {
            let ended: u64 = Outcome::ALL.into_iter().map(|outcome| total.count(outcome)).sum();
            prop_assert_eq!(total.ideal, ended);
        }
        prop_assert_eq!(run.counters.unfinished, 0);
        let rows = all_rows(&run);
        prop_assert_eq!(rows.len() as u64, run.counters.ideal + run.counters.policed);
        let distinct: BTreeSet<_> = rows.iter().map(|row| (&row.0, row.1, &row.2)).collect();
        prop_assert_eq!(distinct.len(), rows.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_records(mut scenario in failing()) {
        scenario.records = Records::Hops;
        let (one, two) = (run(&scenario), run(&scenario));
        prop_assert_eq!(format!("{:?}", one.batches), format!("{:?}", two.batches));
        prop_assert_eq!(one.counters, two.counters);
        prop_assert_eq!(one.links, two.links);
    }

    #[test]
    fn what_is_added_elsewhere_changes_nothing_here(mut scenario in scenarios()) {
        let everything = scenario.subscribers.iter_mut().filter(|subscriber| subscriber.pattern == "#");
        everything.for_each(|subscriber| subscriber.pattern = "a/#".into());
        let mut larger = scenario.clone();
        let place = larger.brokers.len() as u32;
        let broker = |name: &str| Broker { name: name.into(), processing_ns: 3, processor: None };
        larger.brokers.extend(["elsewhere 1", "elsewhere 2"].map(broker));
        larger.topics.push(scene::topic("elsewhere"));
        let delay = Delay::Normal { mean_ns_per_kb: 1e4, deviation_ns_per_kb: 1e4 };
        larger.links.insert(0, Link { delay, ..link(place, place + 1, 0) });
        let workload = Workload::Poisson { mean_ns: 500 };
        larger.publishers.insert(0, Publisher { topic: 3, ..publisher("elsewhere", place, workload) });
        let pattern = "elsewhere".into();
        larger.subscribers.push(Subscriber { pattern, ..subscriber("elsewhere", place + 1) });
        let after = all_rows(&run(&larger)).into_iter().filter(|row| row.0 != "elsewhere");
        prop_assert_eq!(all_rows(&run(&scenario)), after.collect::<Vec<_>>());
    }

    #[test]
    fn first_come_first_served_keeps_the_order_of_each_publisher(mut scenario in scenarios()) {
        scenario.brokers.iter_mut().for_each(|broker| broker.processor = None);
        for link in &mut scenario.links {
            (link.policy, link.expiry, link.capacity) = ("fifo".into(), Some(Expiry::None), 1 << 20);
        }
        let mut last: BTreeMap<(String, Option<String>), (i64, i64)> = BTreeMap::new();
        for (publisher, sequence, subscriber, received_ns, _) in all_rows(&run(&scenario)) {
            let Some(received_ns) = received_ns else { continue };
            if let Some(before) = last.insert((publisher, subscriber), (sequence, received_ns)) {
                prop_assert!(before.0 < sequence && before.1 <= received_ns);
            }
        }
    }

    #[test]
    fn a_network_with_mtep_does_what_its_pseudocode_would(mut scenario in failing()) {
        scenario.links.iter_mut().for_each(|link| link.policy = "mtep".into());
        let fast = run(&scenario);
        scenario.links.iter_mut().for_each(|link| link.policy = "mtep-reference".into());
        // What expires at one instant may be found in another order.
        let sorted = |run: &Run| {
            let mut rows = all_rows(run);
            rows.sort_unstable();
            rows
        };
        prop_assert_eq!(sorted(&fast), sorted(&run(&scenario)));
    }

    #[test]
    fn the_latest_deadline_tells_a_plain_queue_as_much_as_all_terms(mut scenario in failing()) {
        scenario.links.iter_mut().for_each(|link| link.policy = "fifo".into());
        let told_least = run(&scenario);
        let fifo = || -> Box<dyn OutputStage> { Box::new(Fifo::default()) };
        let made = OutputPolicy::Made(Arc::new(fifo));
        scenario.links.iter_mut().for_each(|link| link.policy = made.clone());
        prop_assert_eq!(all_rows(&told_least), all_rows(&run(&scenario)));
    }

    #[test]
    fn a_copy_crosses_exactly_the_links_of_the_paths_to_those_it_is_for(mut scenario in scenarios()) {
        scenario.brokers.iter_mut().for_each(|broker| broker.processor = None);
        // Powers of two: no two paths take the same time.
        for (n, link) in scenario.links.iter_mut().enumerate() {
            (link.delay, link.policy) = (Delay::Constant { delay_ns: 1 << n }, "fifo".into());
            (link.expiry, link.capacity) = (Some(Expiry::None), 1 << 20);
        }
        scenario.subscribers.iter_mut().for_each(|subscriber| subscriber.filter = None);
        scenario.publishers.iter_mut().for_each(|publisher| publisher.limit = None);
        let run = run(&scenario);
        let mut published: BTreeMap<String, u64> = BTreeMap::new();
        for row in all_rows(&run) {
            let count = published.entry(row.0).or_default();
            *count = (*count).max(row.1 as u64 + 1);
        }
        let mut expected = vec![0; scenario.links.len()];
        for publisher in &scenario.publishers {
            let name = TOPICS[publisher.topic as usize];
            let matched = scenario.subscribers.iter().filter(|s| topic::matches(&s.pattern, name));
            let used: BTreeSet<usize> =
                matched.flat_map(|subscriber| path(&scenario, publisher.broker, subscriber.broker)).collect();
            for link in used {
                expected[link] += published.get(&publisher.name).copied().unwrap_or(0);
            }
        }
        prop_assert_eq!(run.links.iter().map(|link| link.sent).collect::<Vec<_>>(), expected);
    }
}
