//! What a client leaves behind is given back in portions while topics are guarded: work is counted, not time.

mod wire;

use giusto_core::effort::Effort;
use giusto_core::engine::Need;
use giusto_core::input::Share;
use giusto_net::hub::{Event, Hub, HubConfig};
use wire::*;

const UNITS: usize = 256;

fn guarded_hub() -> Hub {
    let mut hub = Hub::new(HubConfig::default()).unwrap();
    let topic = hub.declare("guarded", Share::default()).unwrap();
    assert!(hub.guard(topic, true).unwrap());
    hub
}

/// How many portions it takes until nothing is left to give back.
fn portions(hub: &mut Hub) -> usize {
    let portion = || hub.has_unfinished().then(|| hub.finish_some(Effort::units(UNITS)));
    std::iter::from_fn(portion).count()
}

#[test]
fn the_portions_of_a_departure_are_as_many_as_the_client_has_subscriptions_and_flows() {
    for count in [100, 1_000] {
        let mut hub = guarded_hub();
        let leaving = client(&mut hub, "leaving");
        for n in 0..count {
            hub.subscribe(leaving, &format!("a/{n}"), None, &Need::default()).unwrap();
            let topic = hub.declare(&format!("b/{n}"), Share::default()).unwrap();
            hub.advertise(leaving, topic, &offer(1)).unwrap();
        }
        hub.hang_up(leaving, "closed");
        assert!(!hub.events().iter().any(|event| is_closed(event, leaving)));
        // A subscription is 16 units and a flow 8: 10 of both, or a few more, fit into 256.
        let portions = portions(&mut hub);
        assert!((count / 11..=count / 10 + 2).contains(&portions), "{portions} for {count}");
        assert!(hub.events().iter().any(|event| is_closed(event, leaving)));
        assert_eq!(hub.views().topics.len(), count + 1);
    }
}

#[test]
fn filters_count_with_their_comparisons_when_a_client_goes() {
    let mut hub = guarded_hub();
    let leaving = client(&mut hub, "leaving");
    let filter = (0..256).map(|n| format!("a{n} = 1")).collect::<Vec<_>>().join(" or ").parse().unwrap();
    for n in 0..20 {
        hub.subscribe(leaving, &format!("a/{n}"), Some(&filter), &Need::default()).unwrap();
    }
    hub.hang_up(leaving, "closed");
    // 272 units each: one at a time.
    assert!((20..=22).contains(&portions(&mut hub)));
}

#[test]
fn messages_for_a_client_that_is_gone_are_abandoned_in_portions_and_counted() {
    let mut hub = guarded_hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 1_000);
    publish(&mut hub, publisher, flow, 500, b"x");
    run(&mut hub, 0);
    hub.hang_up(subscriber, "closed");
    assert_eq!(hub.totals().abandoned, 0);
    assert!(portions(&mut hub) >= 500 * 4 / UNITS);
    assert_eq!(hub.totals().abandoned, 500);
}

#[test]
fn a_client_that_is_gone_gets_nothing_more_and_its_messages_are_still_forwarded() {
    let mut hub = guarded_hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 1_000);
    let other = client(&mut hub, "other");
    hub.subscribe(other, "#", None, &Need::default()).unwrap();
    publish(&mut hub, publisher, flow, 1, b"x");
    hub.hang_up(subscriber, "closed");
    hub.hang_up(publisher, "closed");
    run(&mut hub, 0);
    assert_eq!(payloads(&sent(&mut hub, 0, other)), [b"x"]);
    portions(&mut hub);
    assert_eq!(hub.totals().delivered, 1);
    assert!(hub.losses(9).0.is_empty());
    let names = ["publisher", "subscriber"];
    for name in names {
        client(&mut hub, name);
    }
}

#[test]
fn who_is_closed_gets_what_waits_and_nothing_later_before_its_last_frame() {
    let mut hub = guarded_hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 1_000);
    publish(&mut hub, publisher, flow, 1, b"before");
    run(&mut hub, 0);
    hub.close(0, subscriber, 0, "enough").unwrap();
    publish(&mut hub, publisher, flow, 1, b"after");
    run(&mut hub, 0);
    let frames = sent(&mut hub, 0, subscriber);
    assert_eq!(payloads(&frames), [b"before"]);
    assert_eq!(frames.last(), Some(&Owned::Goodbye));
    hub.hang_up(subscriber, "closed");
    portions(&mut hub);
    let closed = |event: &Event| matches!(event, Event::Closed { conn, reason } if *conn == subscriber && reason == "enough");
    assert_eq!(hub.events().iter().filter(|event| closed(event)).count(), 1);
}

#[test]
fn a_topic_is_guarded_and_released_while_its_publisher_goes() {
    let mut hub = guarded_hub();
    let (publisher, _, topic, _) = pair(&mut hub, 1);
    hub.hang_up(publisher, "closed");
    assert!(hub.guard(topic, true).unwrap());
    assert!(hub.guard(topic, false).unwrap());
    portions(&mut hub);
    assert!(hub.forget(topic).is_ok());
}

#[test]
fn few_of_those_who_are_late_are_closed_at_once() {
    let config = HubConfig { handshake_ns: 100, grace_ns: 50, ..HubConfig::default() };
    let mut hub = Hub::new(config).unwrap();
    let late: Vec<_> = (0..10).map(|n| hub.open(0, format!("{n}")).unwrap()).collect();
    assert!(hub.expire(100, 4).is_empty());
    assert_eq!(hub.refusals().handshakes, 4);
    assert_eq!(hub.next_timer(), Some(100));
    hub.expire(100, 6);
    assert_eq!(hub.refusals().handshakes, 10);
    assert_eq!(hub.expire(150, 4), late[..4]);
    assert_eq!(hub.expire(150, 10), late[4..]);
}
