//! Whether a broker can harm a client: any bytes, and the same bytes in pieces, have the same effect.
//!
//! The first byte of the input is the size of the pieces, the rest is what the broker sends.

use std::sync::Arc;

use giusto_core::frame::{Frame, Hello, VERSION};
use giusto_core::id::Nanos;
use giusto_net::session::{Flow, Limits, Loss, Overflow, Session, Watch};

const FRAME_LIMIT_BYTES: u32 = 4096;
const MESSAGES_MAX: usize = 6;
const NOW: Nanos = 1_000_000_000;

/// Panics if the client's machine does, exceeds its limits, or depends on how the bytes were cut.
pub fn check(input: &[u8]) {
    let Some((&size, stream)) = input.split_first() else { return };
    let mut whole = Client::new();
    whole.receive(stream);
    let mut pieces = Client::new();
    stream.chunks(usize::from(size).max(1)).for_each(|piece| pieces.receive(piece));
    assert_eq!(whole.seen(), pieces.seen());
    whole.datagram(stream);
    whole.reconnect();
}

/// Topic, source and payload.
type Message = (Arc<str>, Arc<str>, Vec<u8>);

/// What a program sees of a connection.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The messages of each inbox.
    messages: Vec<Vec<Message>>,
    loss: Option<Loss>,
    credit: i64,
    control: usize,
    echoes: usize,
}

struct Client {
    session: Session,
    inboxes: Vec<u32>,
    flow: Arc<Flow>,
    unread: Vec<u8>,
}

impl Client {
    fn new() -> Self {
        let mut session = Session::new(FRAME_LIMIT_BYTES);
        let flow = Arc::new(Flow::default());
        let subscriptions = [("a/#", None, Overflow::DropOldest), ("#", Some("x > 1"), Overflow::DropNew)];
        let inboxes = subscriptions.map(|(pattern, filter, overflow)| {
            let filter = filter.and_then(|text| text.parse().ok());
            let limits = Limits { messages: MESSAGES_MAX, bytes: 1024, overflow };
            let watch = Watch { late_ns: 5, bound_ns: 9, sep_ns: 3, gaps: true };
            session.open_inbox(pattern, filter.as_ref(), limits, watch).expect("a valid pattern")
        });
        let mut client = Self { session, inboxes: inboxes.into(), flow, unread: Vec::new() };
        client.greet();
        client
    }

    /// A connection on which the broker has said hello and taken the flow.
    fn greet(&mut self) {
        let mut hello = Vec::new();
        Frame::Hello(Hello { version: VERSION })
            .encode(&mut hello, FRAME_LIMIT_BYTES)
            .expect("a valid frame");
        self.session.begin();
        self.session.receive(NOW, &hello);
        assert!(self.session.is_connected());
        self.session.bind_flow(1, Some(4), &self.flow);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        let (used, needed) = self.session.receive(NOW, &self.unread);
        self.unread.drain(..used);
        assert!(!self.session.is_connected() || needed > self.unread.len());
        for &inbox in &self.inboxes {
            assert!(self.session.waiting(inbox).is_some_and(|waiting| waiting <= MESSAGES_MAX));
        }
    }

    fn datagram(&mut self, bytes: &[u8]) {
        self.greet();
        self.session.receive_datagram(NOW, bytes);
        assert!(self.session.is_connected(), "a datagram cannot end a connection");
        self.session.take_notes();
    }

    /// Whatever happened: the next connection works, and inboxes can be closed.
    fn reconnect(mut self) {
        self.session.lose("enough", 0);
        self.greet();
        self.session.release_flow(&self.flow);
        for inbox in self.inboxes {
            self.session.figures(inbox, true);
            self.session.figures(inbox, false);
            self.session.close_inbox(inbox);
            assert_eq!(self.session.waiting(inbox), None);
        }
    }

    fn seen(&mut self) -> Seen {
        let session = &mut self.session;
        let mut take_all = |inbox: u32| {
            std::iter::from_fn(|| {
                session.take(inbox, |one| (one.topic.clone(), one.source.clone(), one.data.payload.to_vec()))
            })
            .collect()
        };
        let messages = self.inboxes.iter().map(|&inbox| take_all(inbox)).collect();
        Seen {
            messages,
            credit: self.flow.credit(),
            loss: self.session.take_loss(),
            control: self.session.take_control().count(),
            echoes: self.session.take_replies().len(),
        }
    }
}
