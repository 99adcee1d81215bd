//! The client's shell with real sockets: who reads, who writes, and in which order.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, Hello, LIMIT_BYTES, VERSION};
use giusto_net::connection::{Address, Clock, Connection, Waited};
use giusto_net::session::{Limits, Session, Watch};

const WATCHDOG: Duration = Duration::from_secs(60);

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out, LIMIT_BYTES).unwrap();
    out
}

fn data(sequence: u64, stream: u32, payload: &[u8]) -> Data<'_> {
    let header = DataHeader { sequence, stream, ..DataHeader::default() };
    Data { header, attributes: &[], payload }
}

fn named(number: u8, name: u8) -> Vec<u8> {
    let body = [b"\x83\xa2op\xa7topicis\xa6number".as_slice(), &[number], b"\xa4name\xa1", &[name]].concat();
    encode(&Frame::Control(&body))
}

/// A connection, and the other end of it.
fn pair() -> (Arc<Connection>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connection = Arc::new(Connection::new(Clock::Monotonic, LIMIT_BYTES));
    let address = Address::parse(&format!("giusto://127.0.0.1:{port}")).unwrap();
    connection.open(&address, WATCHDOG).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(WATCHDOG)).unwrap();
    peer.write_all(&encode(&Frame::Hello(Hello { version: VERSION }))).unwrap();
    (connection, peer)
}

/// What the peer reads until the connection ends: the sequences of data frames, and how many others.
fn read_all(mut peer: TcpStream) -> (Vec<u64>, usize) {
    let (mut bytes, mut sequences, mut others) = (Vec::new(), Vec::new(), 0);
    peer.read_to_end(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    while let Ok(Decoded::Frame { frame, consumed }) = Decoder::default().decode(rest) {
        match frame {
            Frame::Data(data) => sequences.push(data.header.sequence),
            _ => others += 1,
        }
        rest = &rest[consumed..];
    }
    assert!(rest.is_empty());
    (sequences, others)
}

fn inbox(connection: &Connection, pattern: &str) -> u32 {
    connection.with(|session| session.open_inbox(pattern, None, Limits::default(), Watch::default())).unwrap()
}

/// The next message of an inbox, which must come.
fn receive(connection: &Connection, key: u32) -> u64 {
    let deadline_ns = connection.now() + WATCHDOG.as_nanos() as i64;
    let take = |session: &mut Session| session.take(key, |message| message.data.header.sequence);
    loop {
        match connection.wait(Some(deadline_ns), None, take) {
            Waited::Ready(sequence) => return sequence,
            Waited::Interrupted | Waited::Attention => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_sent_in_bursts_and_singly_leaves_in_order() {
    let (connection, peer) = pair();
    let reader = thread::spawn(move || read_all(peer));
    for sequence in 0..50_000 {
        let frame = data(sequence, 0, &[7; 100]);
        let sending = connection.send_data(connection.now(), std::iter::once(frame)).unwrap();
        let mut is_sent = connection.finish_sending(sending);
        while !is_sent {
            is_sent = connection.wait_for_room();
        }
        if sequence % 1_000 == 0 {
            assert!(connection.flush(WATCHDOG));
        }
    }
    connection.close(WATCHDOG);
    let (sequences, others) = reader.join().unwrap();
    assert_eq!(sequences, (0..50_000).collect::<Vec<_>>());
    assert_eq!(others, 2, "hello and goodbye");
}

#[test]
fn whoever_waits_reads_for_all() {
    let (connection, mut peer) = pair();
    let keys = [inbox(&connection, "a"), inbox(&connection, "b")];
    let receivers = keys.map(|key| {
        let connection = connection.clone();
        thread::spawn(move || (0..1_000).map(|_| receive(&connection, key)).collect::<Vec<_>>())
    });
    peer.write_all(&[named(1, b'a'), named(2, b'b')].concat()).unwrap();
    for sequence in 0..1_000 {
        for stream in [2, 1] {
            peer.write_all(&encode(&Frame::Data(data(sequence, stream, b"x")))).unwrap();
        }
    }
    for receiver in receivers {
        assert_eq!(receiver.join().unwrap(), (0..1_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_wait_ends_at_its_deadline_or_with_a_notification() {
    let (connection, _peer) = pair();
    let nothing = |_: &mut Session| None::<()>;
    let deadline_ns = Some(connection.now() + 1_000_000);
    let mut waited = Waited::Interrupted;
    while waited == Waited::Interrupted {
        waited = connection.wait(deadline_ns, None, nothing);
    }
    assert_eq!(waited, Waited::TimedOut);
    let seen = connection.notified();
    connection.notify();
    assert_eq!(connection.wait(None, Some(seen), nothing), Waited::Attention);
}

#[test]
fn who_waits_hears_of_the_end_of_the_connection() {
    let (connection, peer) = pair();
    drop(peer);
    let nothing = |_: &mut Session| None::<()>;
    while connection.wait(None, None, nothing) == Waited::Interrupted {}
    let loss = connection.with(|session| session.take_loss()).unwrap();
    assert!(loss.reason.contains("the broker closed the connection") || loss.reason.contains("broke"));
}

#[test]
fn another_connection_begins_after_the_first_was_given_up() {
    let (connection, _peer) = pair();
    let key = inbox(&connection, "a");
    let waiting = {
        let connection = connection.clone();
        thread::spawn(move || receive(&connection, key))
    };
    connection.drop_socket("given up");
    connection.with(|session| session.take_loss()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("giusto://{}", listener.local_addr().unwrap());
    connection.open(&Address::parse(&address).unwrap(), WATCHDOG).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let greeting = encode(&Frame::Hello(Hello { version: VERSION }));
    let message = encode(&Frame::Data(data(9, 1, b"")));
    peer.write_all(&[greeting, named(1, b'a'), message].concat()).unwrap();
    assert_eq!(waiting.join().unwrap(), 9);
}

#[test]
fn a_wait_whose_deadline_has_passed_takes_what_is_there() {
    let (connection, mut peer) = pair();
    let key = inbox(&connection, "a");
    peer.write_all(&[named(1, b'a'), encode(&Frame::Data(data(5, 1, b"")))].concat()).unwrap();
    let deadline_ns = connection.now();
    let started = std::time::Instant::now();
    let mut waited = Waited::TimedOut;
    while waited == Waited::TimedOut && started.elapsed() < WATCHDOG {
        waited = connection.wait(Some(deadline_ns), None, |session: &mut Session| {
            session.take(key, |message| message.data.header.sequence)
        });
    }
    assert_eq!(waited, Waited::Ready(5));
}

#[test]
fn reading_without_a_socket_leaves_a_connection_in_memory_as_it_is() {
    let connection = Connection::new(Clock::Virtual(Arc::default()), LIMIT_BYTES);
    connection.open_memory();
    assert!(!connection.pump());
    connection
        .feed(&[encode(&Frame::Hello(Hello { version: VERSION })), encode(&Frame::Control(b"x"))].concat());
    assert_eq!(connection.with(|session| session.take_control().collect::<Vec<_>>()), [b"x"]);
}

#[test]
fn a_connection_that_is_dropped_with_something_unread_loses_nothing_that_it_sent() {
    let (connection, mut peer) = pair();
    peer.write_all(&encode(&Frame::Control(&[0; 10_000]))).unwrap();
    let sending = connection.send_data(connection.now(), std::iter::once(data(3, 0, b"x"))).unwrap();
    assert!(connection.finish_sending(sending));
    let reader = thread::spawn(move || read_all(peer));
    drop(connection);
    assert_eq!(reader.join().unwrap(), (vec![3], 2), "hello and goodbye, no reset");
}

#[test]
fn datagrams_that_the_socket_does_not_take_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = Arc::new(Connection::new(Clock::Monotonic, LIMIT_BYTES));
    let address = format!("giusto+udp://{}", listener.local_addr().unwrap());
    connection.open(&Address::parse(&address).unwrap(), WATCHDOG).unwrap();
    let _peer = listener.accept().unwrap();
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    connection.connect_udp(nobody).unwrap();
    let started = std::time::Instant::now();
    while connection.dropped() == 0 && started.elapsed() < WATCHDOG {
        let sending = connection.send_data(connection.now(), std::iter::once(data(0, 0, b"x"))).unwrap();
        assert!(connection.finish_sending(sending));
    }
    assert_ne!(connection.dropped(), 0);
}
