//! Which connections are read first, how much of them, and what is written to whom before the rest.

mod wire;

use giusto_core::engine::{Need, Offer};
use giusto_core::frame::{Decoded, Decoder, Frame, PROMISED};
use giusto_core::id::{FlowId, TopicId};
use giusto_core::input::Share;
use giusto_core::policer::{Burst, Limit};
use giusto_core::queue::Bounds;
use giusto_net::hub::{ConnId, Hold, Hub, HubConfig};
use wire::*;

const PROBATION_NS: i64 = 100_000_000;

fn hub() -> Hub {
    Hub::new(HubConfig::default()).unwrap()
}

fn limited(limit_bytes: u32, burst: i64) -> Offer {
    let limit = Limit { burst: Burst::messages(burst), ..Limit::min_sep(1_000) };
    Offer { bounds: Bounds { capacity: 8, limit_bytes }, limit: Some(limit) }
}

/// A publisher with a limited flow on a guarded topic.
fn guarded_pair(hub: &mut Hub, limit_bytes: u32, burst: i64) -> (ConnId, TopicId, FlowId) {
    let publisher = client(hub, "publisher");
    let topic = hub.declare("guarded", Share::default()).unwrap();
    assert!(hub.guard(topic, true).unwrap());
    let flow = hub.advertise(publisher, topic, &limited(limit_bytes, burst)).unwrap();
    (publisher, topic, flow)
}

fn shifts(hub: &mut Hub) -> Vec<ConnId> {
    std::iter::from_fn(|| hub.pop_shift()).collect()
}

/// What is written to a connection before the rest.
fn sent_guarded(hub: &mut Hub, conn: ConnId) -> Vec<Owned> {
    let mut out = Vec::new();
    hub.fill_guarded(0, conn, &mut out, usize::MAX);
    frames(&out)
}

#[test]
fn a_portion_is_what_all_offers_of_a_connection_allow_at_once_and_one_message_more_each() {
    let mut hub = hub();
    let (publisher, _, _) = guarded_pair(&mut hub, 1_000, 2);
    assert_eq!(hub.portion_bytes(publisher), Some(3_000));
    let rest = hub.declare("rest", Share::default()).unwrap();
    let flow = hub.advertise(publisher, rest, &limited(500, 1)).unwrap();
    assert_eq!(hub.portion_bytes(publisher), Some(4_000));
    hub.unadvertise(publisher, flow).unwrap();
    assert_eq!(hub.portion_bytes(publisher), Some(3_000));
}

#[test]
fn a_portion_has_room_for_what_may_come_late_and_all_at_once() {
    let mut hub = hub();
    let (publisher, _, _) = guarded_pair(&mut hub, 100, 1);
    let mut offer = limited(1_000, 1);
    offer.limit = offer.limit.map(|limit| Limit { jitter_ns: 2_500, ..limit });
    let other = hub.declare("other", Share::default()).unwrap();
    hub.advertise(publisher, other, &offer).unwrap();
    assert_eq!(hub.portion_bytes(publisher), Some(200 + 5_000));
}

#[test]
fn a_portion_is_never_below_one_kibibyte_nor_above_sixteen() {
    for (limit_bytes, burst, portion) in [(57, 1, 1_024), (1 << 20, 1, 16_384), (57, i64::MAX, 16_384)] {
        let mut hub = hub();
        let (publisher, _, _) = guarded_pair(&mut hub, limit_bytes, burst);
        assert_eq!(hub.portion_bytes(publisher), Some(portion));
    }
}

#[test]
fn a_connection_is_urgent_while_it_publishes_on_a_guarded_topic() {
    let mut hub = hub();
    let (publisher, topic, flow) = guarded_pair(&mut hub, 100, 1);
    let other = client(&mut hub, "other");
    assert_eq!(shifts(&mut hub), [publisher]);
    assert_eq!(hub.portion_bytes(other), None);
    assert!(hub.guard(topic, false).unwrap());
    assert_eq!((shifts(&mut hub), hub.portion_bytes(publisher)), (vec![publisher], None));
    assert!(hub.guard(topic, true).unwrap());
    assert!(hub.portion_bytes(publisher).is_some());
    hub.unadvertise(publisher, flow).unwrap();
    assert_eq!((shifts(&mut hub), hub.portion_bytes(publisher)), (vec![publisher; 2], None));
}

#[test]
fn who_breaks_an_offer_is_on_probation_and_longer_if_it_goes_on() {
    let mut hub = hub();
    let (publisher, _, flow) = guarded_pair(&mut hub, 100, 1);
    shifts(&mut hub);
    let two = [data(flow, 0, b"x"), data(flow, 1, b"x")].concat();
    assert_eq!(hub.receive(0, publisher, &two).hold, Hold::Penalty);
    assert_eq!((hub.portion_bytes(publisher), shifts(&mut hub)), (None, vec![publisher]));
    assert!(hub.next_timer().is_some_and(|at| at <= PROBATION_NS));
    hub.receive(PROBATION_NS / 2, publisher, &two);
    hub.expire(PROBATION_NS, usize::MAX);
    assert_eq!((hub.portion_bytes(publisher), shifts(&mut hub)), (None, vec![]));
    hub.expire(2 * PROBATION_NS, usize::MAX);
    assert_eq!((hub.portion_bytes(publisher), shifts(&mut hub)), (Some(1_024), vec![publisher]));
}

#[test]
fn who_sends_much_beside_its_messages_is_on_probation() {
    let mut hub = hub();
    let (publisher, _, flow) = guarded_pair(&mut hub, 100, 1);
    hub.receive(0, publisher, &[probe(1), data(flow, 0, b"x")].concat());
    assert_eq!(hub.portion_bytes(publisher), Some(1_024));
    let probes: Vec<u8> = (0..20).flat_map(probe).collect();
    hub.receive(PROBATION_NS, publisher, &probes);
    assert_eq!(hub.portion_bytes(publisher), None);
}

#[test]
fn guarded_messages_and_credits_are_written_without_the_rest() {
    let mut hub = hub();
    let (publisher, _, flow) = guarded_pair(&mut hub, 100, 4);
    let subscriber = client(&mut hub, "subscriber");
    hub.subscribe(subscriber, "#", None, &Need::default()).unwrap();
    let rest = hub.declare("rest", Share::default()).unwrap();
    let rest_flow = hub.advertise(subscriber, rest, &offer(64)).unwrap();
    publish(&mut hub, subscriber, rest_flow, 3, b"rest");
    publish(&mut hub, publisher, flow, 2, b"guarded");
    assert!(hub.has_rest() && hub.waiting_guarded() == 2);
    while hub.step_guarded(0) {}
    while hub.step(0) {}
    hub.gather_guarded(0);
    let mut dirty: Vec<_> = std::iter::from_fn(|| hub.pop_dirty_guarded()).collect();
    dirty.sort_unstable();
    assert_eq!(dirty, [publisher, subscriber]);
    assert_eq!(credits(&sent_guarded(&mut hub, publisher)), 2);
    assert_eq!(payloads(&sent_guarded(&mut hub, subscriber)), [b"guarded", b"guarded"]);
    assert_eq!(payloads(&sent(&mut hub, 0, subscriber)), [b"rest", b"rest", b"rest"]);
}

#[test]
fn credits_of_other_flows_of_an_urgent_connection_go_with_the_rest() {
    let mut hub = hub();
    let (publisher, topic, flow) = guarded_pair(&mut hub, 100, 4);
    let rest = hub.declare("rest", Share::default()).unwrap();
    let rest_flow = hub.advertise(publisher, rest, &limited(100, 4)).unwrap();
    sent(&mut hub, 0, publisher);
    publish(&mut hub, publisher, rest_flow, 2, b"rest");
    run(&mut hub, 0);
    assert_eq!(hub.dirty_guarded_count(), 0);
    publish(&mut hub, publisher, flow, 2, b"guarded");
    while hub.step_guarded(0) {}
    assert_eq!(hub.pop_dirty_guarded(), Some(publisher));
    assert_eq!(sent_guarded(&mut hub, publisher), [Owned::Credit { stream: flow.0, amount: 2 }]);
    assert!(hub.guard(topic, false).unwrap() && hub.guard(rest, true).unwrap());
    // Its topic is guarded now: its credits wait no longer, and go out once.
    assert_eq!(hub.pop_dirty_guarded(), Some(publisher));
    assert_eq!(sent_guarded(&mut hub, publisher), [Owned::Credit { stream: rest_flow.0, amount: 2 }]);
    assert_eq!(sent(&mut hub, 0, publisher), []);
}

fn promises(bytes: &[u8]) -> Vec<bool> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Ok(Decoded::Frame { frame, consumed }) = Decoder::default().decode(&bytes[at..]) {
        if let Frame::Data(data) = frame {
            found.push(data.header.flags & PROMISED != 0);
        }
        at += consumed;
    }
    found
}

#[test]
fn nothing_is_promised_to_a_client_behind_its_own_backlog_alone() {
    let mut hub = hub();
    let (publisher, slow, topic, flow) = pair(&mut hub, 64);
    let swift = client(&mut hub, "swift");
    hub.subscribe(swift, "#", None, &Need::default()).unwrap();
    [slow, swift].iter().for_each(|&conn| drop(sent(&mut hub, 0, conn)));
    publish(&mut hub, publisher, flow, 1, b"waits");
    run(&mut hub, 0);
    sent(&mut hub, 0, swift);
    assert!(hub.guard(topic, true).unwrap());
    publish(&mut hub, publisher, flow, 1, b"behind");
    while hub.step_guarded(0) {}
    let filled = |hub: &mut Hub, conn| {
        let mut out = Vec::new();
        hub.fill(0, conn, &mut out, usize::MAX);
        promises(&out)
    };
    assert_eq!(filled(&mut hub, slow), [false, false]);
    assert_eq!(filled(&mut hub, swift), [true]);
    publish(&mut hub, publisher, flow, 1, b"after");
    while hub.step_guarded(0) {}
    assert_eq!(filled(&mut hub, slow), [true]);
}

/// The notice that a topic has a name.
fn topic_is(number: u8, name: &str) -> Vec<u8> {
    let text = |text: &str| [&[0xa0 | text.len() as u8], text.as_bytes()].concat();
    [vec![0x83], text("op"), text("topicis"), text("number"), vec![number], text("name"), text(name)].concat()
}

/// A connection that publishes on a guarded topic, subscribes to it, and has read all that was sent to it.
fn guarded_loop(hub: &mut Hub) -> (ConnId, FlowId) {
    let (publisher, _, flow) = guarded_pair(hub, 100, 16);
    hub.subscribe(publisher, "#", None, &Need::default()).unwrap();
    sent(hub, 0, publisher);
    (publisher, flow)
}

fn forward(hub: &mut Hub, conn: ConnId, flow: FlowId, count: u64) {
    publish(hub, conn, flow, count, b"x");
    while hub.step_guarded(0) {}
    hub.gather_guarded(0);
}

fn without_credits(frames: Vec<Owned>) -> Vec<Owned> {
    frames.into_iter().filter(|frame| !matches!(frame, Owned::Credit { .. })).collect()
}

#[test]
fn guarded_messages_overtake_answers_but_not_names() {
    let mut hub = hub();
    let (conn, flow) = guarded_loop(&mut hub);
    hub.send(0, conn, &[7; 300]).unwrap();
    hub.send(0, conn, &topic_is(0, "guarded")).unwrap();
    forward(&mut hub, conn, flow, 1);
    let first = without_credits(sent_guarded(&mut hub, conn));
    assert!(
        matches!(&first[..], [Owned::Control(body), Owned::Data { .. }] if *body == topic_is(0, "guarded"))
    );
    let then = sent(&mut hub, 0, conn);
    assert!(matches!(&then[..], [Owned::Control(body)] if body.len() == 300));
}

#[test]
fn names_that_fill_several_writes_go_before_guarded_messages() {
    let mut hub = hub();
    let (conn, flow) = guarded_loop(&mut hub);
    for number in 0..20 {
        hub.send(0, conn, &topic_is(number, "some topic")).unwrap();
    }
    forward(&mut hub, conn, flow, 1);
    let (mut all, mut writes) = (Vec::new(), 0);
    while let Some(id) = hub.pop_dirty_guarded() {
        let mut out = Vec::new();
        assert!(hub.fill_guarded(0, id, &mut out, 128) <= 128);
        all.extend(out);
        writes += 1;
    }
    assert!(writes > 2);
    let kinds = without_credits(frames(&all));
    assert!(kinds[..20].iter().all(|frame| matches!(frame, Owned::Control(_))));
    assert!(matches!(&kinds[20..], [Owned::Data { .. }]));
}

#[test]
fn all_guarded_messages_of_a_turn_are_written_in_it_however_long_they_are() {
    let mut hub = hub();
    let (publisher, _, flow) = guarded_pair(&mut hub, 50_000, 16);
    let subscriber = client(&mut hub, "subscriber");
    hub.subscribe(subscriber, "#", None, &Need::default()).unwrap();
    sent(&mut hub, 0, subscriber);
    publish(&mut hub, publisher, flow, 4, &[0; 40_000]);
    while hub.step_guarded(0) {}
    hub.gather_guarded(0);
    let mut out = Vec::new();
    assert_eq!(hub.fill_guarded(0, subscriber, &mut out, 128), 0);
    assert_eq!(frames(&out).len(), 4);
}

#[test]
fn what_a_subscriber_has_not_taken_in_time_goes_with_the_rest() {
    let mut hub = hub();
    let (conn, flow) = guarded_loop(&mut hub);
    forward(&mut hub, conn, flow, 5);
    hub.put_behind(conn);
    forward(&mut hub, conn, flow, 2);
    assert_eq!(payloads(&sent_guarded(&mut hub, conn)).len(), 2);
    assert_eq!(payloads(&sent(&mut hub, 0, conn)).len(), 5);
    forward(&mut hub, conn, flow, 1);
    assert_eq!(payloads(&sent_guarded(&mut hub, conn)).len(), 1);
}

#[test]
fn what_waits_guarded_is_handed_back_when_only_the_dirty_are_looked_at() {
    let mut hub = hub();
    let (publisher, _, flow) = guarded_pair(&mut hub, 100, 1);
    hub.subscribe(publisher, "#", None, &Need::default()).unwrap();
    publish(&mut hub, publisher, flow, 1, b"x");
    while hub.step_guarded(0) {}
    hub.gather_guarded(0);
    while hub.pop_dirty().is_some() {}
    hub.hand_back_dirty();
    assert_eq!((hub.pop_dirty_guarded(), hub.pop_dirty()), (None, Some(publisher)));
    assert_eq!(payloads(&sent(&mut hub, 0, publisher)), [b"x"]);
}

#[test]
fn messages_of_an_urgent_connection_do_not_wait_for_the_control_plane() {
    let mut hub = Hub::new(HubConfig { control_capacity: 1, ..HubConfig::default() }).unwrap();
    let (publisher, _, flow) = guarded_pair(&mut hub, 100, 1);
    let other = client(&mut hub, "other");
    hub.receive(0, other, &control(b"x"));
    assert!(hub.is_deaf());
    assert_eq!(hub.receive(0, other, &control(b"x")).hold, Hold::Busy);
    assert_eq!(hub.receive(0, publisher, &[control(b"x"), data(flow, 0, b"x")].concat()).hold, Hold::None);
    assert_eq!(hub.waiting_guarded(), 1);
}
