//! Turns taken one by one.

mod guarded;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use giusto_core::engine::{Need, Offer};
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, Hello, VERSION};
use giusto_core::id::FlowId;
use giusto_core::input::Share;
use giusto_core::policer::Limit;
use giusto_core::queue::Bounds;

use super::*;
use crate::hub::{Event, HubConfig};

/// Long enough for the slowest machine: only a failure takes that long.
const WATCHDOG: Duration = Duration::from_secs(20);

/// A data thread without the thread.
struct Rig {
    turner: Turner,
    addresses: Vec<String>,
}

impl Rig {
    fn new(listen: &[&str], config: ServerConfig) -> Self {
        let listeners: Vec<_> = listen.iter().map(|at| Listener::bind("listen", at).unwrap()).collect();
        let addresses = listeners.iter().map(|listener| listener.address().unwrap()).collect();
        let mailbox = Arc::new(Mailbox::new(4_096).unwrap());
        let hub = Hub::new(HubConfig::default()).unwrap();
        let turner = Turner::new(hub, config, listeners, mailbox).unwrap();
        Self { turner, addresses }
    }

    fn tcp() -> Self {
        Self::new(&["tcp://127.0.0.1:0"], ServerConfig::default())
    }

    /// Takes turns, when the thread would not sleep, until something is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Turner) -> bool) {
        let start = Instant::now();
        while !is_so(&mut self.turner) {
            if self.turner.wait(Some(0)) > 0 || self.turner.idle_ns().is_some_and(|ns| ns == 0) {
                self.turner.turn(true, Nanos::MAX);
            }
            assert!(start.elapsed() < WATCHDOG, "never: {what}");
        }
    }

    /// A client with a socket.
    fn client(&mut self, name: &str) -> (TcpStream, ConnId) {
        let address = self.addresses[0].strip_prefix("tcp://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&encode(&Frame::Hello(Hello { version: VERSION }))).unwrap();
        let known = self.turner.hub.connections();
        let mut conn = None;
        self.until("it is connected", |turner| {
            conn = turner.hub.connections().into_iter().find(|id| !known.contains(id));
            conn.is_some_and(|id| turner.hub.connect(id, name, None).is_ok())
        });
        (stream, conn.unwrap())
    }

    /// A client without one.
    fn bare_client(&mut self, name: &str) -> ConnId {
        let hub = &mut self.turner.hub;
        let conn = hub.open(0, name.into()).unwrap();
        hub.receive(0, conn, &encode(&Frame::Hello(Hello { version: VERSION })));
        hub.connect(conn, name, None).unwrap();
        conn
    }

    fn flow(&mut self, conn: ConnId, capacity: u32, limit: Option<Limit>) -> FlowId {
        let hub = &mut self.turner.hub;
        let topic = hub.declare("t", Share::default()).unwrap();
        let offer = Offer { bounds: Bounds { capacity, limit_bytes: 1 << 20 }, limit };
        hub.advertise(conn, topic, &offer).unwrap()
    }

    fn subscribe(&mut self, conn: ConnId) {
        self.turner.hub.subscribe(conn, "#", None, &Need::default()).unwrap();
    }
}

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes, u32::MAX).unwrap();
    bytes
}

fn messages(flow: FlowId, count: u64, payload: &[u8]) -> Vec<u8> {
    let message = |sequence| {
        let header = DataHeader { stream: flow.0, sequence, ..DataHeader::default() };
        encode(&Frame::Data(Data { header, attributes: &[], payload }))
    };
    (0..count).flat_map(message).collect()
}

fn controls(count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| encode(&Frame::Control(b"x"))).collect()
}

/// Control frames that the control plane gets now.
fn take_controls(turner: &Turner) -> usize {
    let events = turner.mailbox.events(Some(Duration::ZERO)).unwrap();
    events.iter().filter(|event| matches!(event, Event::Control { .. })).count()
}

#[test]
fn a_period_without_time_reads_steps_and_writes_a_little() {
    let mut rig = Rig::tcp();
    let ((mut publisher, conn), subscriber) = (rig.client("publisher"), rig.client("subscriber"));
    let flow = rig.flow(conn, 64, None);
    rig.subscribe(subscriber.1);
    publisher.write_all(&messages(flow, 24, b"x")).unwrap();
    let start = Instant::now();
    while rig.turner.hub.totals().ingested == 0 {
        rig.turner.turn(true, Nanos::MIN);
        assert!(start.elapsed() < WATCHDOG);
    }
    assert_eq!(rig.turner.hub.totals().selected, 16);
    assert_eq!(rig.turner.hub.totals().delivered, 16);
}

#[test]
fn a_turn_without_time_begins_with_another_client_each_time() {
    let mut rig = Rig::tcp();
    let mut clients = [rig.client("a"), rig.client("b"), rig.client("c")];
    for (stream, _) in &mut clients {
        stream.write_all(&controls(20_000)).unwrap();
    }
    let mut heard = std::collections::HashSet::new();
    let start = Instant::now();
    while heard.len() < clients.len() {
        rig.turner.turn(true, Nanos::MIN);
        heard.insert(rig.turner.last_read.0);
        assert!(start.elapsed() < WATCHDOG);
    }
}

#[test]
fn a_client_held_by_its_own_outbox_goes_on_when_that_is_out() {
    let mut rig = Rig::tcp();
    let (mut stream, conn) = rig.client("a");
    stream.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 20];
    for _ in 0..8 {
        rig.turner.hub.send(0, conn, &vec![0; 1_100 << 10]).unwrap();
        stream.write_all(&controls(1)).unwrap();
        rig.until("it is heard", |turner| {
            while !matches!(stream.read(&mut buffer), Err(error) if error.kind() == ErrorKind::WouldBlock) {}
            take_controls(turner) == 1
        });
    }
}

#[test]
fn a_turn_queues_a_bounded_number_of_messages_however_many_subscribe() {
    let mut rig = Rig::tcp();
    let publisher = rig.bare_client("publisher");
    let flow = rig.flow(publisher, 1_024, None);
    for n in 0..64 {
        let subscriber = rig.bare_client(&format!("s{n}"));
        rig.subscribe(subscriber);
    }
    rig.turner.hub.receive(0, publisher, &messages(flow, 1_000, b"x"));
    assert!(rig.turner.step(0, Nanos::MAX));
    assert_eq!(rig.turner.hub.totals().selected, 4_096 / 64);
}

#[test]
fn what_a_held_client_has_sent_before_it_vanished_is_taken_in() {
    let mut rig = Rig::tcp();
    let (mut stream, conn) = rig.client("a");
    let flow = rig.flow(conn, 64, None);
    stream.write_all(&[controls(200), messages(flow, 10, b"x")].concat()).unwrap();
    // The broker's hello has not been read: this is a reset.
    drop(stream);
    let mut heard = 0;
    rig.until("it is gone", |turner| {
        heard += take_controls(turner);
        turner.hub.connections().is_empty()
    });
    assert_eq!((rig.turner.hub.totals().ingested, heard), (10, 200));
}

#[test]
fn what_a_client_has_sent_before_it_vanished_is_taken_in_though_nothing_can_be_written_to_it() {
    let config = ServerConfig { read_bytes: 4_096, ..ServerConfig::default() };
    let mut rig = Rig::new(&["tcp://127.0.0.1:0"], config);
    let (mut stream, conn) = rig.client("a");
    let flow = rig.flow(conn, 100, None);
    stream.write_all(&messages(flow, 100, &[0; 200])).unwrap();
    drop(stream);
    rig.until("it is gone", |turner| turner.hub.connections().is_empty());
    assert_eq!(rig.turner.hub.totals().ingested, 100);
}

#[test]
fn a_client_that_had_to_wait_and_then_breaks_its_offer_is_held_for_that() {
    let mut rig = Rig::tcp();
    let (mut stream, conn) = rig.client("a");
    let flow = rig.flow(conn, 64, Some(Limit::min_sep(1_000_000_000_000)));
    rig.until("the control plane has heard of it", |turner| {
        take_controls(turner) == 0 && turner.busy.is_empty()
    });
    rig.turner.config.penalty_ns = 1_000_000_000_000;
    stream.write_all(&[controls(65), messages(flow, 2, b"x")].concat()).unwrap();
    rig.until("all is taken in", |turner| {
        take_controls(turner);
        turner.hub.totals().policed == 1
    });
    assert!(rig.turner.sockets.is_held(conn) && rig.turner.busy.is_empty());
    assert_eq!(rig.turner.penalties.len(), 1);
}

#[test]
fn a_turn_takes_datagrams_of_a_bounded_size() {
    let mut rig = Rig::new(&["udp://127.0.0.1:0"], ServerConfig::default());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..8 {
        socket.send_to(&[0; 20_000], rig.addresses[0].strip_prefix("udp://").unwrap()).unwrap();
    }
    rig.until("something came", |turner| turner.wait(Some(0)) > 0);
    rig.turner.turn(true, Nanos::MAX);
    assert_eq!(rig.turner.hub.refusals().datagrams, 4);
}
