//! A client's end of a connection without I/O: bytes in, messages in the inboxes of the subscriptions.
//!
//! ```text
//!            ┌ data ──▶ topic's route ──▶ inbox, inbox …      taken by receivers
//! receive ───┼ control ─ names of numbers (read here)
//!            │           everything else ──▶ control queue    taken by the faces
//!            ├ credit ─▶ flow                                 taken by publishers
//!            ├ probe ──▶ echo in `replies`                    sent by the shell
//!            └ error, goodbye, no frame ──▶ lost
//! ```
//!
//! Inboxes and flows outlive a connection: [`Session::begin`] starts the next one, numbers are told
//! anew. A topic's route is worked out when its first message comes after a change; topics that a
//! filter covers are matched message by message with the matcher that the broker uses.

mod flow;
mod inbox;
mod mailbox;
mod names;
pub(crate) mod notice;
mod recording;
mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use giusto_core::error::ChangeError;
use giusto_core::frame::attributes::Attributes;
use giusto_core::frame::{Credit, Data, Decoded, Decoder, Frame, Hello, LIMIT_BYTES, Probe, VERSION};
use giusto_core::id::{Nanos, SubscriptionId, TopicId};
use giusto_core::matching::{Filter, Matcher};

pub use flow::{Flow, Taken};
pub use inbox::{Limits, Overflow};
use mailbox::{Mailbox, Tallies, Tally, note};
pub use mailbox::{Note, Occasion};
use names::Names;
use notice::Notice;
use recording::Recording;
pub use report::{Figures, Watch};

/// Why a connection is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// In words.
    pub reason: String,
    /// The code of the broker's error frame; 0 if there was none.
    pub code: u32,
    /// Messages that may have been under way: sent, and their credit not given back.
    pub under_way: u64,
}

/// A message as it is given out.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// When its bytes were read.
    pub received_ns: Nanos,
    /// Its topic.
    pub topic: &'a Arc<str>,
    /// The name of the client that published it; empty if the broker did not tell.
    pub source: &'a Arc<str>,
    /// Header, attributes and payload; stream and source are slots, stable for their names while it waits.
    pub data: Data<'a>,
}

#[derive(Clone, Debug, Default)]
enum Route {
    /// Not worked out since the last change.
    #[default]
    Unknown,
    /// These inboxes, whatever the message says.
    Plain(Box<[u32]>),
    /// A filter has to look at each message.
    Filtered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection.
    Closed,
    /// Connected; the other side has not said hello.
    Greeting,
    Open,
}

/// The client's machine.
#[derive(Debug)]
pub struct Session {
    decoder: Decoder,
    state: State,
    /// Whether the other side has spoken as a broker does.
    is_broker: bool,
    loss: Option<Loss>,
    topics: Names,
    sources: Names,
    matcher: Matcher,
    routes: Vec<Route>,
    mailboxes: BTreeMap<u32, Mailbox>,
    next_key: u32,
    flows: HashMap<u32, Arc<Flow>>,
    control: VecDeque<Vec<u8>>,
    tallies: Tallies,
    /// Notes of topics whose slot stands for another by now.
    notes: Vec<Note>,
    announced: BTreeSet<u32>,
    replies: Vec<u8>,
    unroutable: u64,
    found: Vec<SubscriptionId>,
    nameless: Arc<str>,
    recording: Option<Recording>,
}

impl Default for Session {
    fn default() -> Self {
        Self::new(LIMIT_BYTES)
    }
}

impl Session {
    /// No connection yet; frames above `limit_bytes` will be a protocol error.
    pub fn new(limit_bytes: u32) -> Self {
        Self {
            decoder: Decoder::new(limit_bytes),
            state: State::Closed,
            is_broker: false,
            loss: None,
            topics: Names::default(),
            sources: Names::default(),
            matcher: Matcher::new(),
            routes: Vec::new(),
            mailboxes: BTreeMap::new(),
            next_key: 0,
            flows: HashMap::new(),
            control: VecDeque::new(),
            tallies: Tallies::new(),
            notes: Vec::new(),
            announced: BTreeSet::new(),
            replies: Vec::new(),
            unroutable: 0,
            found: Vec::new(),
            nameless: "".into(),
            recording: None,
        }
    }

    // --- the connection

    /// A connection begins: numbers mean nothing yet, flows are unbound, inboxes stay.
    pub fn begin(&mut self) {
        self.state = State::Greeting;
        self.is_broker = false;
        self.loss = None;
        self.control.clear();
        self.replies.clear();
        self.topics.forget_numbers();
        self.sources.forget_numbers();
        self.unbind_flows();
    }

    /// The connection is no more. The first reason stands.
    pub fn lose(&mut self, reason: impl Into<String>, code: u32) {
        if self.state != State::Closed {
            self.state = State::Closed;
            let under_way = self.unbind_flows();
            self.loss = Some(Loss { reason: reason.into(), code, under_way });
        }
    }

    /// Whether frames are exchanged.
    pub fn is_connected(&self) -> bool {
        self.state != State::Closed
    }

    /// Whether the other side of the last connection has said anything that only a broker says.
    pub fn is_broker(&self) -> bool {
        self.is_broker
    }

    /// Why the last connection ended, if it did not end by our own will.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// The reason is known to whoever has to know; it is told once.
    pub fn take_loss(&mut self) -> Option<Loss> {
        self.loss.take()
    }

    /// Returns how many messages may have been under way.
    fn unbind_flows(&mut self) -> u64 {
        self.flows.drain().map(|(_, flow)| flow.unbind()).sum()
    }

    // --- what comes in

    /// Handles every whole frame in `bytes`. Returns how many bytes were used up, and how many the
    /// next frame needs from there on. After bytes that are not a frame the connection is lost.
    pub fn receive(&mut self, now: Nanos, bytes: &[u8]) -> (usize, usize) {
        let mut used = 0;
        while self.state != State::Closed {
            let rest = bytes.get(used..).unwrap_or_default();
            match self.decoder.decode(rest) {
                Ok(Decoded::Frame { frame: Frame::Data(data), consumed }) if self.state == State::Open => {
                    self.deliver(now, rest.get(..consumed).unwrap_or_default(), &data);
                    used += consumed;
                }
                Ok(Decoded::Frame { frame, consumed }) => {
                    self.handle(now, frame);
                    used += consumed;
                }
                Ok(Decoded::Incomplete { needed }) => return (used, needed),
                Err(error) => self.lose(format!("the broker sent something else than a frame: {error}"), 1),
            }
        }
        (bytes.len(), 0)
    }

    /// Handles a datagram: whole data frames; anything else in it is dropped and counted.
    pub fn receive_datagram(&mut self, now: Nanos, datagram: &[u8]) {
        let mut rest = datagram;
        while self.state == State::Open && !rest.is_empty() {
            match self.decoder.decode(rest) {
                Ok(Decoded::Frame { frame: Frame::Data(data), consumed }) => {
                    self.deliver(now, rest.get(..consumed).unwrap_or_default(), &data);
                    rest = rest.get(consumed..).unwrap_or_default();
                }
                _ => {
                    self.unroutable += 1;
                    return;
                }
            }
        }
    }

    fn handle(&mut self, now: Nanos, frame: Frame<'_>) {
        self.is_broker = true;
        match (self.state, frame) {
            (State::Greeting, Frame::Hello(Hello { version: VERSION })) => self.state = State::Open,
            (State::Greeting, Frame::Hello(Hello { version })) => {
                self.lose(
                    format!("the broker speaks version {version} of the wire format, not {VERSION}"),
                    1,
                );
            }
            (_, Frame::Error(failure)) => self.lose(failure.text, failure.code),
            (_, Frame::Goodbye) => self.lose("the broker said goodbye", 0),
            (State::Open, Frame::Control(body)) => self.note_or_keep(body),
            (State::Open, Frame::Credit(Credit { stream, amount })) => {
                if let Some(flow) = self.flows.get(&stream) {
                    flow.give(amount);
                }
            }
            (State::Open, Frame::Probe(probe)) => self.echo(now, probe),
            (_, frame) => self.lose(format!("the broker sent {:?} out of turn", frame.kind()), 1),
        }
    }

    fn note_or_keep(&mut self, body: &[u8]) {
        let told = match notice::read(body) {
            Some(Notice::Topic { number, name }) => self.name_topic(number, name),
            Some(Notice::Source { number, name }) => self.name_source(number, name),
            None => {
                self.control.push_back(body.to_vec());
                true
            }
        };
        if !told {
            self.lose("the broker used a number or a name that cannot be", 1);
        }
    }

    fn name_topic(&mut self, number: u32, name: &str) -> bool {
        let Some(told) = self.topics.tell(number, name) else { return false };
        if let Some(old) = told.old {
            self.keep_notes(told.slot, &old);
        }
        if told.is_new {
            if let Some(recording) = &mut self.recording {
                let _ = recording.ring.name_topic(told.slot, name);
            }
            let _ = self.matcher.remove_topic(TopicId(told.slot));
            self.mailboxes.values_mut().for_each(|mailbox| mailbox.forget_topic(told.slot));
            let at = told.slot as usize;
            self.routes.resize_with(self.routes.len().max(at + 1), Route::default);
            self.routes[at] = Route::Unknown;
            return self.matcher.add_topic(TopicId(told.slot), name).is_ok();
        }
        true
    }

    /// What was noted under a slot is of the topic that it stood for.
    fn keep_notes(&mut self, slot: u32, name: &Arc<str>) {
        let kept = &mut self.notes;
        self.tallies.retain(|&(inbox, topic, occasion), &mut Tally { count, worst_ns }| {
            if topic == slot {
                kept.push(Note { inbox, topic: name.clone(), occasion, count, worst_ns });
            }
            topic != slot
        });
    }

    fn name_source(&mut self, number: u32, name: &str) -> bool {
        let Some(told) = self.sources.tell(number, name) else { return false };
        if told.is_new {
            if let Some(recording) = &mut self.recording {
                let _ = recording.ring.name_publisher(told.slot, name);
            }
            self.mailboxes.values_mut().for_each(|mailbox| mailbox.forget_source(told.slot));
        }
        true
    }

    fn echo(&mut self, now: Nanos, probe: Probe) {
        if !probe.echo {
            let echo = Frame::Probe(Probe { echo: true, t_echoed_ns: now, ..probe });
            let _ = echo.encode(&mut self.replies, LIMIT_BYTES);
        }
    }

    #[inline]
    fn deliver(&mut self, now: Nanos, frame: &[u8], data: &Data<'_>) {
        let Some(topic) = self.topics.slot(data.header.stream) else {
            self.unroutable += 1;
            return;
        };
        // Taken out while it is followed: nothing in there changes routes.
        match self.routes.get_mut(topic as usize).map(std::mem::take) {
            Some(Route::Plain(keys)) => {
                self.put(now, topic, frame, data, keys.iter().copied());
                self.routes[topic as usize] = Route::Plain(keys);
            }
            Some(_) => self.find_route(now, topic, frame, data),
            None => self.unroutable += 1,
        }
    }

    #[cold]
    fn find_route(&mut self, now: Nanos, topic: u32, frame: &[u8], data: &Data<'_>) {
        let id = TopicId(topic);
        if !self.matcher.is_filtered(id) {
            let keys = self.matcher.unfiltered(id).unwrap_or_default().iter().map(|key| key.0);
            self.routes[topic as usize] = Route::Plain(keys.collect());
            return self.deliver(now, frame, data);
        }
        self.routes[topic as usize] = Route::Filtered;
        let attributes = Attributes::decode(data.attributes).unwrap_or_default();
        let mut found = std::mem::take(&mut self.found);
        let _ = self.matcher.matching(id, attributes, &mut found);
        self.put(now, topic, frame, data, found.iter().map(|key| key.0));
        self.found = found;
    }

    #[inline]
    fn put(
        &mut self,
        now: Nanos,
        topic: u32,
        frame: &[u8],
        data: &Data<'_>,
        keys: impl Iterator<Item = u32>,
    ) {
        let source = self.sources.slot(data.header.source).unwrap_or(u32::MAX);
        let mut header = data.header;
        (header.stream, header.source) = (topic, source);
        let size = data.attributes.len() + data.payload.len();
        let Self { topics, sources, mailboxes, tallies, announced, recording, .. } = self;
        for key in keys {
            let Some(mailbox) = mailboxes.get_mut(&key) else { continue };
            mailbox.count(key, now, &header, size, tallies);
            if let Some(recording) = recording {
                recording.note(key, now, &header, size);
            }
            let kept = mailbox.push(now, (topic, source), frame, |(topic, source)| {
                topics.release(topic);
                sources.release(source);
                note(tallies, (key, topic, Occasion::Full), 1, 0);
            });
            if !kept {
                note(tallies, (key, topic, Occasion::Full), 1, 0);
                continue;
            }
            topics.hold(topic);
            sources.hold(source);
            if mailbox.announces {
                announced.insert(key);
            }
        }
    }

    // --- subscriptions and flows

    /// Opens an inbox for a pattern: before the broker is asked, since data may come before its answer.
    pub fn open_inbox(
        &mut self,
        pattern: &str,
        filter: Option<&Filter>,
        limits: Limits,
        watch: Watch,
    ) -> Result<u32, ChangeError> {
        let key = self.next_key;
        self.matcher.subscribe(SubscriptionId(key), pattern, filter)?;
        if let Some(recording) = &mut self.recording {
            recording.open(key)?;
        }
        self.next_key += 1;
        self.mailboxes.insert(key, Mailbox::new(limits, watch));
        self.routes.fill(Route::Unknown);
        Ok(key)
    }

    /// Closes an inbox; what waits in it is gone.
    pub fn close_inbox(&mut self, key: u32) {
        self.purge(key);
        self.forget_party(key);
        self.announced.remove(&key);
        if self.mailboxes.remove(&key).is_some() {
            let _ = self.matcher.unsubscribe(SubscriptionId(key));
            self.routes.fill(Route::Unknown);
        }
    }

    /// Other limits to be told of.
    pub fn watch(&mut self, key: u32, change: impl FnOnce(&mut Watch)) {
        if let Some(mailbox) = self.mailboxes.get_mut(&key) {
            change(&mut mailbox.watch);
        }
    }

    /// Lets [`Self::take_announced`] tell when something waits in the inbox.
    pub fn announce(&mut self, key: u32) {
        if let Some(mailbox) = self.mailboxes.get_mut(&key) {
            mailbox.announces = true;
            if mailbox.inbox.len() > 0 {
                self.announced.insert(key);
            }
        }
    }

    /// The broker knows a flow under this number: credits for it go there.
    pub fn bind_flow(&mut self, number: u32, credit: Option<u32>, flow: &Arc<Flow>) {
        if self.is_connected() {
            self.flows.insert(number, flow.clone());
            flow.bind(number, credit);
        }
    }

    /// The flow is no more.
    pub fn release_flow(&mut self, flow: &Flow) {
        if let Some(number) = flow.number() {
            self.flows.remove(&number);
        }
        let _ = flow.unbind();
    }

    // --- what is taken out

    /// The next message of an inbox, given to `work` while it lies there.
    #[inline]
    pub fn take<T>(&mut self, key: u32, work: impl FnOnce(Incoming<'_>) -> T) -> Option<T> {
        let Self { topics, sources, mailboxes, nameless, .. } = self;
        let entry = mailboxes.get_mut(&key)?.inbox.pop()?;
        let (topic, source) = (entry.data.header.stream, entry.data.header.source);
        topics.release(topic);
        sources.release(source);
        Some(work(Incoming {
            received_ns: entry.received_ns,
            topic: topics.name(topic).unwrap_or(nameless),
            source: sources.name(source).unwrap_or(nameless),
            data: entry.data,
        }))
    }

    /// How many messages wait in an inbox; none if it is closed.
    pub fn waiting(&self, key: u32) -> Option<usize> {
        self.mailboxes.get(&key).map(|mailbox| mailbox.inbox.len())
    }

    /// Throws away what waits in an inbox, and says how much it was.
    pub fn purge(&mut self, key: u32) -> usize {
        std::iter::from_fn(|| self.take(key, |_| ())).count()
    }

    /// Whether the faces have something to do: control bodies, notes or a loss.
    #[inline]
    pub fn wants_attention(&self) -> bool {
        !self.control.is_empty() || !self.tallies.is_empty() || !self.notes.is_empty() || self.loss.is_some()
    }

    /// Control bodies in the order in which they came.
    pub fn take_control(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.control.drain(..)
    }

    /// What happened to messages since this was last asked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        let topics = &self.topics;
        let tallies = std::mem::take(&mut self.tallies).into_iter();
        let notes = tallies.filter_map(|((inbox, topic, occasion), Tally { count, worst_ns })| {
            Some(Note { inbox, topic: topics.name(topic)?.clone(), occasion, count, worst_ns })
        });
        let mut all = std::mem::take(&mut self.notes);
        all.extend(notes);
        all
    }

    /// Whether an announcing inbox has something.
    pub fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Announcing inboxes in which something waits.
    pub fn take_announced(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.announced).into_iter().collect()
    }

    /// Frames that the other side must get: echoes of probes.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    /// How an inbox's topics have been arriving: since it was opened, or since this was last asked so.
    pub fn figures(&mut self, key: u32, recent: bool) -> Vec<(Arc<str>, Figures)> {
        let Self { topics, mailboxes, .. } = self;
        let Some(mailbox) = mailboxes.get_mut(&key) else { return Vec::new() };
        let named = mailbox.reports().filter_map(|(topic, report)| {
            let figures = if recent { report.recent() } else { report.figures() };
            Some((topics.name(topic)?.clone(), figures))
        });
        named.collect()
    }

    /// Data frames whose topic the broker never named, and datagrams that were no data frames.
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }
}
