//! What the broker's machine answers to what clients send and the control plane asks.

mod wire;

use std::net::SocketAddr;

use giusto_core::engine::{Cause, Config, Need, Offer};
use giusto_core::error::ChangeError;
use giusto_core::frame::{Data, DataHeader, Frame, Hello};
use giusto_core::id::FlowId;
use giusto_core::input::Share;
use giusto_core::output::Overflow;
use giusto_core::policer::Limit;
use giusto_net::hub::{ConnId, Event, Filled, Hold, Hub, HubConfig, Traffic};
use wire::*;

fn hub() -> Hub {
    Hub::new(HubConfig::default()).unwrap()
}

fn hub_with(engine: Config) -> Hub {
    Hub::new(HubConfig { engine, ..HubConfig::default() }).unwrap()
}

fn hub_with_datagrams() -> Hub {
    Hub::new(HubConfig { datagrams: true, ..HubConfig::default() }).unwrap()
}

/// A client whose data goes as datagrams.
fn datagram_client(hub: &mut Hub) -> (ConnId, SocketAddr) {
    let conn = hub.open(0, "tcp://a".into()).unwrap();
    hub.receive(0, conn, &hello());
    let address = "127.0.0.1:9".parse().unwrap();
    hub.connect(conn, "a", Some(address)).unwrap();
    sent(hub, 0, conn);
    (conn, address)
}

/// What a stranger gets who sends `bytes`.
fn answer(bytes: &[u8]) -> Vec<Owned> {
    let mut hub = hub();
    let conn = hub.open(0, "tcp://stranger".into()).unwrap();
    assert_eq!(hub.receive(0, conn, bytes).consumed, bytes.len());
    sent(&mut hub, 0, conn)
}

#[test]
fn a_connection_is_announced_and_greeted() {
    let mut hub = hub();
    let conn = hub.open(0, "tcp://127.0.0.1:9".into()).unwrap();
    assert_eq!(hub.events().pop_front(), Some(Event::Opened { conn, address: "tcp://127.0.0.1:9".into() }));
    assert_eq!(hub.pop_dirty(), Some(conn));
    assert_eq!(sent(&mut hub, 0, conn), [Owned::Hello]);
}

#[test]
fn control_frames_go_up() {
    let mut hub = hub();
    let conn = client(&mut hub, "a");
    hub.receive(0, conn, &[control(b"one"), control(b"two")].concat());
    let bodies = [b"one".to_vec(), b"two".to_vec()].map(|body| Event::Control { conn, body });
    assert_eq!(hub.events().drain(..).collect::<Vec<_>>(), bodies);
}

#[test]
fn what_is_not_a_hello_is_refused() {
    let answers = answer(&control(b"connect"));
    assert_eq!(answers, [Owned::Hello, Owned::Error(1, "the first frame is not a hello".into())]);
}

#[test]
fn another_version_is_refused() {
    let answers = answer(&encode(&Frame::Hello(Hello { version: 9 })));
    let problem = "version 9 of the protocol: this broker speaks 1";
    assert_eq!(answers, [Owned::Hello, Owned::Error(1, problem.into())]);
}

#[test]
fn data_before_connect_is_refused() {
    let answers = answer(&[hello(), data(FlowId(0), 0, b"x")].concat());
    assert!(matches!(&answers[..], [Owned::Hello, Owned::Error(2, _)]), "{answers:?}");
}

#[test]
fn a_frame_of_no_kind_is_refused() {
    let answers = answer(&[hello(), vec![8, 0, 0, 0, NO_KIND, 0, 0, 0]].concat());
    assert!(matches!(&answers[..], [Owned::Hello, Owned::Error(1, _)]), "{answers:?}");
}

#[test]
fn strangers_cannot_announce_long_frames_and_clients_no_long_control_frames() {
    let answers = answer(&[hello(), vec![1, 0, 1, 0, 3, 0, 0, 0]].concat());
    assert!(matches!(&answers[..], [Owned::Hello, Owned::Error(1, _)]), "{answers:?}");
    let mut hub = hub();
    let conn = client(&mut hub, "a");
    hub.receive(0, conn, &control(&[0; 65_537]));
    let problem = "control frame of 65537 bytes: at most 65536";
    assert_eq!(sent(&mut hub, 0, conn), [Owned::Error(1, problem.into())]);
}

#[test]
fn a_flow_of_somebody_else_is_refused() {
    let mut hub = hub();
    let (_, subscriber, _, flow) = pair(&mut hub, 8);
    hub.receive(0, subscriber, &data(flow, 0, b"x"));
    let last = sent(&mut hub, 0, subscriber).pop();
    assert_eq!(last, Some(Owned::Error(1, "unknown flow 0".into())));
}

#[test]
fn data_behind_the_end_of_its_flow_is_counted_and_costs_neither_connection_nor_credit() {
    let mut hub = hub();
    let (publisher, other, topic, flow) = pair(&mut hub, 4);
    hub.unadvertise(publisher, flow).unwrap();
    // The number is another's by now, who must not get the credit.
    assert_eq!(hub.advertise(other, topic, &offer(4)), Ok(flow));
    let received = hub.receive(0, publisher, &[data(flow, 0, b"x"), probe(1)].concat());
    assert_eq!(received.hold, Hold::None);
    assert_eq!((hub.refusals().ended, hub.refusals().protocol), (1, 0));
    assert_eq!(run(&mut hub, 0), 0);
    assert!(matches!(&sent(&mut hub, 0, publisher)[..], [Owned::Probe { .. }]));
    assert_eq!(sent(&mut hub, 0, other), []);
}

#[test]
fn a_client_that_does_not_read_is_known_until_it_does() {
    let mut hub = hub();
    let (slow, _) = (client(&mut hub, "slow"), client(&mut hub, "quick"));
    hub.send(0, slow, &[0; 65_537]).unwrap();
    assert_eq!(hub.unread(0, 100).0, [slow]);
    sent(&mut hub, 0, slow);
    assert_eq!(hub.unread(0, 100).0, []);
}

#[test]
fn a_message_is_stamped_with_its_topic_and_source() {
    let mut hub = hub();
    let (publisher, subscriber, topic, flow) = pair(&mut hub, 8);
    hub.receive(10, publisher, &data(flow, 7, b"SpO2 low"));
    while hub.pop_dirty().is_some() {}
    run(&mut hub, 11);
    assert_eq!(hub.pop_dirty(), Some(subscriber));
    let payload = b"SpO2 low".to_vec();
    let expected = Owned::Data { stream: topic.0, source: 0, sequence: 7, payload };
    assert_eq!(sent(&mut hub, 12, subscriber), [expected]);
}

#[test]
fn control_frames_go_out_before_data() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    hub.receive(0, publisher, &data(flow, 0, b"x"));
    run(&mut hub, 0);
    hub.send(0, subscriber, b"topic 0 is ward/3/alarm").unwrap();
    let out = sent(&mut hub, 0, subscriber);
    assert!(matches!(&out[..], [Owned::Control(_), Owned::Data { .. }]), "{out:?}");
}

#[test]
fn a_fill_stops_at_its_limit_and_goes_on_later() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    publish(&mut hub, publisher, flow, 3, b"x");
    run(&mut hub, 0);
    hub.pop_dirty();
    let mut out = Vec::new();
    assert_eq!(hub.fill(0, subscriber, &mut out, 58), Filled::Part);
    assert_eq!(frames(&out).len(), 2);
    assert_eq!(hub.pop_dirty(), Some(subscriber));
    assert_eq!(hub.fill(0, subscriber, &mut out, 1_000), Filled::All);
    assert_eq!(frames(&out).len(), 3);
}

#[test]
fn a_write_in_the_midst_of_a_stream_is_put_off_a_few_times_and_no_other_write() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 1_000);
    publish(&mut hub, publisher, flow, 100, b"x");
    (0..7).for_each(|_| assert!(hub.step(0)));
    assert!(!hub.defer(subscriber));
    (0..13).for_each(|_| assert!(hub.step(0)));
    let put_off = [(); 9].map(|()| hub.defer(subscriber));
    assert_eq!(put_off, [true, true, true, true, true, true, true, false, true]);
    hub.send(0, subscriber, b"urgent").unwrap();
    assert!(!hub.defer(subscriber));
    sent(&mut hub, 0, subscriber);
    run(&mut hub, 0);
    assert!(!hub.defer(subscriber));
}

#[test]
fn credits_come_back_in_quarters_when_messages_have_left_the_input_stage() {
    let mut hub = hub();
    let (publisher, _, _, flow) = pair(&mut hub, 8);
    publish(&mut hub, publisher, flow, 3, b"x");
    assert_eq!(sent(&mut hub, 0, publisher), []);
    hub.step(0);
    assert_eq!(sent(&mut hub, 0, publisher), []);
    run(&mut hub, 0);
    assert_eq!(sent(&mut hub, 0, publisher), [Owned::Credit { stream: flow.0, amount: 2 }]);
}

#[test]
fn credits_come_back_for_what_was_not_taken_in() {
    let mut hub = hub();
    let publisher = client(&mut hub, "publisher");
    let topic = hub.declare("t", Share::default()).unwrap();
    let limit = Some(Limit::min_sep(1_000));
    let flow = hub.advertise(publisher, topic, &Offer { limit, ..offer(4) }).unwrap();
    let held = (0..3).map(|n| hub.receive(0, publisher, &data(flow, n, b"x")).hold).collect::<Vec<_>>();
    assert_eq!(held, [Hold::None, Hold::Penalty, Hold::Penalty]);
    assert_eq!(credits(&sent(&mut hub, 0, publisher)), 2);
    let loss = hub.losses(9).0[0];
    assert_eq!((loss.conn, loss.flow, loss.cause, loss.count), (publisher, Some(flow), Cause::Policed, 2));
    assert_eq!(hub.losses(9), (vec![], false));
}

#[test]
fn messages_beyond_the_credit_meet_a_full_queue() {
    let mut hub = hub();
    let (publisher, _, _, flow) = pair(&mut hub, 2);
    let bytes: Vec<u8> = (0..3).flat_map(|n| data(flow, n, b"x")).collect();
    assert_eq!(hub.receive(0, publisher, &bytes).hold, Hold::Penalty);
    assert_eq!((hub.totals().ingested, hub.totals().overflow), (2, 1));
}

#[test]
fn a_flow_that_comes_back_may_send_its_whole_queue_before_the_old_messages_are_gone() {
    let mut hub = hub();
    let (publisher, _, topic, flow) = pair(&mut hub, 4);
    publish(&mut hub, publisher, flow, 3, b"old");
    hub.unadvertise(publisher, flow).unwrap();
    let flow = hub.advertise(publisher, topic, &offer(4)).unwrap();
    let held = (0..4).map(|n| hub.receive(0, publisher, &data(flow, n, b"new")).hold);
    assert!(held.collect::<Vec<_>>().iter().all(|hold| *hold == Hold::None));
    run(&mut hub, 0);
    assert_eq!(credits(&sent(&mut hub, 0, publisher)), 4);
}

#[test]
fn a_client_that_does_not_read_is_owed_one_credit_frame_for_each_flow() {
    let mut hub = hub();
    let (publisher, _, _, flow) = pair(&mut hub, 1);
    let other = hub.declare("other", Share::default()).unwrap();
    let second = hub.advertise(publisher, other, &offer(4)).unwrap();
    for n in 0..1_000 {
        hub.receive(0, publisher, &[data(flow, n, b"x"), data(second, n, b"x")].concat());
        run(&mut hub, 0);
    }
    let due =
        [Owned::Credit { stream: flow.0, amount: 1_000 }, Owned::Credit { stream: second.0, amount: 1_000 }];
    assert_eq!(sent(&mut hub, 0, publisher), due);
    assert_eq!(sent(&mut hub, 0, publisher), []);
}

#[test]
fn no_credit_is_sent_for_a_flow_that_has_ended() {
    let mut hub = hub();
    let (publisher, _, topic, flow) = pair(&mut hub, 1);
    publish(&mut hub, publisher, flow, 1, b"x");
    run(&mut hub, 0);
    hub.unadvertise(publisher, flow).unwrap();
    assert_eq!(hub.advertise(publisher, topic, &offer(1)).unwrap(), flow);
    assert_eq!(credits(&sent(&mut hub, 0, publisher)), 0);
}

#[test]
fn a_probe_is_echoed_at_once() {
    let mut hub = hub();
    let conn = client(&mut hub, "a");
    hub.receive(77, conn, &probe(5));
    assert_eq!(sent(&mut hub, 78, conn), [Owned::Probe { sequence: 5, t_echoed_ns: 77 }]);
}

#[test]
fn closing_sends_what_waits_and_then_the_reason() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    hub.receive(0, publisher, &data(flow, 0, b"x"));
    run(&mut hub, 0);
    hub.close(0, subscriber, 6, "enough").unwrap();
    let mut out = Vec::new();
    assert_eq!(hub.fill(0, subscriber, &mut out, usize::MAX), Filled::Last);
    assert!(matches!(&frames(&out)[..], [Owned::Data { .. }, Owned::Error(6, text)] if text == "enough"));
    hub.hang_up(subscriber, "closed");
    assert_eq!(hub.events().pop_back(), Some(Event::Closed { conn: subscriber, reason: "enough".into() }));
    assert_eq!(hub.send(0, subscriber, b"x"), Err(ChangeError::unknown("connection", subscriber.0)));
}

#[test]
fn nothing_new_is_queued_for_a_connection_that_is_closing() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    hub.close(0, subscriber, 0, "").unwrap();
    hub.receive(0, publisher, &data(flow, 0, b"x"));
    run(&mut hub, 0);
    assert_eq!(sent(&mut hub, 0, subscriber), [Owned::Goodbye]);
}

#[test]
fn a_connection_that_leaves_does_not_end_the_flow_that_has_got_its_number() {
    let mut hub = hub();
    let (leaving, _, topic, old) = pair(&mut hub, 4);
    hub.close(0, leaving, 0, "enough").unwrap();
    let other = client(&mut hub, "other");
    let flow = hub.advertise(other, topic, &offer(4)).unwrap();
    assert_eq!(flow, old);
    hub.hang_up(leaving, "closed");
    publish(&mut hub, other, flow, 4, b"x");
    run(&mut hub, 0);
    assert_eq!(credits(&sent(&mut hub, 0, other)), 4);
}

#[test]
fn a_client_that_says_goodbye_is_gone() {
    let mut hub = hub();
    let conn = client(&mut hub, "a");
    hub.receive(0, conn, &encode(&Frame::Goodbye));
    assert!(hub.subscribe(conn, "#", None, &Need::default()).is_err());
    let again = client(&mut hub, "a");
    assert_ne!(again, conn);
}

#[test]
fn what_waited_for_a_client_that_is_gone_is_counted() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    hub.receive(0, publisher, &data(flow, 0, b"x"));
    run(&mut hub, 0);
    hub.hang_up(subscriber, "closed by the client");
    assert_eq!(hub.totals().abandoned, 1);
    assert!(hub.events().iter().any(|event| is_closed(event, subscriber)));
}

#[test]
fn losses_of_a_client_that_is_gone_are_not_those_of_the_client_that_has_got_its_number() {
    let mut hub = hub();
    let (publisher, _, _, flow) = pair(&mut hub, 8);
    let header = DataHeader { stream: flow.0, timeout_ns: 1, ..DataHeader::default() };
    hub.receive(0, publisher, &encode(&Frame::Data(Data { header, attributes: &[], payload: b"x" })));
    hub.hang_up(publisher, "closed by the client");
    run(&mut hub, 1_000);
    client(&mut hub, "other");
    assert_eq!(hub.losses(9), (vec![], false));
    assert_eq!(hub.totals().expired, 1);
}

#[test]
fn losses_are_handed_over_in_portions_however_many_there_are() {
    let mut hub = hub();
    let publisher = client(&mut hub, "publisher");
    for n in 0..1_000 {
        let topic = hub.declare(&format!("t/{n}"), Share::default()).unwrap();
        let flow = hub.advertise(publisher, topic, &offer(1)).unwrap();
        publish(&mut hub, publisher, flow, 3, b"x");
    }
    // Who comes meanwhile takes none of them away.
    client(&mut hub, "other");
    hub.declare("other", Share::default()).unwrap();
    let portions: Vec<_> = std::iter::from_fn(|| Some(hub.losses(256))).take(5).collect();
    let sizes: Vec<_> = portions.iter().map(|(losses, more)| (losses.len(), *more)).collect();
    assert_eq!(sizes, [(256, true), (256, true), (256, true), (232, false), (0, false)]);
    assert!(portions.iter().flat_map(|(losses, _)| losses).all(|loss| loss.count == 2));
}

#[test]
fn losses_on_a_topic_that_is_gone_are_not_those_of_the_topic_that_has_got_its_number() {
    let mut hub = hub();
    let (publisher, subscriber, topic, flow) = pair(&mut hub, 1);
    publish(&mut hub, publisher, flow, 2, b"x");
    run(&mut hub, 0);
    sent(&mut hub, 0, subscriber);
    hub.unadvertise(publisher, flow).unwrap();
    hub.forget(topic).unwrap();
    assert_eq!(hub.declare("other", Share::default()).unwrap(), topic);
    let again = hub.advertise(publisher, topic, &offer(1)).unwrap();
    publish(&mut hub, publisher, again, 2, b"x");
    let (losses, _) = hub.losses(9);
    assert_eq!(losses.iter().map(|loss| (loss.topic, loss.count)).collect::<Vec<_>>(), [(topic, 1)]);
    assert_eq!(hub.totals().overflow, 2);
}

#[test]
fn a_client_whose_room_is_half_full_of_bytes_is_written_to_at_once() {
    let mut hub = hub_with(Config { output_bytes: 20_000, ..Config::default() });
    let (publisher, subscriber, _, flow) = pair(&mut hub, 32);
    publish(&mut hub, publisher, flow, 16, &[0; 1_000]);
    let steps = (0..16).take_while(|_| !hub.is_crowded() && hub.step(0)).count();
    assert_eq!(steps, 10);
    hub.gather(0);
    assert!(!hub.defer(subscriber) && !hub.is_crowded());
}

#[test]
fn what_is_beyond_the_room_for_bytes_is_counted() {
    let mut hub = hub_with(Config { output_bytes: 5_000, ..Config::default() });
    let (publisher, subscriber, topic, flow) = pair(&mut hub, 32);
    publish(&mut hub, publisher, flow, 16, &[0; 1_000]);
    run(&mut hub, 0);
    assert_eq!(hub.totals().dropped, 12);
    let (losses, _) = hub.losses(9);
    let told: Vec<_> = losses.iter().map(|loss| (loss.conn, loss.topic, loss.cause, loss.count)).collect();
    assert_eq!(told, [(subscriber, topic, Cause::Dropped, 12)]);
}

#[test]
fn a_slow_subscriber_is_told_so_and_closed_if_that_is_the_policy() {
    let engine = Config { output_capacity: 1, overflow: Overflow::Disconnect, ..Config::default() };
    let mut hub = hub_with(engine);
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    publish(&mut hub, publisher, flow, 2, b"x");
    run(&mut hub, 0);
    assert!(matches!(&sent(&mut hub, 0, subscriber)[..], [Owned::Error(4, _)]));
}

#[test]
fn a_handshake_that_takes_too_long_is_broken_off() {
    let mut hub = Hub::new(HubConfig { handshake_ns: 100, grace_ns: 50, ..HubConfig::default() }).unwrap();
    let slow = hub.open(0, "tcp://slow".into()).unwrap();
    let conn = client(&mut hub, "quick");
    assert_eq!(hub.next_timer(), Some(100));
    assert_eq!(hub.expire(100, usize::MAX), []);
    assert!(matches!(sent(&mut hub, 100, slow)[1], Owned::Error(5, _)));
    assert_eq!(sent(&mut hub, 100, conn), []);
    assert_eq!(hub.expire(150, usize::MAX), [slow]);
}

#[test]
fn no_more_connections_than_allowed_are_opened() {
    let mut hub = Hub::new(HubConfig { connections_max: 1, ..HubConfig::default() }).unwrap();
    let first = hub.open(0, "a".into());
    assert!(first.is_some() && hub.open(0, "b".into()).is_none());
    assert_eq!(hub.refusals().connections, 1);
    hub.hang_up(first.unwrap(), "");
    assert!(hub.open(0, "b".into()).is_some());
}

#[test]
fn control_frames_wait_while_the_control_plane_is_busy() {
    let mut hub = Hub::new(HubConfig { control_capacity: 3, ..HubConfig::default() }).unwrap();
    let (publisher, _, _, flow) = pair(&mut hub, 8);
    let bytes: Vec<u8> = (0..5).flat_map(|n| control(&[n])).chain(data(flow, 0, b"x")).collect();
    let first = hub.receive(0, publisher, &bytes);
    assert_eq!((first.hold, hub.events().len()), (Hold::Busy, 3));
    hub.events().clear();
    let second = hub.receive(0, publisher, &bytes[first.consumed..]);
    assert_eq!((second.hold, hub.events().len()), (Hold::None, 2));
    assert_eq!(hub.totals().ingested, 1);
}

#[test]
fn the_delay_of_a_topic_is_from_ingress_to_egress() {
    let mut hub = hub();
    let (publisher, subscriber, topic, flow) = pair(&mut hub, 8);
    hub.receive(1_000, publisher, &data(flow, 0, b"x"));
    run(&mut hub, 2_000);
    sent(&mut hub, 51_000, subscriber);
    let status = hub.topic_status(0, 10)[0];
    assert_eq!((status.topic, status.delay_max_ns, status.counters.delivered), (topic, 50_000, 1));
    let published = hub.client_status(0, 100).0.into_iter().find(|client| client.conn == publisher).unwrap();
    assert_eq!((published.served, published.waiting), (1, 0));
}

#[test]
fn calls_on_what_belongs_to_others_are_refused() {
    let mut hub = hub();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 8);
    let subscription = hub.subscribe(subscriber, "a", None, &Need::default()).unwrap();
    assert!(hub.unadvertise(subscriber, flow).is_err());
    assert!(hub.unsubscribe(publisher, subscription).is_err());
    assert!(hub.connect(publisher, "again", None).is_err());
    assert!(hub.send(0, ConnId(1 << 40), b"x").is_err());
}

#[test]
fn datagrams_are_taken_from_the_address_that_a_client_named() {
    let mut hub = hub_with_datagrams();
    let (conn, address) = datagram_client(&mut hub);
    let topic = hub.declare("t", Share::default()).unwrap();
    let flow = hub.advertise(conn, topic, &offer(4)).unwrap();
    hub.subscribe(conn, "t", None, &Need::default()).unwrap();
    hub.receive_datagram(0, address, &[data(flow, 0, b"x"), data(flow, 1, b"y")].concat());
    hub.receive_datagram(0, "127.0.0.1:8".parse().unwrap(), &data(flow, 2, b"z"));
    hub.receive_datagram(0, address, b"garbage");
    run(&mut hub, 0);
    assert_eq!(hub.refusals().datagrams, 2);
    sent(&mut hub, 0, conn);
    let mut out = Vec::new();
    assert!(hub.fill_datagram(0, conn, Traffic::All, &mut out));
    assert_eq!(payloads(&frames(&out)), [b"x", b"y"]);
    assert!(!hub.fill_datagram(0, conn, Traffic::All, &mut Vec::new()));
    assert_eq!(credits(&sent(&mut hub, 0, conn)), 0);
}

#[test]
fn a_frame_too_large_for_a_datagram_goes_with_the_control_frames() {
    let mut hub = hub_with_datagrams();
    let (publisher, _, _, flow) = pair(&mut hub, 8);
    let (conn, _) = datagram_client(&mut hub);
    hub.subscribe(conn, "#", None, &Need::default()).unwrap();
    let bytes = [
        data(flow, 0, b"x"),
        data(flow, 1, &[0; 70_000]),
        data(flow, 2, &[0; 60_000]),
        data(flow, 3, &[0; 9_000]),
    ];
    hub.receive(0, publisher, &bytes.concat());
    run(&mut hub, 0);
    let mut sizes = Vec::new();
    let mut out = Vec::new();
    while hub.fill_datagram(0, conn, Traffic::All, &mut out) {
        sizes.push(payloads(&frames(&out)).iter().map(Vec::len).collect::<Vec<_>>());
        out.clear();
    }
    assert_eq!(sizes, [vec![1, 60_000], vec![9_000]]);
    assert_eq!(payloads(&sent(&mut hub, 0, conn)).iter().map(Vec::len).collect::<Vec<_>>(), [70_000]);
}

#[test]
fn large_frames_leave_the_queue_as_fast_as_they_can_be_written() {
    let mut hub = hub_with_datagrams();
    let (publisher, _, _, flow) = pair(&mut hub, 64);
    let (conn, _) = datagram_client(&mut hub);
    hub.subscribe(conn, "#", None, &Need::default()).unwrap();
    publish(&mut hub, publisher, flow, 64, &[0; 70_000]);
    run(&mut hub, 0);
    assert!(!hub.fill_datagram(0, conn, Traffic::All, &mut Vec::new()));
    assert!(!hub.fill_datagram(0, conn, Traffic::All, &mut Vec::new()));
    let mut out = Vec::new();
    assert_eq!(hub.fill(0, conn, &mut out, 2 << 20), Filled::Part);
    assert_eq!(payloads(&frames(&out)).len(), 15);
    assert!(!hub.fill_datagram(0, conn, Traffic::All, &mut Vec::new()));
    assert_eq!(payloads(&sent(&mut hub, 0, conn)).len(), 15);
}

#[test]
fn a_client_cannot_ask_for_datagrams_where_there_are_none() {
    let mut hub = hub();
    let conn = hub.open(0, "tcp://a".into()).unwrap();
    hub.receive(0, conn, &hello());
    let refused = hub.connect(conn, "a", Some("127.0.0.1:9".parse().unwrap()));
    assert!(matches!(refused, Err(ChangeError::Invalid(invalid)) if invalid.field == "udp"));
    assert!(hub.connect(conn, "a", None).is_ok());
}

#[test]
fn probes_in_datagrams_are_echoed_up_to_what_may_wait_and_then_refused() {
    let mut hub = hub_with_datagrams();
    let (conn, address) = datagram_client(&mut hub);
    let probes: Vec<u8> = (0..1_000).flat_map(probe).collect();
    (0..100).for_each(|_| hub.receive_datagram(0, address, &probes));
    let echoed = sent(&mut hub, 0, conn).len() as u64;
    assert!((1..50_000).contains(&echoed), "{echoed}");
    assert!(hub.refusals().datagrams > 0);
}

#[test]
fn the_rest_of_a_datagram_full_of_what_is_not_taken_in_is_not_looked_at() {
    let mut hub = hub_with_datagrams();
    let (conn, address) = datagram_client(&mut hub);
    let topic = hub.declare("t", Share::default()).unwrap();
    let flow = hub.advertise(conn, topic, &offer(1)).unwrap();
    let bytes: Vec<u8> = (0..1_000).flat_map(|n| data(flow, n, b"x")).collect();
    hub.receive_datagram(0, address, &bytes);
    assert_eq!((hub.totals().ingested, hub.totals().overflow, hub.refusals().datagrams), (1, 64, 1));
}
