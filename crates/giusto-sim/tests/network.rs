//! Networks that are small enough to be worked out by hand.

mod scene;

use giusto_core::output::{Expiry, Overflow, TERMS_MAX};
use giusto_core::policer::Limit;
use giusto_core::record::{Column, Outcome};
use giusto_sim::network::{Delay, Error, Fault, FaultKind, Records, Run, Scenario, Workload};
use scene::{at, chain, link, publisher, run, subscriber, topic};

fn ints(run: &Run, name: &str) -> Vec<Option<i64>> {
    let batch = &run.batches[0];
    let column = batch.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column);
    match column {
        Some(Column::Int64(values)) => values.iter().copied().map(Some).collect(),
        Some(Column::Int32(values)) => values.iter().map(|&value| Some(value.into())).collect(),
        Some(Column::OptionalInt64(values)) => (0..batch.rows).map(|row| values.value(row)).collect(),
        _ => panic!("no column of numbers {name}"),
    }
}

fn names(run: &Run, name: &str) -> Vec<String> {
    let batch = &run.batches[0];
    let column = batch.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column);
    let Some(Column::Name { keys, names }) = column else { panic!("no column of names {name}") };
    let name = |row| keys.value(row).map_or("", |key| &names[key as usize]).to_owned();
    (0..batch.rows).map(name).collect()
}

fn some(values: &[i64]) -> Vec<Option<i64>> {
    values.iter().copied().map(Some).collect()
}

#[test]
fn a_message_takes_the_time_of_every_piece_on_its_way() {
    let mut scenario = chain(3, 100);
    scenario.brokers.iter_mut().for_each(|broker| broker.processing_ns = 10);
    scenario.links.iter_mut().for_each(|link| link.propagation_ns = 5);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![1000] }));
    scenario.publishers[0].delay_ns = 7;
    scenario.subscribers.push(subscriber("s", 2));
    scenario.subscribers[0].delay_ns = 3;
    let run = run(&scenario);
    // Access 7, then three brokers of 10 with two links of 100 + 5 between them, then access 3.
    assert_eq!(run.totals[0].delay_max_ns, 7 + 3 * 10 + 2 * 105 + 3);
    assert_eq!(ints(&run, "t_ingress_ns"), some(&[1000 + 7 + 2 * 10 + 2 * 105]));
    assert_eq!(ints(&run, "t_received_ns"), some(&[1000 + 250]));
    assert_eq!(ints(&run, "hop"), some(&[2]));
}

#[test]
fn a_link_carries_one_message_at_a_time() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0, 50, 300] }));
    scenario.subscribers.push(subscriber("s", 1));
    let run = run(&scenario);
    assert_eq!(ints(&run, "t_received_ns"), some(&[100, 200, 300, 400]));
    assert_eq!((run.links[0].sent, run.links[0].busy_ns, run.links[0].waiting_max), (4, 400, 2));
}

#[test]
fn what_arrives_at_one_instant_is_there_when_the_link_chooses() {
    let mut scenario = chain(2, 100);
    scenario.links[0].policy = "priority".into();
    for (name, priority) in [("calm", 1), ("urgent", 7)] {
        scenario.publishers.push(publisher(name, 0, Workload::Trace { at_ns: vec![0] }));
        scenario.publishers.last_mut().unwrap().priority = (priority, priority);
    }
    scenario.subscribers.push(subscriber("s", 1));
    scenario.records = Records::Deliveries;
    let run = run(&scenario);
    let Some((_, Column::Int8(priorities))) =
        run.batches[0].columns.iter().find(|(name, _)| *name == "priority")
    else {
        panic!("no priorities")
    };
    assert_eq!(priorities, &[7, 1]);
}

#[test]
fn a_message_after_its_deadline_is_late_and_pays_the_penalty() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0, 0] }));
    scenario.subscribers.push(subscriber("s", 1));
    let subscriber = &mut scenario.subscribers[0];
    (subscriber.deadline_ns, subscriber.price, subscriber.penalty) = (Some(200), 3.0, 0.5);
    scenario.links[0].expiry = Some(Expiry::None);
    let run = run(&scenario);
    assert_eq!((run.counters.delivered, run.counters.late), (2, 1));
    assert_eq!((run.earning.total, run.earning.ideal), (2.0 * 3.0 - 0.5, 9.0));
}

#[test]
fn the_dead_are_dropped_where_they_wait() {
    let mut scenario = chain(3, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0, 0, 0] }));
    scenario.subscribers.push(subscriber("s", 2));
    scenario.subscribers[0].deadline_ns = Some(250);
    let run = run(&scenario);
    // They leave the first broker at 0, 100, 200 and 300; the second is late, the third dead at 300.
    let Counts { delivered, late, expired } = counts(&run);
    assert_eq!((delivered, late, expired), (1, 1, 2));
    assert_eq!(run.links[0].expired + run.links[1].expired, 2);
}

struct Counts {
    delivered: u64,
    late: u64,
    expired: u64,
}

fn counts(run: &Run) -> Counts {
    Counts { delivered: run.counters.delivered, late: run.counters.late, expired: run.counters.expired }
}

#[test]
fn the_timeout_of_the_publisher_counts_as_a_deadline() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    scenario.publishers[0].timeout_ns = 99;
    scenario.subscribers.push(subscriber("s", 1));
    assert_eq!(run(&scenario).counters.late, 1);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher(
        "p",
        0,
        Workload::Greedy { burst: 5, count: 1, period_ns: 1_000_000 },
    ));
    scenario.subscribers.push(subscriber("s", 1));
    (scenario.links[0].capacity, scenario.links[0].overflow) = (2, Overflow::DropNew);
    let run = run(&scenario);
    assert_eq!((run.counters.delivered, run.counters.overflow), (2, 3));
    assert_eq!(run.links[0].overflow, 3);
}

#[test]
fn a_message_that_breaks_its_offer_is_policed_before_it_is_matched() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 10, 1000] }));
    scenario.publishers[0].limit = Some(Limit::min_sep(500));
    scenario.subscribers.push(subscriber("s", 1));
    let run = run(&scenario);
    let counters = run.counters;
    assert_eq!((counters.published, counters.policed, counters.ideal, counters.delivered), (3, 1, 2, 2));
    assert_eq!(run.batches[0].rows, 3);
}

#[test]
fn one_copy_crosses_a_link_however_many_subscriptions_lie_behind_it() {
    let mut scenario = chain(3, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    for (n, broker) in [2, 1, 2, 0, 2].into_iter().enumerate() {
        scenario.subscribers.push(subscriber(&format!("s{n}"), broker));
    }
    scenario.records = Records::Hops;
    let run = run(&scenario);
    assert_eq!((run.counters.hops, run.counters.delivered), (2, 5));
    assert_eq!(run.batches[0].rows, 2 + 5);
    let delays: Vec<i64> = run.totals.iter().map(|total| total.delay_max_ns).collect();
    assert_eq!(delays, [200, 100, 200, 0, 200]);
}

#[test]
fn a_hop_record_names_its_link_and_when_it_was_crossed() {
    let mut scenario = Scenario { links: vec![link(0, 1, 10), link(0, 2, 10)], ..chain(3, 10) };
    scenario.links.iter_mut().for_each(|link| link.propagation_ns = 5);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0] }));
    scenario.subscribers = vec![subscriber("s1", 1), subscriber("s2", 2)];
    scenario.records = Records::Hops;
    let run = run(&scenario);
    let names = names(&run, "node");
    // Both links begin at 0 and again at 10, and each message arrives 15 later.
    assert_eq!(names[..2], ["b0->b1", "b0->b2"]);
    assert_eq!(names.iter().filter(|name| *name == "b0->b2").count(), 2);
    let (egress, received) = (ints(&run, "t_egress_ns"), ints(&run, "t_received_ns"));
    let hops: Vec<_> = (0..names.len()).filter(|&row| names[row].contains("->")).collect();
    let crossed: Vec<_> = hops.iter().map(|&row| (egress[row], received[row])).collect();
    assert_eq!(crossed, [(0, 15), (0, 15), (10, 25), (10, 25)].map(|(from, to)| (Some(from), Some(to))));
}

#[test]
fn what_never_crosses_a_link_has_no_hop_record() {
    let mut scenario = chain(2, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0, 500] }));
    scenario.subscribers = vec![subscriber("s", 1), subscriber("t", 1)];
    scenario.links[0].capacity = 1;
    scenario.records = Records::Hops;
    scenario.faults.push(Fault { kind: FaultKind::BrokerDown { broker: 0 }, window: (500, 501) });
    let run = run(&scenario);
    assert_eq!((run.counters.delivered, run.counters.overflow, run.counters.lost), (2, 2, 2));
    assert_eq!(names(&run, "node").iter().filter(|name| *name == "b0->b1").count(), 1);
    assert_eq!(run.batches[0].rows as u64, run.counters.ideal + 1);
}

#[test]
fn what_is_ready_at_the_last_instant_begins_at_it() {
    let mut scenario = chain(3, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    scenario.subscribers.push(subscriber("s", 2));
    // Something is still to come, and so the run does not end for want of events.
    scenario.faults.push(Fault { kind: FaultKind::BrokerDown { broker: 0 }, window: (400, 401) });
    let cut = scenario.run(100, false, &mut || true).unwrap();
    assert_eq!(cut.links.iter().map(|link| link.sent).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((cut.ended_ns, cut.counters.unfinished), (100, 1));
}

#[test]
fn a_publisher_that_is_long_away_does_not_keep_a_run_from_being_stopped() {
    let mut scenario = chain(1, 0);
    scenario.publishers.push(publisher("p", 0, Workload::Uniform { low_ns: 1, high_ns: 1 }));
    scenario.publishers[0].windows = vec![(0, 5), (1 << 60, (1 << 60) + 5)];
    scenario.subscribers.push(subscriber("s", 0));
    assert_eq!(scenario.run((1 << 60) + 9, true, &mut || false).unwrap_err(), Error::Interrupted);
}

#[test]
fn a_run_in_which_nothing_happens_ends_where_it_began() {
    assert_eq!(run(&chain(2, 100)).ended_ns, 0);
}

#[test]
fn a_least_frame_counts_once_for_what_can_still_be_in_time() {
    let mut scenario = chain(3, 0);
    for link in &mut scenario.links {
        // A frame of 1000 bytes takes 1000 ns, and a message of 900 bytes as long.
        link.delay = Delay::Bandwidth { bits_per_s: 8_000_000_000, overhead_bytes: 100, least_bytes: 1000 };
        (link.policy, link.expiry) = ("mtep".into(), Some(Expiry::Eps));
    }
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    scenario.publishers[0].size_bytes = (900, 900);
    scenario.subscribers.push(subscriber("s", 2));
    (scenario.subscribers[0].deadline_ns, scenario.subscribers[0].price) = (Some(2100), 1.0);
    assert_eq!(run(&scenario).counters.delivered, 1);
}

#[test]
fn filters_choose_and_copies_go_only_where_someone_wants_them() {
    let mut scenario = Scenario { links: vec![link(0, 1, 10), link(0, 2, 10)], ..chain(3, 10) };
    scenario.publishers.push(publisher(
        "p",
        0,
        Workload::Greedy { burst: 1000, count: 1, period_ns: 1_000_000 },
    ));
    scenario.publishers[0].attributes = vec![at("x", 0.0, 10.0)];
    for (n, filter) in ["x < 5", "x >= 5"].into_iter().enumerate() {
        let mut subscriber = subscriber(&format!("s{n}"), n as u32 + 1);
        subscriber.filter = Some(filter.parse().unwrap());
        scenario.subscribers.push(subscriber);
    }
    let run = run(&scenario);
    let [low, high] = [run.totals[0].ideal, run.totals[1].ideal];
    assert_eq!(low + high, 1000);
    assert!((350..650).contains(&low), "half of 1000 uniform draws are below the middle: {low}");
    assert_eq!([run.links[0].sent, run.links[1].sent], [low, high]);
}

#[test]
fn the_fastest_path_is_taken_and_of_equal_ones_the_one_with_the_smallest_number() {
    let paths = |slow: i64| {
        // 0 to 3 over 1 or 2.
        let links = vec![link(0, 2, 10), link(2, 3, 10), link(0, 1, slow), link(1, 3, 10)];
        let mut scenario = Scenario { links, ..chain(4, 10) };
        scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
        scenario.subscribers.push(subscriber("s", 3));
        let run = run(&scenario);
        run.links.iter().map(|link| link.sent).collect::<Vec<_>>()
    };
    assert_eq!(paths(11), [1, 1, 0, 0]);
    assert_eq!(paths(10), [0, 0, 1, 1]);
}

#[test]
fn what_is_under_way_at_the_end_is_unfinished_unless_it_drains() {
    let mut scenario = chain(2, 1000);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 0, 0] }));
    scenario.subscribers.push(subscriber("s", 1));
    let cut = scenario.run(1500, false, &mut || true).unwrap();
    assert_eq!((cut.counters.delivered, cut.counters.unfinished), (1, 2));
    let drained = scenario.run(1500, true, &mut || true).unwrap();
    assert_eq!((drained.counters.delivered, drained.counters.unfinished, drained.ended_ns), (3, 0, 3000));
}

#[test]
fn what_is_wrong_is_named_with_its_path() {
    let good = || {
        let mut scenario = chain(2, 100);
        scenario.links[0].delay = Delay::Normal { mean_ns_per_kb: 5.0, deviation_ns_per_kb: 1.0 };
        scenario.publishers.push(publisher("p", 0, Workload::Poisson { mean_ns: 10 }));
        scenario.subscribers.push(subscriber("s", 1));
        scenario
    };
    assert_eq!(good().validate(100), Ok(()));
    type Harm = fn(&mut Scenario);
    let harms: [(&str, Harm); 12] = [
        ("links[0].target", |scenario| scenario.links[0].target = 9),
        ("links[0].target", |scenario| scenario.links[0].target = 0),
        ("links[0].policy", |scenario| scenario.links[0].policy = "best".into()),
        ("links[0].epsilon", |scenario| scenario.links[0].epsilon = 2.0),
        ("links[0].mean_ns_per_kb", |scenario| {
            scenario.links[0].delay = Delay::Normal { mean_ns_per_kb: -1.0, deviation_ns_per_kb: 0.0 };
        }),
        ("publishers[0].topic", |scenario| scenario.publishers[0].topic = 1),
        ("publishers[0].mean_ns", |scenario| {
            scenario.publishers[0].workload = Workload::Poisson { mean_ns: 0 };
        }),
        ("publishers[0].windows[1]", |scenario| scenario.publishers[0].windows = vec![(0, 9), (5, 7)]),
        ("subscribers[0].broker", |scenario| scenario.subscribers[0].broker = 2),
        ("subscribers[0].price", |scenario| scenario.subscribers[0].price = f64::NAN),
        ("subscribers[0].broker", |scenario| scenario.links.clear()),
        ("brokers[1].name", |scenario| scenario.brokers[1].name = scenario.brokers[0].name.clone()),
    ];
    for (path, harm) in harms {
        let mut scenario = good();
        harm(&mut scenario);
        assert_eq!(scenario.validate(100).map_err(|fault| fault.field), Err(path.to_owned()));
    }
}

#[test]
fn a_subscriber_that_nobody_can_send_to_may_be_anywhere() {
    let mut scenario = chain(2, 100);
    scenario.links.clear();
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    scenario.subscribers.push(subscriber("s", 1));
    scenario.subscribers[0].pattern = "another/#".into();
    assert_eq!(run(&scenario).counters.ideal, 0);
}

#[test]
fn records_beyond_the_capacity_are_counted() {
    let mut scenario = chain(2, 1);
    scenario.publishers.push(publisher(
        "p",
        0,
        Workload::Greedy { burst: 10, count: 1, period_ns: 1_000_000 },
    ));
    scenario.subscribers.push(subscriber("s", 1));
    scenario.record_capacity = 4;
    let run = run(&scenario);
    assert_eq!((run.batches[0].rows, run.counters.records_dropped, run.counters.delivered), (4, 6, 10));
    assert_eq!(run.totals[0].count(Outcome::Delivered), 10);
}

#[test]
fn mtep_sends_what_pays_more_when_only_one_can_be_saved() {
    let mut scenario = chain(2, 0);
    scenario.links[0].delay = Delay::Normal { mean_ns_per_kb: 100.0, deviation_ns_per_kb: 1.0 };
    scenario.links[0].policy = "mtep".into();
    scenario.topics.push(topic("other"));
    for (number, price) in [(0, 1.0), (1, 5.0)] {
        let mut publisher = publisher(&format!("p{number}"), 0, Workload::Trace { at_ns: vec![0] });
        (publisher.topic, publisher.size_bytes) = (number, (1024, 1024));
        scenario.publishers.push(publisher);
        let mut subscriber = subscriber(&format!("s{number}"), 1);
        subscriber.pattern = scenario.topics[number as usize].name.clone();
        (subscriber.price, subscriber.deadline_ns) = (price, Some(150));
        scenario.subscribers.push(subscriber);
    }
    let run = run(&scenario);
    let valid: Vec<u64> = run.totals.iter().map(|total| total.count(Outcome::Delivered)).collect();
    assert_eq!((valid, run.counters.expired), (vec![0, 1], 1));
}

#[test]
fn a_seed_gives_the_same_instants_on_every_machine() {
    let mut scenario = chain(3, 0);
    for link in &mut scenario.links {
        link.delay = Delay::Normal { mean_ns_per_kb: 600.0, deviation_ns_per_kb: 200.0 };
        link.policy = "mtep".into();
    }
    scenario.publishers.push(publisher("p", 0, Workload::Poisson { mean_ns: 1000 }));
    scenario.publishers.push(publisher("q", 1, Workload::Uniform { low_ns: 0, high_ns: 2000 }));
    for publisher in &mut scenario.publishers {
        (publisher.size_bytes, publisher.attributes) = ((500, 2000), vec![at("x", 0.0, 1.0)]);
    }
    scenario.subscribers.push(subscriber("s", 2));
    scenario.subscribers[0].filter = Some("x < 0.7".parse().unwrap());
    (scenario.subscribers[0].deadline_ns, scenario.subscribers[0].price) = (Some(5000), 1.0);
    let instants: Vec<i64> = ints(&run(&scenario), "t_received_ns").into_iter().flatten().collect();
    assert_eq!(instants, GOLDEN);
}

/// What the scenario above gave when it was written; it changes only if the meaning of a seed does.
const GOLDEN: [i64; 6] = [1381, 2296, 7374, 8034, 9012, 9592];

#[test]
fn a_run_that_is_to_stop_stops() {
    let mut scenario = chain(2, 1);
    scenario.publishers.push(publisher("p", 0, Workload::Greedy { burst: 1, count: 1, period_ns: 1 }));
    scenario.subscribers.push(subscriber("s", 1));
    let mut asked = 0;
    let run = scenario.run(1_000_000_000, true, &mut || {
        asked += 1;
        asked < 3
    });
    assert_eq!((run.err(), asked), (Some(Error::Interrupted), 3));
}

#[test]
fn many_records_come_in_several_batches_that_lose_none() {
    let mut scenario = chain(2, 0);
    scenario.publishers.push(publisher(
        "p",
        0,
        Workload::Greedy { burst: 100_000, count: 1, period_ns: 1_000_000 },
    ));
    scenario.subscribers.push(subscriber("s", 1));
    let run = run(&scenario);
    assert!(run.batches.len() > 1);
    assert_eq!(run.batches.iter().map(|batch| batch.rows).sum::<usize>(), 100_000);
}

#[test]
fn more_terms_than_a_queue_takes_are_refused_before_the_run() {
    let mut scenario = chain(3, 10);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
    scenario.subscribers.extend((0..=TERMS_MAX).map(|n| subscriber(&format!("s{n}"), 2)));
    scenario.subscribers[0].deadline_ns = Some(1_000_000);
    assert_eq!(run(&scenario).counters.delivered, TERMS_MAX as u64 + 1);
    scenario.links[1].policy = "lrt".into();
    assert_eq!(scenario.validate(100).map_err(|fault| fault.field), Err("links[1].policy".to_owned()));
}
