//! Turns while topics are guarded, taken one by one: actions are counted, not time.

use giusto_core::policer::Burst;

use super::*;

/// Every slice is one action.
fn one_action() -> ServerConfig {
    ServerConfig { slice_ns: 0, ..ServerConfig::default() }
}

/// Much at once, and more at once again.
const LOOSE: Limit = Limit { count: 1, period_ns: 1, burst: Burst::messages(64), jitter_ns: 0 };

/// A limited flow on a guarded topic.
fn guard(rig: &mut Rig, conn: ConnId, limit: Limit) -> FlowId {
    let hub = &mut rig.turner.hub;
    let topic = hub.declare("guarded", Share::default()).unwrap();
    assert!(hub.guard(topic, true).unwrap());
    let bounds = Bounds { capacity: 64, limit_bytes: 1 << 10 };
    let flow = hub.advertise(conn, topic, &Offer { bounds, limit: Some(limit) }).unwrap();
    rig.turner.shift();
    flow
}

/// Waits until so many urgent connections have something, and takes no turn meanwhile.
fn await_urgent(rig: &mut Rig, count: usize) {
    let start = Instant::now();
    rig.turner.look_urgent();
    while rig.turner.urgent_ready.len() < count {
        assert!(start.elapsed() < WATCHDOG);
        std::thread::yield_now();
        rig.turner.look_urgent();
    }
}

/// Payloads of the data frames that have come.
fn payloads(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    stream.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while let Ok(Decoded::Frame { frame, consumed }) = Decoder::default().decode(&bytes[at..]) {
        if let Frame::Data(data) = frame {
            found.push(data.payload.to_vec());
        }
        at += consumed;
    }
    found
}

#[test]
fn a_flood_makes_a_guarded_message_wait_for_one_action_and_no_more() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (mut publisher, conn) = rig.client("publisher");
    let (mut subscriber, reader) = rig.client("subscriber");
    let mut flooders: Vec<_> = (0..40).map(|n| rig.client(&format!("flooder {n}"))).collect();
    let rest = rig.turner.hub.declare("rest", Share::default()).unwrap();
    for (stream, id) in &mut flooders {
        let flow = rig.turner.hub.advertise(*id, rest, &Offer::default()).unwrap();
        stream.write_all(&messages(flow, 200, &[0; 200])).unwrap();
    }
    rig.turner.hub.subscribe(reader, "guarded", None, &Need::default()).unwrap();
    let guarded = guard(&mut rig, conn, LOOSE);
    rig.until("the rest is under way", |turner| turner.hub.has_rest());
    let mut bytes = Vec::new();
    for round in 0..20 {
        publisher.write_all(&messages(guarded, 1, format!("{round}").as_bytes())).unwrap();
        await_urgent(&mut rig, 1);
        let before = rig.turner.hub.totals().delivered;
        rig.turner.turn(true, Nanos::MAX);
        assert_eq!(rig.turner.hub.totals().delivered, before + 1);
        // One action of the rest, unless its turn is over with that.
        rig.turner.turn(true, Nanos::MAX);
    }
    let start = Instant::now();
    while payloads(&mut subscriber, &mut bytes).len() < 20 {
        assert!(start.elapsed() < WATCHDOG);
    }
    assert!(rig.turner.hub.has_rest());
}

#[test]
fn a_slice_without_time_is_one_action_and_the_next_goes_on_where_it_ended() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (conn, subscriber) = (rig.bare_client("publisher"), rig.bare_client("subscriber"));
    let flow = rig.flow(conn, 64, None);
    let other = rig.bare_client("other");
    guard(&mut rig, other, LOOSE);
    rig.subscribe(subscriber);
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    rig.turner.hub.receive(0, conn, &messages(flow, 10, b"x"));
    for selected in 1..=10 {
        while rig.turner.hub.totals().selected < selected {
            rig.turner.turn(true, Nanos::MAX);
        }
        assert_eq!(rig.turner.hub.totals().selected, selected);
    }
}

#[test]
fn an_urgent_connection_is_read_before_the_others() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (mut other, other_conn) = rig.client("other");
    let (mut publisher, conn) = rig.client("publisher");
    let flow = rig.flow(other_conn, 64, None);
    let guarded = guard(&mut rig, conn, LOOSE);
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    other.write_all(&messages(flow, 1, b"x")).unwrap();
    publisher.write_all(&messages(guarded, 1, b"x")).unwrap();
    let start = Instant::now();
    while rig.turner.wait(Some(0)) < 2 {
        assert!(start.elapsed() < WATCHDOG);
    }
    assert!(!rig.turner.turn(true, Nanos::MAX));
    assert_eq!((rig.turner.hub.totals().ingested, rig.turner.hub.totals().selected), (1, 1));
    assert_eq!(rig.turner.last_read.0, conn);
    rig.until("the other is read", |turner| turner.hub.totals().ingested == 2);
}

#[test]
fn who_breaks_an_offer_is_read_with_the_rest_until_its_probation_is_over() {
    let mut rig = Rig::tcp();
    let (mut publisher, conn) = rig.client("publisher");
    let guarded = guard(&mut rig, conn, Limit::min_sep(1_000_000_000_000));
    publisher.write_all(&messages(guarded, 2, b"x")).unwrap();
    rig.until("it is policed", |turner| turner.hub.totals().policed == 1);
    assert_eq!(rig.turner.hub.portion_bytes(conn), None);
    publisher.write_all(&messages(guarded, 1, b"x")).unwrap();
    rig.until("it is reported with all", |turner| {
        turner.ready.iter().any(|&(token, _)| token == conn.0) || turner.hub.totals().policed == 2
    });
    rig.until("it is urgent again", |turner| turner.hub.portion_bytes(conn).is_some());
}

#[test]
fn when_nothing_is_guarded_any_more_everything_goes_on_as_before() {
    let mut rig = Rig::tcp();
    let (mut publisher, conn) = rig.client("publisher");
    let (mut subscriber, reader) = rig.client("subscriber");
    rig.subscribe(reader);
    let flow = guard(&mut rig, conn, LOOSE);
    publisher.write_all(&messages(flow, 1, b"a")).unwrap();
    rig.until("it is out", |turner| turner.hub.totals().delivered == 1);
    let topic = giusto_core::id::TopicId(0);
    assert!(rig.turner.hub.guard(topic, false).unwrap());
    publisher.write_all(&messages(flow, 1, b"b")).unwrap();
    rig.until("it is out", |turner| turner.hub.totals().delivered == 2);
    let (start, mut bytes) = (Instant::now(), Vec::new());
    while payloads(&mut subscriber, &mut bytes).len() < 2 {
        assert!(start.elapsed() < WATCHDOG);
    }
    assert_eq!(payloads(&mut subscriber, &mut bytes), [b"a", b"b"]);
}

#[test]
fn a_server_that_stops_sends_what_is_guarded_and_says_goodbye() {
    let mut rig = Rig::tcp();
    let (mut publisher, conn) = rig.client("publisher");
    let (mut subscriber, reader) = rig.client("subscriber");
    rig.subscribe(reader);
    let flow = guard(&mut rig, conn, LOOSE);
    publisher.write_all(&messages(flow, 3, b"x")).unwrap();
    await_urgent(&mut rig, 1);
    rig.turner.read_urgent();
    drop(publisher);
    let readable = subscriber.try_clone().unwrap();
    let reads = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut readable = readable;
        readable.read_to_end(&mut bytes).unwrap();
        bytes
    });
    rig.turner.part(10_000_000_000);
    let mut bytes = reads.join().unwrap();
    assert_eq!(payloads(&mut subscriber, &mut bytes).len(), 3);
    assert!(bytes.ends_with(&encode(&Frame::Goodbye)));
}

#[test]
fn a_period_without_time_serves_what_is_guarded_and_one_action_of_the_rest() {
    let mut rig = Rig::tcp();
    let (conn, rest_conn) = (rig.bare_client("publisher"), rig.bare_client("rest"));
    let rest = rig.flow(rest_conn, 64, None);
    let guarded = guard(&mut rig, conn, LOOSE);
    let hub = &mut rig.turner.hub;
    hub.receive(0, rest_conn, &messages(rest, 9, b"x"));
    hub.receive(10, conn, &messages(guarded, 1, b"x"));
    assert!(!rig.turner.turn(true, Nanos::MIN));
    assert_eq!((rig.turner.hub.waiting_guarded(), rig.turner.hub.totals().selected), (0, 1));
    while rig.turner.hub.totals().selected == 1 {
        rig.turner.turn(true, Nanos::MIN);
    }
    assert_eq!(rig.turner.hub.totals().selected, 2);
}

#[test]
fn every_urgent_connection_that_has_something_is_read_once_in_a_turn_however_many_there_are() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let mut publishers: Vec<_> = (0..80).map(|n| rig.client(&format!("publisher {n}"))).collect();
    let topic = rig.turner.hub.declare("guarded", Share::default()).unwrap();
    assert!(rig.turner.hub.guard(topic, true).unwrap());
    let offer = Offer { bounds: Bounds { capacity: 64, limit_bytes: 900 }, limit: Some(Limit::min_sep(1)) };
    let flows: Vec<_> =
        publishers.iter().map(|&(_, id)| rig.turner.hub.advertise(id, topic, &offer).unwrap()).collect();
    while rig.turner.hub.shift_count() > 0 {
        rig.turner.shift();
    }
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    // Three messages, of which two make a portion: it is ready again after it was read.
    for ((stream, _), flow) in publishers.iter_mut().zip(&flows) {
        stream.write_all(&messages(*flow, 3, &[0; 840])).unwrap();
    }
    await_urgent(&mut rig, 80);
    rig.turner.read_urgent();
    let taken = rig.turner.hub.totals();
    assert_eq!(taken.ingested + taken.policed, 2 * 80);
}

#[test]
fn no_slice_begins_while_an_urgent_connection_has_something_though_the_wait_has_not_reported_it() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (mut publisher, conn) = rig.client("publisher");
    let guarded = guard(&mut rig, conn, LOOSE);
    let mut flooders: Vec<_> = (0..2 * READY_MAX).map(|n| rig.client(&format!("flooder {n}"))).collect();
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    for (stream, _) in &mut flooders {
        stream.write_all(&controls(1)).unwrap();
    }
    publisher.write_all(&messages(guarded, 1, b"x")).unwrap();
    await_urgent(&mut rig, 1);
    let start = Instant::now();
    // Sockets are reported in turn: after this report the flooders take all places of the next one.
    while rig.turner.wait(Some(0)) < READY_MAX || rig.turner.ready.iter().all(|&(token, _)| token != URGENT) {
        assert!(start.elapsed() < WATCHDOG);
    }
    rig.turner.ready.clear();
    rig.turner.turn(true, Nanos::MAX);
    assert_eq!((rig.turner.hub.totals().ingested, rig.turner.hub.totals().selected), (1, 1));
}

#[test]
fn who_sends_its_messages_byte_by_byte_is_read_with_the_rest() {
    let mut rig = Rig::tcp();
    let (mut publisher, conn) = rig.client("publisher");
    publisher.set_nodelay(true).unwrap();
    let guarded = guard(&mut rig, conn, Limit::min_sep(1));
    let message = messages(guarded, 1, b"x");
    let mut sent = 0;
    while rig.turner.hub.portion_bytes(conn).is_some() {
        publisher.write_all(&message[sent..=sent]).unwrap();
        await_urgent(&mut rig, 1);
        rig.turner.read_urgent();
        sent += 1;
    }
    assert!(sent < message.len());
    // The rest of it is taken in all the same.
    publisher.write_all(&message[sent..]).unwrap();
    rig.until("it is taken in", |turner| turner.hub.totals().ingested == 1);
}

#[test]
fn who_is_on_probation_is_not_read_first_though_it_is_still_watched_there() {
    let mut rig = Rig::tcp();
    let (mut publisher, conn) = rig.client("publisher");
    let guarded = guard(&mut rig, conn, LOOSE);
    publisher.write_all(&controls(20)).unwrap();
    await_urgent(&mut rig, 1);
    rig.turner.read_urgent();
    assert_eq!(rig.turner.hub.portion_bytes(conn), None);
    publisher.write_all(&messages(guarded, 1, b"x")).unwrap();
    await_urgent(&mut rig, 1);
    rig.turner.read_urgent();
    assert_eq!(rig.turner.hub.totals().ingested, 0);
    rig.turner.look_urgent();
    assert!(rig.turner.urgent_ready.is_empty());
    rig.until("it is read with the rest", |turner| turner.hub.totals().ingested == 1);
}

#[test]
fn the_end_of_a_client_takes_as_many_slices_as_it_has_portions() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (publisher, conn) = rig.client("publisher");
    guard(&mut rig, conn, LOOSE);
    for n in 0..1_000 {
        rig.turner.hub.subscribe(conn, &format!("a/{n}"), None, &Need::default()).unwrap();
    }
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    drop(publisher);
    await_urgent(&mut rig, 1);
    rig.turner.read_urgent();
    let mut slices = 0;
    while rig.turner.hub.has_unfinished() {
        rig.turner.turn(true, Nanos::MAX);
        slices += 1;
    }
    assert!(slices >= 1_000 / 16);
    let gone = |turner: &mut Turner| turner.hub.connect(conn, "publisher", None).is_err();
    assert!(gone(&mut rig.turner) && rig.turner.hub.connections().is_empty());
}

/// The notice that a topic has a name of 200 bytes.
fn name(number: u8) -> Vec<u8> {
    let name = vec![b'n'; 200];
    [&b"\x83\xa2op\xa7topicis\xa6number"[..], &[number], b"\xa4name\xd9\xc8", &name].concat()
}

#[test]
fn calls_wait_while_more_names_wait_than_a_turn_writes() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (_subscriber, reader) = rig.client("subscriber");
    let (_publisher, conn) = rig.client("publisher");
    guard(&mut rig, conn, LOOSE);
    // Names go first when the handshake is out.
    rig.turner.hub.mark(reader);
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    rig.turner.mailbox.open();
    for number in 0..100 {
        rig.turner.mailbox.tell(move |hub, now| hub.send(now, reader, &name(number)).unwrap()).unwrap();
    }
    let (mut held, mut left) = (0, 100);
    rig.until("the bell is heard", |turner| !turner.calls.is_empty());
    while left > 0 {
        let owed = rig.turner.hub.owes_names();
        left = rig.turner.calls.len();
        rig.turner.turn(true, Nanos::MAX);
        if owed {
            assert_eq!(rig.turner.calls.len(), left);
            held += 1;
        }
    }
    // Of 25 KB, 3 wait at once: so many times a write came before the next call.
    assert!(held >= 7, "{held}");
}

#[test]
fn nobody_waits_for_the_names_of_a_client_that_does_not_read() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let stuck = rig.bare_client("stuck");
    let (_publisher, conn) = rig.client("publisher");
    guard(&mut rig, conn, LOOSE);
    let mut hello = Vec::new();
    rig.turner.hub.fill(0, stuck, &mut hello, usize::MAX);
    (0..100).for_each(|number| rig.turner.hub.send(0, stuck, &name(number)).unwrap());
    assert!(rig.turner.hub.owes_names());
    rig.until("it is found out", |turner| !turner.hub.owes_names());
    rig.turner.hub.send(0, stuck, &name(100)).unwrap();
    assert!(!rig.turner.hub.owes_names());
}

#[test]
fn what_the_socket_of_an_urgent_connection_has_not_taken_is_written_with_the_rest() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], one_action());
    let (mut stream, conn) = rig.client("both");
    let flooder = rig.bare_client("flooder");
    let flow = rig.flow(flooder, 1_024, None);
    rig.turner.hub.subscribe(conn, "t", None, &Need::default()).unwrap();
    guard(&mut rig, conn, LOOSE);
    let message = messages(flow, 1, &[0; 100_000]);
    rig.until("its socket is full", |turner| {
        turner.hub.receive(clock::now(), flooder, &message);
        turner.sockets.is_blocked(conn)
    });
    stream.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let start = Instant::now();
    let takes = |turner: &mut Turner| {
        turner.wait(Some(0));
        turner.ready.iter().any(|&(token, flags)| token == conn.0 && flags == epoll::EventFlags::OUT)
    };
    while !takes(&mut rig.turner) {
        assert!(start.elapsed() < WATCHDOG, "its socket takes bytes again");
        let _ = stream.read(&mut buffer);
    }
    assert_eq!(rig.turner.read_urgent(), 0);
    assert!(rig.turner.sockets.is_blocked(conn));
    rig.until("what was kept is out", |turner| {
        let _ = stream.read(&mut buffer);
        !turner.sockets.is_blocked(conn)
    });
    rig.turner.sockets.shift(conn, false);
    rig.until("all is out", |turner| {
        let _ = stream.read(&mut buffer);
        !turner.hub.has_work() && turner.hub.dirty_count() == 0 && !turner.sockets.is_blocked(conn)
    });
}

#[test]
fn a_slice_takes_datagrams_one_by_one() {
    let mut rig = Rig::new(&["tcp://127.0.0.1:0", "udp://127.0.0.1:0"], one_action());
    let (_publisher, conn) = rig.client("publisher");
    guard(&mut rig, conn, LOOSE);
    rig.until("nothing is left to do", |turner| turner.idle_ns().is_none_or(|ns| ns > 0));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..40 {
        socket.send_to(&[0; 100], rig.addresses[1].strip_prefix("udp://").unwrap()).unwrap();
    }
    let mut before = 0;
    rig.until("all are taken", |turner| {
        let taken = turner.hub.refusals().datagrams;
        assert!(taken <= before + 1, "{taken} after {before}");
        before = taken;
        taken == 40
    });
}
