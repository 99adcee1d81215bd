//! Brokers with a processor: against the one-processor server, and worked out by hand.

mod scene;

use giusto_core::input::{REGISTRY, Share};
use giusto_core::record::{Column, Outcome};
use giusto_sim::network::{Fault, FaultKind, Run, Scenario, Workload};
use giusto_sim::server::{Arrival, Flow, Server, Ties};
use proptest::prelude::*;
use scene::{chain, link, processor, publisher, run, subscriber, topic};

/// One broker with a processor, a publisher per trace, each on a topic of its own.
fn served(input: &str, traces: &[Vec<i64>]) -> Scenario {
    let mut scenario = chain(1, 0);
    scenario.brokers[0].processor = Some(processor(input));
    scenario.topics.clear();
    for (n, at_ns) in traces.iter().enumerate() {
        scenario.topics.push(topic(&format!("t{n}")));
        let mut publisher = publisher(&format!("p{n}"), 0, Workload::Trace { at_ns: at_ns.clone() });
        publisher.topic = n as u32;
        scenario.publishers.push(publisher);
    }
    scenario.subscribers.push(subscriber("s", 0));
    scenario
}

fn received(run: &Run) -> Vec<i64> {
    let batch = &run.batches[0];
    let Some((_, Column::OptionalInt64(values))) =
        batch.columns.iter().find(|(name, _)| *name == "t_received_ns")
    else {
        panic!("no instants")
    };
    (0..batch.rows).filter_map(|row| values.value(row)).collect()
}

#[test]
fn quanta_follow_each_other_and_a_large_message_takes_several() {
    let mut scenario = served("twrr", &[vec![0, 5]]);
    scenario.publishers[0].size_bytes = (2500, 2500);
    assert_eq!(received(&run(&scenario)), [30, 60]);
    scenario.brokers[0].processor.as_mut().unwrap().search_ns = 1;
    let run = run(&scenario);
    assert_eq!(received(&run), [33, 66]);
    assert_eq!((run.brokers[0].quanta, run.brokers[0].busy_ns, run.brokers[0].waiting_max), (6, 66, 2));
}

#[test]
fn a_polling_server_serves_within_its_budget_from_the_start_of_a_period() {
    let mut scenario = served("twrr", &[vec![0, 0, 0, 0, 110]]);
    scenario.brokers[0].processor.as_mut().unwrap().pace = Some((100, 25));
    // Three quanta begin before 25; the fourth waits for 100 and the last, which just missed it, is still in time.
    assert_eq!(received(&run(&scenario)), [10, 20, 30, 110, 120]);
    scenario.publishers[0].workload = Workload::Trace { at_ns: vec![3, 100, 111, 112] };
    // What comes after the look at 0 waits for 100; at 120 the queue is empty, and the rest waits for 200.
    assert_eq!(received(&run(&scenario)), [110, 120, 130, 210]);
}

#[test]
fn a_queue_that_is_empty_when_the_budget_is_spent_leaves_nothing_for_later() {
    let mut scenario = served("twrr", &[vec![0, 55]]);
    scenario.brokers[0].processor.as_mut().unwrap().pace = Some((50, 10));
    // The quantum ends with the budget at 10; at 50 nothing waits, and what comes at 55 is for 100.
    assert_eq!(received(&run(&scenario)), [10, 110]);
    scenario.publishers[0].workload = Workload::Trace { at_ns: vec![0, 50, 101] };
    assert_eq!(received(&run(&scenario)), [10, 60, 160]);
}

#[test]
fn a_quantum_that_ends_in_the_next_period_leaves_it_what_is_left_of_its_budget() {
    let mut scenario = served("twrr", &[vec![0, 0, 0]]);
    scenario.topics[0].service_ns = 90;
    scenario.brokers[0].processor.as_mut().unwrap().pace = Some((50, 45));
    // 0 to 90 overruns the period from 50; at 90 some of its budget is left, and so it goes on.
    assert_eq!(received(&run(&scenario)), [90, 180, 270]);
    scenario.brokers[0].processor.as_mut().unwrap().pace = Some((50, 25));
    // Here the budget of that period was over at 75.
    assert_eq!(received(&run(&scenario)), [90, 190, 290]);
}

#[test]
fn a_full_flow_overflows_and_is_counted() {
    let mut scenario = served("twrr", &[vec![0; 5]]);
    scenario.brokers[0].processor.as_mut().unwrap().capacity = 2;
    let run = run(&scenario);
    assert_eq!((run.counters.delivered, run.counters.overflow, run.brokers[0].overflow), (2, 3, 3));
}

#[test]
fn what_waits_for_a_processor_is_lost_with_its_broker() {
    let mut scenario = served("fair", &[vec![0, 0, 0], vec![0, 50]]);
    scenario.faults.push(Fault { kind: FaultKind::BrokerDown { broker: 0 }, window: (15, 30) });
    let run = run(&scenario);
    assert_eq!((run.counters.delivered, run.counters.lost), (2, 3));
    assert_eq!(received(&run), [10, 60]);
}

#[test]
fn neighbours_are_clients_of_a_processor_as_publishers_are() {
    let mut scenario = chain(3, 0);
    scenario.links = vec![link(0, 2, 0), link(1, 2, 0)];
    scenario.brokers[2].processor = Some(processor("twrr"));
    for (name, broker, count) in [("far", 0, 4), ("other", 1, 1), ("near", 2, 1)] {
        scenario.publishers.push(publisher(name, broker, Workload::Trace { at_ns: vec![0; count] }));
    }
    scenario.subscribers.push(subscriber("s", 2));
    let run = run(&scenario);
    let batch = &run.batches[0];
    let Some((_, Column::Name { keys, names })) = batch.columns.iter().find(|(name, _)| *name == "publisher")
    else {
        panic!("no publishers")
    };
    let order: Vec<&str> =
        (0..batch.rows).map(|row| names[keys.value(row).unwrap() as usize].as_ref()).collect();
    assert_eq!(order.len(), 6);
    // A cell gives each client one quantum, so that four of one keep nobody else waiting.
    assert!(order[..4].contains(&"other") && order[..4].contains(&"near"), "{order:?}");
}

fn shares(weights: &[u32]) -> Vec<Share> {
    weights.iter().map(|&weight| Share { weight, rate: weight, ..Share::default() }).collect()
}

proptest! {
    #[test]
    fn a_lone_broker_serves_as_the_one_processor_server_does(
        policy in 0..REGISTRY.len(),
        flows in prop::collection::vec((1..6_u32, 5..30_i64, prop::collection::btree_set(0..100_i64, 1..20)), 1..5),
    ) {
        let policy = REGISTRY[policy].name;
        let weights: Vec<u32> = flows.iter().map(|flow| flow.0).collect();
        let server = Server {
            policy: policy.into(),
            shares: shares(&weights),
            service_ns: flows.iter().map(|flow| flow.1).collect(),
            flows: (0..flows.len() as u32).map(|n| Flow { client: n, topic: n, capacity: 1000 }).collect(),
            fragment_bytes: 1000,
            ties: Ties::ArrivalFirst,
        };
        let mut arrivals = Vec::new();
        let mut traces = Vec::new();
        for (n, (_, _, messages)) in flows.iter().enumerate() {
            // No two arrive at one instant: who comes first then is another question.
            let at_ns: Vec<i64> = messages.iter().map(|at| at * 5 + n as i64).collect();
            let size_bytes = 100 + 700 * n as u32;
            let arrival = |&at_ns: &i64| Arrival { at_ns, flow: n as u32, priority: 0, size_bytes };
            arrivals.extend(at_ns.iter().map(arrival));
            traces.push(at_ns);
        }
        arrivals.sort_by_key(|arrival| arrival.at_ns);
        let mut scenario = served(policy, &traces);
        for (n, share) in shares(&weights).into_iter().enumerate() {
            (scenario.topics[n].share, scenario.topics[n].service_ns) = (share, flows[n].1);
            scenario.publishers[n].size_bytes = (100 + 700 * n as u32, 100 + 700 * n as u32);
        }
        let run = run(&scenario);
        prop_assert_eq!(run.totals[0].count(Outcome::Delivered), arrivals.len() as u64);
        let alone = server.run(&arrivals, &[]).unwrap();
        let completed: Vec<i64> = alone.completions.iter().map(|done| done.completed_ns).collect();
        prop_assert_eq!((received(&run), run.brokers[0].busy_ns), (completed, alone.busy_ns));
    }
}
