//! Networks in which something goes wrong, worked out by hand.

mod scene;

use giusto_core::record::Outcome;
use giusto_sim::network::{Fault, FaultKind, Run, Scenario, Workload};
use scene::{chain, publisher, run, subscriber};

/// Three brokers, links of 100 ns, a message at each of `at_ns`.
fn scenario(at_ns: &[i64], faults: &[(FaultKind, i64, i64)]) -> Scenario {
    let mut scenario = chain(3, 100);
    scenario.publishers.push(publisher("p", 0, Workload::Trace { at_ns: at_ns.to_vec() }));
    scenario.subscribers.push(subscriber("s", 2));
    let fault = |&(kind, from_ns, to_ns): &(FaultKind, i64, i64)| Fault { kind, window: (from_ns, to_ns) };
    scenario.faults = faults.iter().map(fault).collect();
    scenario
}

fn ended(run: &Run) -> (u64, u64, i64) {
    let total = &run.totals[0];
    (total.count(Outcome::Delivered), total.count(Outcome::Lost), total.delay_max_ns)
}

#[test]
fn a_link_that_is_down_sends_when_it_is_up_again() {
    let run = run(&scenario(&[50], &[(FaultKind::LinkDown { link: 0 }, 0, 1000)]));
    assert_eq!(ended(&run), (1, 0, 950 + 200));
}

#[test]
fn what_is_on_a_link_when_it_goes_down_is_lost() {
    let down = [(FaultKind::LinkDown { link: 1 }, 150, 160)];
    // The first is on the second link from 100 to 200, the other two after that.
    let run = run(&scenario(&[0, 0, 0], &down));
    assert_eq!(ended(&run), (2, 1, 400));
    assert_eq!((run.links[1].sent, run.links[1].lost), (3, 1));
}

#[test]
fn a_transmission_that_ends_when_the_link_goes_down_is_lost() {
    assert_eq!(ended(&run(&scenario(&[0], &[(FaultKind::LinkDown { link: 0 }, 100, 101)]))), (0, 1, 0));
    assert_eq!(ended(&run(&scenario(&[0], &[(FaultKind::LinkDown { link: 0 }, 101, 102)]))), (1, 0, 200));
}

#[test]
fn a_broker_that_goes_down_loses_what_waits_in_it_and_what_comes_to_it() {
    // Messages reach the broker at 100, 200, 300 and 400; the second waits for nothing and is on the link.
    let down = [(FaultKind::BrokerDown { broker: 1 }, 250, 350)];
    let run = run(&scenario(&[0, 0, 0, 0], &down));
    assert_eq!(ended(&run), (2, 2, 500));
}

#[test]
fn the_queues_of_a_broker_are_lost_with_it() {
    let down = [(FaultKind::BrokerDown { broker: 0 }, 50, 60)];
    let mut scenario = scenario(&[0, 0, 0, 70], &down);
    let all = run(&scenario);
    assert_eq!(ended(&all), (1, 3, 200));
    assert_eq!((all.links[0].sent, all.links[0].lost), (2, 3));
    scenario.publishers[0].delay_ns = 55;
    assert_eq!(ended(&run(&scenario)), (1, 3, 255), "they arrive while the broker is down");
}

#[test]
fn a_broker_that_is_down_while_it_works_on_a_message_loses_it() {
    let mut scenario = scenario(&[0], &[(FaultKind::BrokerDown { broker: 1 }, 110, 120)]);
    scenario.brokers[1].processing_ns = 50;
    assert_eq!(ended(&run(&scenario)), (0, 1, 0));
}

#[test]
fn a_spike_stretches_what_begins_in_it() {
    let spike = [(FaultKind::Spike { link: 0, factor: 2.0, extra_ns: 7 }, 0, 10)];
    assert_eq!(ended(&run(&scenario(&[0], &spike))), (1, 0, 307));
    assert_eq!(ended(&run(&scenario(&[10], &spike))), (1, 0, 200));
}

#[test]
fn a_link_loses_as_many_as_the_probability_says() {
    let at_ns: Vec<i64> = (0..4000).collect();
    let lossy = |probability: f64| {
        let mut scenario = scenario(&at_ns, &[(FaultKind::Loss { link: 0, probability }, 0, i64::MAX)]);
        scenario
            .links
            .iter_mut()
            .for_each(|link| link.delay = giusto_sim::network::Delay::Constant { delay_ns: 0 });
        ended(&run(&scenario)).1
    };
    assert_eq!([lossy(0.0), lossy(1.0)], [0, 4000]);
    let lost = lossy(0.25);
    assert!((800..1200).contains(&lost), "a quarter of 4000: {lost}");
}

#[test]
fn what_waits_for_a_link_that_never_comes_back_is_unfinished() {
    let run = run(&scenario(&[0], &[(FaultKind::LinkDown { link: 1 }, 0, i64::MAX)]));
    assert_eq!((run.counters.unfinished, run.counters.delivered, run.counters.lost), (1, 0, 0));
}

#[test]
fn a_fault_that_cannot_be_is_named_with_its_path() {
    for (kind, window, path) in [
        (FaultKind::LinkDown { link: 2 }, (0, 1), "faults[0].link"),
        (FaultKind::BrokerDown { broker: 3 }, (0, 1), "faults[0].broker"),
        (FaultKind::LinkDown { link: 0 }, (5, 5), "faults[0].to_ns"),
        (FaultKind::Loss { link: 0, probability: 1.5 }, (0, 1), "faults[0].probability"),
        (FaultKind::Spike { link: 0, factor: f64::NAN, extra_ns: 0 }, (0, 1), "faults[0].factor"),
    ] {
        let fault = scenario(&[0], &[(kind, window.0, window.1)]).validate(100).unwrap_err();
        assert_eq!(fault.field, path);
    }
}
