//! Links that share a wire.

mod scene;

use giusto_core::record::Column;
use giusto_sim::network::{Fault, FaultKind, Medium, MediumKind, Records, Run, Scenario, Workload};
use proptest::prelude::*;
use scene::{chain, link, publisher, run, subscriber};

const ETHERNET: MediumKind = MediumKind::Ethernet { slot_ns: 10, gap_ns: 2, attempts: 16 };

/// Senders 1, 2, … each with a link of 100 ns to broker 0, on one wire; one message at each instant.
fn bus(kind: MediumKind, senders: &[(u8, &[i64])]) -> Scenario {
    let count = senders.len() as u32;
    let mut scenario = chain(count + 1, 0);
    scenario.media.push(Medium { name: "wire".into(), kind });
    scenario.links = (1..=count).map(|n| link(n, 0, 100)).collect();
    scenario.links.iter_mut().for_each(|link| link.medium = Some(0));
    for (n, &(priority, at_ns)) in senders.iter().enumerate() {
        let workload = Workload::Trace { at_ns: at_ns.to_vec() };
        let mut publisher = publisher(&format!("p{n}"), n as u32 + 1, workload);
        publisher.priority = (priority, priority);
        scenario.publishers.push(publisher);
    }
    scenario.subscribers.push(subscriber("s", 0));
    scenario
}

/// Publisher and instant of each delivery, in order.
fn received(run: &Run) -> Vec<(String, i64)> {
    let batch = &run.batches[0];
    let column =
        |name: &str| batch.columns.iter().find(|(known, _)| *known == name).map(|(_, column)| column);
    let (Some(Column::Name { keys, names }), Some(Column::OptionalInt64(instants))) =
        (column("publisher"), column("t_received_ns"))
    else {
        panic!("no such columns")
    };
    let name = |row| keys.value(row).map(|key| names[key as usize].to_string()).unwrap_or_default();
    (0..batch.rows).filter_map(|row| instants.value(row).map(|at_ns| (name(row), at_ns))).collect()
}

fn expected(given: &[(&str, i64)]) -> Vec<(String, i64)> {
    given.iter().map(|&(name, at_ns)| (name.to_owned(), at_ns)).collect()
}

#[test]
fn on_can_the_most_urgent_message_wins_and_is_not_interrupted() {
    let run = run(&bus(MediumKind::Can, &[(1, &[0]), (3, &[5]), (5, &[50]), (3, &[60])]));
    assert_eq!(received(&run), expected(&[("p0", 100), ("p2", 200), ("p1", 300), ("p3", 400)]));
    assert_eq!((run.media[0].sent, run.media[0].collisions), (4, 0));
}

#[test]
fn on_ethernet_a_lone_sender_sends_at_once_and_one_that_waits_after_the_gap() {
    let run = run(&bus(ETHERNET, &[(0, &[0, 0]), (0, &[500]), (0, &[550])]));
    assert_eq!(received(&run), expected(&[("p0", 100), ("p0", 202), ("p1", 600), ("p2", 702)]));
    assert_eq!(run.media[0].collisions, 0);
}

#[test]
fn on_ethernet_senders_that_begin_together_collide_and_try_again() {
    let run = run(&bus(ETHERNET, &[(0, &[0]), (0, &[0])]));
    let last_ns = received(&run).last().map(|(_, at_ns)| *at_ns).unwrap_or_default();
    let collisions = run.media[0].collisions;
    assert!(collisions >= 1 && run.counters.delivered == 2);
    // Each collision costs a slot, and the second waits for the first and the gap.
    assert!(last_ns >= 10 * collisions as i64 + 202, "{last_ns} after {collisions} collisions");
}

#[test]
fn on_ethernet_a_message_is_given_up_after_too_many_collisions() {
    let once = MediumKind::Ethernet { slot_ns: 10, gap_ns: 0, attempts: 1 };
    let run = run(&bus(once, &[(0, &[0, 20]), (0, &[0])]));
    assert_eq!((run.counters.lost, run.media[0].lost, run.counters.delivered), (2, 2, 1));
    assert_eq!(received(&run), expected(&[("p0", 120)]));
}

#[test]
fn at_a_switch_senders_do_not_wait_for_each_other() {
    let run = run(&bus(MediumKind::Switched, &[(0, &[0, 0]), (0, &[0])]));
    assert_eq!(received(&run), expected(&[("p0", 100), ("p1", 100), ("p0", 200)]));
}

#[test]
fn the_links_of_one_sender_take_turns_on_its_cable() {
    for (kind, last_ns) in [(MediumKind::Switched, 300), (MediumKind::Can, 300), (ETHERNET, 304)] {
        let mut scenario = chain(4, 0);
        scenario.media.push(Medium { name: "wire".into(), kind });
        scenario.links = (1..4).map(|n| link(0, n, 100)).collect();
        scenario.links.iter_mut().for_each(|link| link.medium = Some(0));
        scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0] }));
        scenario.subscribers.extend((1..4).map(|n| subscriber(&format!("s{n}"), n)));
        let run = run(&scenario);
        assert_eq!(run.totals.iter().map(|total| total.delay_max_ns).max(), Some(last_ns));
    }
}

#[test]
fn a_link_that_is_down_does_not_hold_up_the_others_of_its_sender() {
    let mut scenario = chain(3, 0);
    scenario.media.push(Medium { name: "wire".into(), kind: MediumKind::Can });
    scenario.links = (1..3).map(|n| link(0, n, 100)).collect();
    scenario.links.iter_mut().for_each(|link| link.medium = Some(0));
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: vec![0, 10] }));
    scenario.subscribers.extend((1..3).map(|n| subscriber(&format!("s{n}"), n)));
    scenario.faults.push(Fault { kind: FaultKind::LinkDown { link: 0 }, window: (0, 1000) });
    let run = run(&scenario);
    let delays: Vec<i64> = run.totals.iter().map(|total| total.delay_max_ns).collect();
    assert_eq!(delays, [1190, 190]);
}

#[test]
fn an_impossible_medium_is_named_with_its_path() {
    let mut scenario = bus(MediumKind::Ethernet { slot_ns: 0, gap_ns: 0, attempts: 16 }, &[(0, &[0])]);
    assert_eq!(scenario.validate(100).map_err(|fault| fault.field), Err("media[0].slot_ns".to_owned()));
    scenario.media.clear();
    assert_eq!(scenario.validate(100).map_err(|fault| fault.field), Err("links[0].medium".to_owned()));
}

proptest! {
    #[test]
    fn nobody_sends_while_another_does(
        ethernet in any::<bool>(),
        senders in prop::collection::vec((0..8_u8, prop::collection::vec(0..5000_i64, 1..20)), 1..6),
    ) {
        let senders: Vec<(u8, Vec<i64>)> = senders.into_iter().map(|(priority, mut at_ns)| {
            at_ns.sort_unstable();
            (priority, at_ns)
        }).collect();
        let borrowed: Vec<(u8, &[i64])> = senders.iter().map(|(priority, at_ns)| (*priority, at_ns.as_slice())).collect();
        let mut scenario = bus(if ethernet { ETHERNET } else { MediumKind::Can }, &borrowed);
        scenario.records = Records::Hops;
        let run = run(&scenario);
        prop_assert_eq!(run.counters.delivered + run.counters.lost, run.counters.ideal);
        let batch = &run.batches[0];
        let column = |name: &str| batch.columns.iter().find(|(known, _)| *known == name).map(|(_, column)| column);
        let (Some(Column::Name { keys, .. }), Some(Column::OptionalInt64(from)), Some(Column::OptionalInt64(to))) =
            (column("subscriber"), column("t_egress_ns"), column("t_received_ns")) else { panic!("no such columns") };
        let hops = (0..batch.rows).filter(|&row| keys.value(row).is_none());
        let mut sent: Vec<(i64, i64)> = hops.filter_map(|row| Some((from.value(row)?, to.value(row)?))).collect();
        sent.sort_unstable();
        prop_assert!(sent.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
