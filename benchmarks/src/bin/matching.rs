//! Matching through the index against a compiled scan over all filters, in the same run.
//!
//! Workloads: `stock` (equality and a one-sided range, 1,000 symbols), `prefix` (beginnings of
//! names), `range` (narrow intervals of a price), `mixed` (an equality that all share and a narrow
//! interval), `paper` (S1 section 3: four attributes below a threshold each, so that 6.25 % of the
//! subscriptions match every event: not selective, reported as it is).

use std::collections::BTreeMap;
use std::hint::black_box;

use giusto_benchmarks::{Random, median, report, require_release, time_ns};
use giusto_core::frame::attributes::{Attributes, Value, encode};
use giusto_core::id::{SubscriptionId, TopicId};
use giusto_core::matching::{Filter, Matcher, Scan};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
const ROUNDS: usize = 7;
const TOPIC: TopicId = TopicId(0);

type Event = Vec<(&'static str, Value)>;

struct Workload {
    name: &'static str,
    filter: fn(&mut Random) -> String,
    event: fn(&mut Random) -> Event,
}

const WORKLOADS: [Workload; 5] = [
    Workload { name: "stock", filter: stock_filter, event: stock_event },
    Workload {
        name: "prefix",
        filter: |random| format!(r#"symbol prefix "{}""#, word(random, 3)),
        event: |random| {
            vec![("symbol", Value::String(word(random, 8))), ("change", Value::Double(random.unit()))]
        },
    },
    Workload {
        name: "range",
        filter: narrow_interval,
        event: |random| vec![("price", Value::Double(1000.0 * random.unit())), ("volume", Value::Int(5))],
    },
    Workload {
        name: "mixed",
        filter: |random| format!(r#"kind = "trade" and {}"#, narrow_interval(random)),
        event: |random| {
            vec![("kind", Value::String("trade".into())), ("price", Value::Double(1000.0 * random.unit()))]
        },
    },
    Workload {
        name: "paper",
        filter: |random| PAPER.map(|name| format!("{name} < {:.4}", 10.0 * random.unit())).join(" and "),
        event: |random| PAPER.map(|name| (name, Value::Double(10.0 * random.unit()))).to_vec(),
    },
];

const PAPER: [&str; 4] = ["a1", "a2", "a3", "a4"];

fn stock_filter(random: &mut Random) -> String {
    format!(r#"symbol = "S{:04}" and change > {:.3}"#, random.below(1000), 5.0 * random.unit())
}

fn stock_event(random: &mut Random) -> Event {
    vec![
        ("symbol", Value::String(format!("S{:04}", random.below(1000)))),
        ("change", Value::Double(5.0 * random.unit())),
        ("price", Value::Double(100.0 * random.unit())),
        ("volume", Value::Int(random.below(10_000) as i64)),
    ]
}

fn narrow_interval(random: &mut Random) -> String {
    let low = 1000.0 * random.unit();
    format!("price >= {low:.4} and price < {:.4}", low + 0.1 * random.unit())
}

fn word(random: &mut Random, letters: usize) -> String {
    (0..letters).map(|_| char::from(b'A' + random.below(26) as u8)).collect()
}

fn block(values: Event) -> Vec<u8> {
    let named: BTreeMap<String, Value> =
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut out = Vec::new();
    encode(&named, &mut out).expect("generated values are valid");
    out
}

fn parse(text: String) -> Filter {
    text.parse().expect("generated filters parse")
}

/// Nanoseconds per event, decoding included, and how many subscriptions were found in total.
fn per_event(events: &[Vec<u8>], mut matching: impl FnMut(Attributes<'_>) -> usize) -> (f64, usize) {
    let mut total = 0;
    let ns = time_ns(|| {
        for event in events {
            total += matching(Attributes::decode(black_box(event)).expect("encoded above"));
        }
    });
    (ns / events.len() as f64, total)
}

fn measure(workload: &Workload, size: usize) {
    let say = |what: &str, value: f64, unit: &str| {
        report("matching", &format!("{}, {size} subscriptions | {what}", workload.name), value, unit);
    };
    let mut random = Random::new(7);
    let filters: Vec<Filter> = (0..size).map(|_| parse((workload.filter)(&mut random))).collect();
    let events: Vec<Vec<u8>> = (0..2_000).map(|_| block((workload.event)(&mut random))).collect();
    // What is slow gets no more work than it needs.
    let few = &events[..(4_000_000 / size).clamp(40, events.len())];
    let many = if workload.name == "paper" { few } else { &events };

    let (mut matcher, mut scan, mut found) = (Matcher::new(), Scan::new(), Vec::new());
    matcher.add_topic(TOPIC, "stock").expect("a new topic");
    let subscribe_ns = time_ns(|| {
        for (i, filter) in filters.iter().enumerate() {
            matcher.subscribe(SubscriptionId(i as u32), "stock", Some(filter)).expect("a new subscription");
        }
    });
    for (i, filter) in filters.iter().enumerate() {
        scan.subscribe(SubscriptionId(i as u32), filter);
    }
    let mut with_index = |attributes: Attributes<'_>| {
        matcher.matching(TOPIC, attributes, &mut found).expect("a known topic");
        found.len()
    };
    let mut list = Vec::new();
    let mut with_scan = |attributes: Attributes<'_>| {
        scan.matching(attributes, &mut list);
        list.len()
    };
    assert_eq!(
        per_event(few, &mut with_index).1,
        per_event(few, &mut with_scan).1,
        "index and scan disagree"
    );

    let (mut index_ns, mut scan_ns, mut ratios, mut matched) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        let (index, total) = per_event(many, &mut with_index);
        let (scanned, _) = per_event(few, &mut with_scan);
        matched = total;
        index_ns.push(index);
        scan_ns.push(scanned);
        ratios.push(scanned / index);
    }
    say("memory", matcher.filter_bytes() as f64 / size as f64, "bytes");
    let unsubscribe_ns =
        time_ns(|| (0..size as u32).for_each(|i| matcher.unsubscribe(SubscriptionId(i)).expect("known")));
    say("index", median(&mut index_ns), "ns/event");
    say("scan", median(&mut scan_ns), "ns/event");
    say("scan to index", median(&mut ratios), "ratio");
    say("matched", matched as f64 / many.len() as f64, "subscriptions/event");
    say("subscribe", subscribe_ns / size as f64, "ns");
    say("unsubscribe", unsubscribe_ns / size as f64, "ns");
}

/// Subscriptions without a filter cost nothing but the copy.
fn measure_fanout(size: usize) {
    let mut matcher = Matcher::new();
    matcher.add_topic(TOPIC, "stock").expect("a new topic");
    for i in 0..size as u32 {
        matcher.subscribe(SubscriptionId(i), "stock", None).expect("a new subscription");
    }
    let event = block(stock_event(&mut Random::new(1)));
    let mut found = Vec::new();
    let mut round = || {
        let repeated = vec![event.clone(); 100];
        per_event(&repeated, |attributes| {
            matcher.matching(black_box(TOPIC), attributes, &mut found).expect("a known topic");
            black_box(&found).len()
        })
        .0
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    report(
        "fan-out without a filter",
        &format!("{size} subscriptions of one topic"),
        median(&mut rounds),
        "ns/event",
    );
}

/// Ten thousand topics with one filter each: what the index costs when nothing is shared.
fn measure_spread() {
    let mut matcher = Matcher::new();
    let mut random = Random::new(3);
    for i in 0..10_000u32 {
        let name = format!("market/{i}");
        matcher.add_topic(TopicId(i), &name).expect("a new topic");
        let filter = parse(stock_filter(&mut random));
        matcher.subscribe(SubscriptionId(i), &name, Some(&filter)).expect("a new subscription");
    }
    let bytes = matcher.filter_bytes() as f64 / 10_000.0;
    report(
        "fan-out without a filter",
        "memory of one filter on each of 10000 topics",
        bytes,
        "bytes per filter",
    );
}

fn main() {
    require_release();
    for workload in &WORKLOADS {
        SIZES.iter().for_each(|&size| measure(workload, size));
    }
    SIZES.iter().for_each(|&size| measure_fanout(size));
    measure_spread();
}
