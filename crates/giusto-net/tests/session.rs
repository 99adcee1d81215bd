//! The client's machine: what comes in as bytes comes out of the right inboxes, however it was cut.

use std::sync::Arc;

use giusto_core::frame::attributes::{self, Value};
use giusto_core::frame::{
    Credit, Data, DataHeader, Decoded, Decoder, Failure, Frame, Hello, LIMIT_BYTES, Probe, VERSION,
};
use giusto_core::matching::Filter;
use giusto_core::record::{Batch, Column, Party, Portion, Rows, Unfolding};
use giusto_net::session::{Flow, Limits, Occasion, Overflow, Session, Taken, Watch};
use proptest::collection::vec;
use proptest::prelude::*;

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out, LIMIT_BYTES).unwrap();
    out
}

fn hello() -> Vec<u8> {
    encode(&Frame::Hello(Hello { version: VERSION }))
}

/// A notice as the broker writes it: `{"op": …, "number": …, "name": …}`.
fn notice(op: &str, number: u8, name: &str) -> Vec<u8> {
    let mut body = vec![0x83];
    let text = |body: &mut Vec<u8>, text: &str| {
        body.push(0xa0 | text.len() as u8);
        body.extend(text.as_bytes());
    };
    text(&mut body, "op");
    text(&mut body, op);
    text(&mut body, "number");
    body.push(number);
    text(&mut body, "name");
    text(&mut body, name);
    encode(&Frame::Control(&body))
}

fn topic(number: u8, name: &str) -> Vec<u8> {
    notice("topicis", number, name)
}

fn source(number: u8, name: &str) -> Vec<u8> {
    notice("sourceis", number, name)
}

fn data(stream: u32, source: u32, sequence: u64, attributes: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = DataHeader { stream, source, sequence, t_sent_ns: 10, ..DataHeader::default() };
    encode(&Frame::Data(Data { header, attributes, payload }))
}

fn message(stream: u32, sequence: u64, payload: &[u8]) -> Vec<u8> {
    data(stream, 1, sequence, &[], payload)
}

/// An open session that knows topic 1 as `a`, topic 2 as `b/c` and source 1 as `me`.
fn open() -> Session {
    let mut session = Session::default();
    session.begin();
    feed(&mut session, &[hello(), topic(1, "a"), topic(2, "b/c"), source(1, "me")].concat());
    session
}

fn feed(session: &mut Session, bytes: &[u8]) {
    assert_eq!(session.receive(100, bytes).0, bytes.len());
}

fn inbox(session: &mut Session, pattern: &str) -> u32 {
    session.open_inbox(pattern, None, Limits::default(), Watch::default()).unwrap()
}

/// Topic, source, sequence and payload of all that waits.
fn drain(session: &mut Session, key: u32) -> Vec<(String, String, u64, Vec<u8>)> {
    let take = || {
        session.take(key, |message| {
            let (topic, source) = (message.topic.to_string(), message.source.to_string());
            (topic, source, message.data.header.sequence, message.data.payload.to_vec())
        })
    };
    std::iter::from_fn(take).collect()
}

fn sequences(session: &mut Session, key: u32) -> Vec<u64> {
    drain(session, key).into_iter().map(|(_, _, sequence, _)| sequence).collect()
}

#[test]
fn a_message_goes_to_every_inbox_whose_pattern_covers_its_topic() {
    let mut session = open();
    let (exact, wild, other) =
        (inbox(&mut session, "b/c"), inbox(&mut session, "b/+"), inbox(&mut session, "a"));
    feed(&mut session, &message(2, 0, b"x"));
    let expected = vec![("b/c".to_owned(), "me".to_owned(), 0, b"x".to_vec())];
    assert_eq!(drain(&mut session, exact), expected);
    assert_eq!(drain(&mut session, wild), expected);
    assert_eq!(drain(&mut session, other), []);
}

#[test]
fn an_inbox_that_is_opened_or_closed_later_changes_the_route() {
    let mut session = open();
    let first = inbox(&mut session, "a");
    feed(&mut session, &message(1, 0, b""));
    let second = inbox(&mut session, "#");
    feed(&mut session, &message(1, 1, b""));
    session.close_inbox(first);
    feed(&mut session, &message(1, 2, b""));
    assert_eq!(sequences(&mut session, second), [1, 2]);
    assert_eq!((session.waiting(first), session.waiting(second)), (None, Some(0)));
}

#[test]
fn a_filter_looks_at_each_message() {
    let mut session = open();
    let filter: Filter = "heart > 100".parse().unwrap();
    let some = session.open_inbox("a", Some(&filter), Limits::default(), Watch::default()).unwrap();
    let every = inbox(&mut session, "a");
    for (sequence, heart) in [90, 110, 100, 130].into_iter().enumerate() {
        let mut block = Vec::new();
        let values = [("heart".to_owned(), Value::Int(heart))].into();
        attributes::encode(&values, &mut block).unwrap();
        feed(&mut session, &data(1, 1, sequence as u64, &block, b""));
    }
    assert_eq!(sequences(&mut session, some), [1, 3]);
    assert_eq!(sequences(&mut session, every), [0, 1, 2, 3]);
}

#[test]
fn what_waits_keeps_its_names_when_the_numbers_are_used_again() {
    let mut session = open();
    let every = inbox(&mut session, "#");
    let again = [message(1, 0, b""), topic(1, "new"), source(1, "you"), message(1, 1, b"")];
    feed(&mut session, &again.concat());
    let named: Vec<_> =
        drain(&mut session, every).into_iter().map(|(topic, source, ..)| (topic, source)).collect();
    assert_eq!(named, [("a".into(), "me".into()), ("new".into(), "you".into())]);
}

#[test]
fn a_topic_that_was_never_named_is_counted() {
    let mut session = open();
    inbox(&mut session, "#");
    feed(&mut session, &message(9, 0, b""));
    assert_eq!(session.unroutable(), 1);
}

#[test]
fn inboxes_survive_a_connection_and_numbers_do_not() {
    let mut session = open();
    let every = inbox(&mut session, "#");
    feed(&mut session, &message(1, 0, b""));
    session.lose("pulled", 0);
    assert_eq!(session.take_loss().unwrap().reason, "pulled");
    session.begin();
    feed(&mut session, &[hello(), message(1, 1, b""), topic(1, "b/c"), message(1, 2, b"")].concat());
    let topics: Vec<_> = drain(&mut session, every).into_iter().map(|(topic, ..)| topic).collect();
    assert_eq!(topics, ["a", "b/c"]);
    assert_eq!(session.unroutable(), 1);
}

#[test]
fn credit_goes_to_its_flow_and_a_loss_takes_it() {
    let mut session = open();
    let flow = Arc::new(Flow::default());
    session.bind_flow(7, Some(1), &flow);
    assert_eq!((flow.take(), flow.take()), (Taken::Credit { number: 7, left: 0 }, Taken::Nothing));
    let credit = |stream| encode(&Frame::Credit(Credit { stream, amount: 1 }));
    feed(&mut session, &[credit(8), credit(7)].concat());
    assert_eq!(flow.take(), Taken::Credit { number: 7, left: 0 });
    session.lose("pulled", 0);
    assert_eq!(session.take_loss().unwrap().under_way, 1);
    assert_eq!(flow.take(), Taken::Unbound);
}

#[test]
fn a_probe_is_echoed_and_an_echo_is_not() {
    let mut session = open();
    let probe = Probe { echo: false, sequence: 3, t_sent_ns: 5, t_echoed_ns: 0 };
    let echo = Probe { echo: true, t_echoed_ns: 100, ..probe };
    feed(&mut session, &[encode(&Frame::Probe(probe)), encode(&Frame::Probe(echo))].concat());
    assert_eq!(session.take_replies(), encode(&Frame::Probe(echo)));
}

#[test]
fn other_control_bodies_are_handed_up_in_order() {
    let mut session = open();
    feed(&mut session, &[encode(&Frame::Control(b"one")), encode(&Frame::Control(b"two"))].concat());
    assert!(session.wants_attention());
    assert_eq!(session.take_control().collect::<Vec<_>>(), [b"one", b"two"]);
    assert!(!session.wants_attention());
}

#[test]
fn the_connection_ends_with_the_reason_that_the_broker_gave() {
    let endings = [
        (encode(&Frame::Error(Failure { code: 4, text: "too slow" })), "too slow", 4),
        (encode(&Frame::Goodbye), "the broker said goodbye", 0),
        (hello(), "the broker sent Hello out of turn", 1),
        (vec![0; 8], "the broker sent something else than a frame: ", 1),
        (topic(5, "with/+/wildcard"), "the broker used a number or a name that cannot be", 1),
    ];
    for (bytes, reason, code) in endings {
        let mut session = open();
        session.receive(0, &[bytes, message(1, 0, b"")].concat());
        let loss = session.take_loss().unwrap();
        assert!(loss.reason.starts_with(reason), "{}", loss.reason);
        assert_eq!((loss.code, session.is_connected()), (code, false));
    }
}

#[test]
fn a_broker_of_another_version_is_refused() {
    let mut session = Session::default();
    session.begin();
    session.receive(0, &encode(&Frame::Hello(Hello { version: 2 })));
    assert!(session.take_loss().unwrap().reason.contains("version 2"));
}

#[test]
fn a_note_keeps_the_topic_that_it_was_made_for() {
    let mut session = open();
    let watch = Watch { late_ns: 50, ..Watch::default() };
    let key = session.open_inbox("a", None, Limits::default(), watch).unwrap();
    feed(&mut session, &message(1, 0, b""));
    session.purge(key);
    for i in 0..5_000 {
        feed(&mut session, &topic(1, &format!("other/{i}")));
    }
    let notes: Vec<_> = session.take_notes().into_iter().map(|n| (n.topic.to_string(), n.count)).collect();
    assert_eq!(notes, [("a".to_owned(), 1)]);
    assert!(!session.wants_attention());
}

#[test]
fn notes_are_gathered_until_they_are_taken() {
    let mut session = open();
    let limits = Limits { messages: 2, overflow: Overflow::DropNew, ..Limits::default() };
    let watch = Watch { late_ns: 50, gaps: true, ..Watch::default() };
    let key = session.open_inbox("a", None, limits, watch).unwrap();
    for sequence in [0, 1, 4] {
        feed(&mut session, &message(1, sequence, b""));
    }
    let notes: Vec<_> =
        session.take_notes().into_iter().map(|n| (n.inbox, n.occasion, n.count, n.worst_ns)).collect();
    assert_eq!(
        notes,
        [(key, Occasion::Late, 3, 90), (key, Occasion::Gap, 2, 0), (key, Occasion::Full, 1, 0)]
    );
    assert_eq!(session.take_notes(), []);
    let figures = session.figures(key, false);
    assert_eq!((figures[0].0.as_ref(), figures[0].1.messages, figures[0].1.lost), ("a", 3, 2));
}

#[test]
fn an_inbox_that_announces_is_told_of() {
    let mut session = open();
    let (quiet, loud) = (inbox(&mut session, "a"), inbox(&mut session, "a"));
    session.announce(loud);
    assert!(!session.has_announced());
    feed(&mut session, &message(1, 0, b""));
    assert_eq!(session.take_announced(), [loud]);
    assert_eq!(session.take_announced(), []);
    session.announce(quiet);
    assert_eq!(session.take_announced(), [quiet], "something waits already");
}

#[test]
fn datagrams_carry_data_frames_and_nothing_else() {
    let mut session = open();
    let key = inbox(&mut session, "a");
    session.receive_datagram(0, &[message(1, 0, b""), message(1, 1, b"")].concat());
    session.receive_datagram(0, &encode(&Frame::Goodbye));
    session.receive_datagram(0, &message(1, 2, b"")[..20]);
    assert_eq!(sequences(&mut session, key), [0, 1]);
    assert_eq!((session.is_connected(), session.unroutable()), (true, 2));
}

fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let frame = prop_oneof![
        4 => (1u32..4, any::<u64>(), vec(any::<u8>(), 0..200)).prop_map(|(s, q, p)| message(s, q, &p)),
        1 => (1u8..4, "[a-c]").prop_map(|(number, name)| topic(number, &name)),
        1 => (1u8..3, "[x-z]").prop_map(|(number, name)| source(number, &name)),
        1 => vec(any::<u8>(), 0..20).prop_map(|body| encode(&Frame::Control(&body))),
    ];
    vec(frame, 0..40)
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_same_comes_out(frames in frames(), cuts in vec(1usize..300, 1..60)) {
        let bytes = frames.concat();
        let (mut whole, mut cut) = (open(), open());
        let keys = [inbox(&mut whole, "#"), inbox(&mut cut, "#")];
        feed(&mut whole, &bytes);
        let (mut waiting, mut rest, mut turn) = (Vec::new(), bytes.as_slice(), 0);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts[turn % cuts.len()].min(rest.len()));
            waiting.extend_from_slice(piece);
            let used = cut.receive(100, &waiting).0;
            waiting.drain(..used);
            (rest, turn) = (after, turn + 1);
        }
        prop_assert_eq!(waiting, []);
        prop_assert_eq!(drain(&mut whole, keys[0]), drain(&mut cut, keys[1]));
        prop_assert_eq!(whole.take_control().collect::<Vec<_>>(), cut.take_control().collect::<Vec<_>>());
        prop_assert_eq!(whole.unroutable(), cut.unroutable());
    }

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, behind_hello: bool) {
        let mut session = Session::default();
        session.begin();
        if behind_hello {
            feed(&mut session, &hello());
        }
        session.receive(0, &bytes);
        session.receive_datagram(0, &bytes);
        let is_frame = matches!(Decoder::default().decode(&bytes), Ok(Decoded::Frame { .. } | Decoded::Incomplete { .. }));
        prop_assert!(session.is_connected() <= is_frame);
    }
}

/// The records of a portion, as columns.
fn unfolded(unfolding: &mut Unfolding, portion: &mut Portion) -> Batch {
    unfolding.learn(portion).batch(portion)
}

fn recorded(
    session: &mut Session,
    unfolding: &mut Unfolding,
) -> Vec<(String, String, Option<i64>, Option<i64>)> {
    let batch = unfolded(unfolding, &mut session.swap_records(Rows::default()).unwrap());
    let column = |name: &str| &batch.columns.iter().find(|(column, _)| *column == name).unwrap().1;
    let text = |name: &str, row| match column(name) {
        Column::Name { keys, names } => names[keys.value(row).unwrap() as usize].to_string(),
        _ => panic!("{name}"),
    };
    let number = |name: &str, row| match column(name) {
        Column::OptionalInt64(values) => values.value(row),
        _ => panic!("{name}"),
    };
    let one = |row| {
        let what =
            format!("{} of {} for {}", text("topic", row), text("publisher", row), text("subscriber", row));
        (text("run", row), what, number("subscription", row), number("t_received_ns", row))
    };
    (0..batch.rows).map(one).collect()
}

#[test]
fn a_session_records_what_comes_for_each_subscription_under_the_run_of_its_broker() {
    let mut session = Session::default();
    session.record(10, 1).unwrap();
    session.begin();
    let mut unfolding = Unfolding::new("", "", 1);
    let mut nothing = session.identify("first", "nurse").unwrap().unwrap();
    assert_eq!(unfolded(&mut unfolding, &mut nothing).rows, 0);
    let all = session.open_inbox("#", None, Limits::default(), Watch::default()).unwrap();
    session.open_inbox("a", None, Limits::default(), Watch::default()).unwrap();
    session.describe(all, Party { number: Some(7), ..Party::named("") }).unwrap();
    feed(&mut session, &[hello(), topic(1, "a"), source(1, "me"), message(1, 0, b"x")].concat());
    let what = "a of me for nurse".to_owned();
    let of = |run: &str, number| (run.to_owned(), what.clone(), number, Some(100));
    assert_eq!(recorded(&mut session, &mut unfolding), [of("first", Some(7)), of("first", None)]);
    feed(&mut session, &message(1, 1, b"x"));
    let mut before = session.identify("second", "nurse").unwrap().unwrap();
    assert_eq!(unfolded(&mut unfolding, &mut before).rows, 2);
    feed(&mut session, &message(1, 2, b"x"));
    assert_eq!(recorded(&mut session, &mut unfolding), [of("second", Some(7)), of("second", None)]);
}

#[test]
fn a_session_that_does_not_record_has_nothing_to_hand_over() {
    let mut session = open();
    assert!(session.identify("run", "nurse").unwrap().is_none());
    assert!(session.swap_records(Rows::default()).is_none());
}
