//! A broker with sockets, and clients that are nothing but sockets. Waits end when something happens, or the test fails.
#![allow(dead_code)] // Not every test needs everything.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use giusto_core::engine::Need;
use giusto_core::frame::{Decoded, Decoder};
use giusto_core::id::{FlowId, TopicId};
use giusto_core::input::Share;
use giusto_net::hub::{ConnId, Event, HubConfig};
use giusto_net::server::{Server, ServerConfig};

use crate::wire::{Owned, control, data, hello, offer, owned};

/// Long enough for the slowest machine: only a failure takes that long.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A client that has said nothing yet.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    pub(crate) conn: ConnId,
}

impl Client {
    /// The next frame; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Owned> {
        loop {
            match Decoder::default().decode(&self.buffer).unwrap() {
                Decoded::Frame { frame, consumed } => {
                    let frame = owned(&frame);
                    self.buffer.drain(..consumed);
                    return Some(frame);
                }
                Decoded::Incomplete { .. } => {
                    let mut chunk = [0; 65_536];
                    match self.stream.read(&mut chunk) {
                        Ok(0) => return None,
                        Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                        Err(error) => panic!("the broker said nothing: {error}"),
                    }
                }
            }
        }
    }

    /// The payload of the next data frame.
    pub(crate) fn payload(&mut self) -> Vec<u8> {
        loop {
            match self.next() {
                Some(Owned::Data { payload, .. }) => return payload,
                Some(Owned::Hello | Owned::Credit { .. } | Owned::Control(_)) => {}
                other => panic!("not a message: {other:?}"),
            }
        }
    }

    /// All frames to the end of the stream.
    pub(crate) fn rest(&mut self) -> Vec<Owned> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Whether all of it was taken.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub(crate) fn publish(&mut self, flow: FlowId, sequence: u64, payload: &[u8]) {
        assert!(self.send(&data(flow, sequence, payload)));
    }
}

/// A running broker.
pub(crate) struct Broker {
    pub(crate) server: Server,
    seen: std::cell::RefCell<Vec<Event>>,
}

impl Broker {
    pub(crate) fn new(config: ServerConfig) -> Self {
        let server = Server::bind(config).unwrap();
        server.start().unwrap();
        Self { server, seen: Default::default() }
    }

    pub(crate) fn tcp() -> Self {
        Self::new(tcp(HubConfig::default()))
    }

    /// Waits for an event and takes it.
    pub(crate) fn event<T>(&self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let found =
                self.seen.borrow().iter().enumerate().find_map(|(at, event)| Some((at, wanted(event)?)));
            if let Some((at, found)) = found {
                self.seen.borrow_mut().remove(at);
                return found;
            }
            let events = self.server.events(Some(WATCHDOG)).unwrap();
            assert!(!events.is_empty(), "nothing happened; seen so far: {:?}", self.seen.borrow());
            self.seen.borrow_mut().extend(events);
        }
    }

    /// Waits until a connection is gone; returns why.
    pub(crate) fn closed(&self, which: ConnId) -> String {
        self.event(|event| match event {
            Event::Closed { conn, reason } if *conn == which => Some(reason.clone()),
            _ => None,
        })
    }

    /// Waits until something is so.
    pub(crate) fn until(
        &self,
        what: &str,
        is_so: impl Fn(&mut giusto_net::hub::Hub) -> bool + Send + Sync + 'static,
    ) {
        let is_so = std::sync::Arc::new(is_so);
        let start = std::time::Instant::now();
        loop {
            let check = std::sync::Arc::clone(&is_so);
            if self.server.ask(move |hub, _| check(hub)).unwrap() {
                return;
            }
            assert!(start.elapsed() < WATCHDOG, "never: {what}");
        }
    }

    /// A connection that has said nothing.
    pub(crate) fn stranger(&self) -> Client {
        let stream = connect(&self.server.addresses()[0]);
        let conn = self.event(|event| match event {
            Event::Opened { conn, .. } => Some(*conn),
            _ => None,
        });
        Client { stream, buffer: Vec::new(), conn }
    }

    /// A connection that is a client.
    pub(crate) fn client(&self, name: &'static str) -> Client {
        self.client_with(name, None)
    }

    pub(crate) fn client_with(&self, name: &'static str, datagrams: Option<&UdpSocket>) -> Client {
        let mut client = self.stranger();
        assert!(client.send(&[hello(), control(b"connect")].concat()));
        let conn = client.conn;
        self.event(|event| matches!(event, Event::Control { conn: from, .. } if *from == conn).then_some(()));
        let address = datagrams.map(|socket| socket.local_addr().unwrap());
        self.server.ask(move |hub, _| hub.connect(conn, name, address)).unwrap().unwrap();
        client
    }

    /// A topic that the client publishes on.
    pub(crate) fn flow(&self, client: &Client, name: &'static str, capacity: u32) -> (TopicId, FlowId) {
        let conn = client.conn;
        let advertise = move |hub: &mut giusto_net::hub::Hub, _| {
            let topic = hub.declare(name, Share::default())?;
            Ok::<_, giusto_core::error::ChangeError>((topic, hub.advertise(conn, topic, &offer(capacity))?))
        };
        self.server.ask(advertise).unwrap().unwrap()
    }

    pub(crate) fn subscribe(&self, client: &Client, pattern: &'static str) {
        let conn = client.conn;
        self.server.ask(move |hub, _| hub.subscribe(conn, pattern, None, &Need::default())).unwrap().unwrap();
    }
}

pub(crate) fn tcp(hub: HubConfig) -> ServerConfig {
    ServerConfig { hub, listen: vec!["tcp://127.0.0.1:0".into()], ..ServerConfig::default() }
}

fn connect(address: &str) -> Box<dyn Stream> {
    if let Some(path) = address.strip_prefix("unix://") {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(WATCHDOG)).unwrap();
        return Box::new(stream);
    }
    let stream = TcpStream::connect(address.strip_prefix("tcp://").unwrap()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    Box::new(stream)
}
