//! Whether a stranger can harm a broker: any bytes, cut anywhere, beside a client that behaves.
//!
//! The first byte of the input chooses the policies. The rest is a row of acts of the stranger: a byte that says
//! which, a byte that says how much, and for what it sends so many bytes.

use giusto_core::effort::Effort;
use giusto_core::engine::{Config, Need, Offer};
use giusto_core::frame::{Data, DataHeader, Decoded, Decoder, Frame, Hello, VERSION};
use giusto_core::id::{FlowId, Nanos, SubscriptionId, TopicId};
use giusto_core::input::Share;
use giusto_core::output::Overflow;
use giusto_core::policer::Limit;
use giusto_core::queue::Bounds;
use giusto_net::hub::{ConnId, Event, Filled, Hub, HubConfig, Traffic};

const FRAME_LIMIT_BYTES: u32 = 4096;
const INPUTS: [&str; 4] = ["twrr", "smooth", "fair", "edf"];
const OUTPUTS: [&str; 4] = ["fifo", "priority", "lrt", "mtep"];
const OVERFLOWS: [Overflow; 3] = [Overflow::DropOldest, Overflow::DropNew, Overflow::Disconnect];
const DATAGRAMS: &str = "127.0.0.1:9";

/// Panics if the broker does, writes what is no frame, or forgets the client that behaves.
pub fn check(input: &[u8]) {
    let Some((&choice, mut acts)) = input.split_first() else { return };
    let mut world = World::new(choice);
    while let [act, amount, rest @ ..] = acts {
        let (bytes, later) = rest.split_at(usize::from(*amount).min(rest.len()));
        acts = if matches!(act % 8, 0..=2) { later } else { rest };
        world.act(act % 8, *amount, bytes);
    }
    world.finish();
}

struct World {
    hub: Hub,
    now: Nanos,
    witness: Peer,
    stranger: Peer,
    topic: TopicId,
    flow: FlowId,
    published: u64,
    subscription: Option<SubscriptionId>,
}

/// The far end of a connection.
struct Peer {
    conn: ConnId,
    /// Bytes that the broker has not taken yet.
    unsent: Vec<u8>,
    /// Bytes that are not a whole frame yet.
    unread: Vec<u8>,
    received: u64,
    alive: bool,
}

impl Peer {
    fn open(hub: &mut Hub, now: Nanos) -> Self {
        let conn = hub.open(now, "somewhere".into()).expect("there is room for a connection");
        Self { conn, unsent: Vec::new(), unread: Vec::new(), received: 0, alive: true }
    }

    /// Everything that came must be frames.
    fn read(&mut self) {
        let decoder = Decoder::default();
        let mut done = 0;
        while let Decoded::Frame { frame, consumed } = decoder.decode(&self.unread[done..]).expect("frames") {
            self.received += u64::from(matches!(frame, Frame::Data(_)));
            done += consumed;
        }
        self.unread.drain(..done);
    }
}

impl World {
    fn new(choice: u8) -> Self {
        let mut hub = Hub::new(config(choice)).expect("a valid configuration");
        let topic = hub.declare("a/b", Share::default()).expect("a new topic");
        let (witness, stranger) = (Peer::open(&mut hub, 0), Peer::open(&mut hub, 0));
        hub.receive(0, witness.conn, &hello());
        hub.connect(witness.conn, "witness", None).expect("a new client");
        let flow = hub.advertise(witness.conn, topic, &Offer::default()).expect("a known topic");
        hub.subscribe(witness.conn, "#", None, &Need::default()).expect("a valid pattern");
        let subscription = None;
        Self { hub, now: 0, witness, stranger, topic, flow, published: 0, subscription }
    }

    fn act(&mut self, act: u8, amount: u8, bytes: &[u8]) {
        self.now += 1;
        match act {
            0 | 1 => self.send(bytes),
            2 => self.hub.receive_datagram(self.now, DATAGRAMS.parse().expect("an address"), bytes),
            3 => self.forward(usize::from(amount)),
            4 => self.now += Nanos::from(amount) * 40_000_000,
            5 => self.change(amount),
            6 if amount < 32 => self.reconnect(),
            _ => self.publish(),
        }
        self.answer();
    }

    /// Bytes of the stranger; what is not taken is offered again with more behind it.
    fn send(&mut self, bytes: &[u8]) {
        self.stranger.unsent.extend_from_slice(bytes);
        let received = self.hub.receive(self.now, self.stranger.conn, &self.stranger.unsent);
        assert!(received.consumed <= self.stranger.unsent.len());
        self.stranger.unsent.drain(..received.consumed);
        assert!(received.needed <= FRAME_LIMIT_BYTES as usize);
    }

    /// Serves some messages and lets both sides read.
    fn forward(&mut self, steps: usize) {
        for _ in 0..steps {
            self.hub.step(self.now);
        }
        self.forward_guarded();
        self.hub.gather(self.now);
        for conn in self.hub.expire(self.now, usize::MAX) {
            self.hub.hang_up(conn, "too late");
        }
        self.hub.finish_some(Effort::units(16));
        while let Some(conn) = self.hub.pop_dirty() {
            let mut out = Vec::new();
            while self.hub.fill_datagram(self.now, conn, Traffic::All, &mut out) {
                self.deliver(conn, &out);
                out.clear();
            }
            let filled = self.hub.fill(self.now, conn, &mut out, usize::MAX);
            self.deliver(conn, &out);
            if filled == Filled::Last {
                self.hub.hang_up(conn, "gone");
            }
        }
    }

    /// What a turn does first while topics are guarded.
    fn forward_guarded(&mut self) {
        self.hub.gather_guarded(self.now);
        while let Some(conn) = self.hub.pop_dirty_guarded() {
            let mut out = Vec::new();
            while self.hub.fill_datagram(self.now, conn, Traffic::Guarded, &mut out) {
                self.deliver(conn, &out);
                out.clear();
            }
            self.hub.fill_guarded(self.now, conn, &mut out, usize::MAX);
            self.deliver(conn, &out);
        }
        while let Some(conn) = self.hub.pop_shift() {
            assert!(self.hub.portion_bytes(conn).is_none_or(|bytes| (1_024..=16_384).contains(&bytes)));
        }
    }

    fn deliver(&mut self, conn: ConnId, bytes: &[u8]) {
        for peer in [&mut self.witness, &mut self.stranger] {
            if peer.conn == conn {
                peer.unread.extend_from_slice(bytes);
                peer.read();
            }
        }
    }

    /// A control plane that says yes to everything.
    fn answer(&mut self) {
        while let Some(event) = self.hub.events().pop_front() {
            match event {
                Event::Control { conn, .. } => self.welcome(conn),
                Event::Closed { conn, .. } => {
                    assert!(conn != self.witness.conn, "the client that behaves was closed");
                    self.stranger.alive &= conn != self.stranger.conn;
                }
                Event::Opened { .. } => {}
            }
        }
    }

    /// The first control frame makes a client of the stranger; all are answered.
    fn welcome(&mut self, conn: ConnId) {
        if self
            .hub
            .connect(conn, "stranger", DATAGRAMS.parse().ok().filter(|_| self.published % 2 == 1))
            .is_ok()
        {
            let limit = Some(Limit::min_sep(3));
            let offer = Offer { bounds: Bounds { capacity: 4, limit_bytes: 256 }, limit };
            let _ = self.hub.advertise(conn, self.topic, &offer);
            let filter = "x > 1 or y prefix \"a\"".parse().ok();
            self.subscription = self.hub.subscribe(conn, "a/+", filter.as_ref(), &Need::default()).ok();
        }
        // Refused if the connection is leaving.
        let _ = self.hub.send(self.now, conn, b"\x80");
    }

    /// What a control plane does at the stranger's request, right or wrong.
    fn change(&mut self, amount: u8) {
        let conn = self.stranger.conn;
        let _ = match amount % 7 {
            6 => self.hub.guard(self.topic, amount / 7 % 2 == 0).map(drop),
            0 => self.hub.unadvertise(conn, FlowId(u32::from(amount / 7))),
            1 => self.hub.advertise(conn, self.topic, &Offer::default()).map(drop),
            2 => self.hub.unsubscribe(conn, self.subscription.unwrap_or(SubscriptionId(9))),
            3 => self.hub.subscribe(conn, "#", None, &Need::default()).map(drop),
            4 => self.hub.allot(self.topic, Share { weight: u32::from(amount), ..Share::default() }),
            _ => self.hub.close(self.now, conn, u32::from(amount / 7), "bye"),
        };
    }

    fn reconnect(&mut self) {
        self.hub.hang_up(self.stranger.conn, "reset");
        self.stranger = Peer::open(&mut self.hub, self.now);
    }

    /// The client that behaves sends a message and reads all that waits for it.
    fn publish(&mut self) {
        let header = DataHeader { stream: self.flow.0, sequence: self.published, ..DataHeader::default() };
        let frame = encoded(&Frame::Data(Data { header, attributes: b"", payload: b"still here" }));
        let received = self.hub.receive(self.now, self.witness.conn, &frame);
        assert_eq!(received.consumed, frame.len());
        self.published += 1;
        self.forward(64);
    }

    /// A topic that has changed its share or class may wait until the table that knows it is made, some of it in each turn.
    fn serve_all(&mut self) {
        while self.hub.has_work() {
            self.forward(64);
        }
    }

    /// Whatever happened: a message of the client that behaves still arrives, and nothing stays behind.
    fn finish(mut self) {
        self.hub.hang_up(self.stranger.conn, "reset");
        self.serve_all();
        self.forward(0);
        let before = self.witness.received;
        self.publish();
        self.serve_all();
        assert_eq!(self.witness.received, before + 1);
        assert!(self.witness.unread.is_empty());
        assert!(self.hub.is_drained());
        self.answer();
    }
}

fn config(choice: u8) -> HubConfig {
    let choice = usize::from(choice);
    let engine = Config {
        input: INPUTS[choice % 4].into(),
        output: OUTPUTS[choice / 4 % 4].into(),
        overflow: OVERFLOWS[choice / 16 % 3],
        message_capacity: 512,
        output_capacity: 256,
        fragment_bytes: 64,
        record_capacity: choice / 48 * 16,
        ..Config::default()
    };
    HubConfig {
        engine,
        frame_limit_bytes: FRAME_LIMIT_BYTES,
        control_capacity: 4,
        datagrams: true,
        ..HubConfig::default()
    }
}

fn hello() -> Vec<u8> {
    encoded(&Frame::Hello(Hello { version: VERSION }))
}

fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out, FRAME_LIMIT_BYTES).expect("a valid frame");
    out
}
