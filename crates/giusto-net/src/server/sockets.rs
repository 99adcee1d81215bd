//! All sockets of the broker, and the two buffers that they share.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{BorrowedFd, OwnedFd};

use giusto_core::frame::{Failure, Frame, LIMIT_BYTES, PREFIX_BYTES};
use giusto_core::id::Nanos;
use rustix::event::epoll;
use rustix::io::Errno;

use super::link::{GONE, Input, Link, Output, Sets};
use super::listen::Listener;
use crate::hub::{ConnId, Filled, Hold, Hub, Traffic, code};

/// Pause after the process has run out of file descriptors.
const ACCEPT_PAUSE_NS: Nanos = 100_000_000;
/// Pause while the control plane has as many events as it may.
const DEAF_PAUSE_NS: Nanos = 1_000_000;
/// Datagrams written to one client in one turn.
const DATAGRAMS_MAX: usize = 64;
/// Bytes of one datagram, at most.
const DATAGRAM_BYTES_MAX: usize = 1 << 16;
/// A datagram is worth the time in which so many bytes are written to a stream.
const DATAGRAM_BYTES: usize = 4 << 10;
/// A client is read with at least this much, however many others are ready.
const SHARE_BYTES_MIN: usize = 8_192;
/// What a shared buffer keeps when a large frame has gone.
const BUFFER_BYTES_MAX: usize = 2 << 20;

/// How much a listener is served at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) accepts: usize,
    pub(super) datagrams: usize,
    /// Bytes of datagrams, but for the one that exceeds it.
    pub(super) bytes: usize,
}

/// The shell around the hub: it decides nothing.
pub(super) struct Sockets {
    sets: Sets,
    listeners: Vec<Listener>,
    first_token: u64,
    /// Listeners are not watched until then.
    accepts_again_ns: Option<Nanos>,
    links: Vec<Option<Box<Link>>>,
    read_bytes: usize,
    /// Nobody is read any more.
    parting: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Sockets {
    /// Watches the listeners under tokens that count down from `first_token`, and urgent connections under another one.
    pub(super) fn new(
        read_bytes: usize,
        listeners: Vec<Listener>,
        first_token: u64,
        urgent_token: u64,
    ) -> io::Result<Self> {
        let sockets = Self {
            sets: Sets::new(urgent_token)?,
            listeners,
            first_token,
            accepts_again_ns: None,
            links: Vec::new(),
            read_bytes,
            parting: false,
            // Room for a frame's start in front of what is read, and for any datagram.
            input: vec![0; read_bytes + SHARE_BYTES_MIN.max(1 << 16)],
            output: Vec::new(),
        };
        sockets.watch_listeners()?;
        Ok(sockets)
    }

    fn watch_listeners(&self) -> io::Result<()> {
        for (index, listener) in self.listeners.iter().enumerate() {
            let token = epoll::EventData::new_u64(self.first_token - index as u64);
            match epoll::add(&self.sets.all, listener, token, epoll::EventFlags::IN) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) fn watch_bell(&self, bell: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.sets.all, bell, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?)
    }

    /// What to wait for.
    pub(super) fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Has a client read first, or with all the others.
    pub(super) fn shift(&mut self, id: ConnId, urgent: bool) {
        if let Some(link) = find(&mut self.links, id) {
            link.shift(&self.sets, urgent);
        }
    }

    pub(super) fn listeners(&self) -> usize {
        self.listeners.len()
    }

    /// Bytes for each of `ready` clients: together not many times `most_bytes`, which one may have alone.
    pub(super) fn share_bytes(&self, ready: usize, most_bytes: usize) -> usize {
        let share = (2 * most_bytes / ready.max(2)).max(SHARE_BYTES_MIN);
        share.min(self.read_bytes)
    }

    // --- who comes and goes

    /// Accepts connections, or takes datagrams; returns how many of those.
    pub(super) fn welcome(&mut self, now: Nanos, hub: &mut Hub, index: usize, amount: Amount) -> usize {
        if let Some(Listener::Udp(socket)) = self.listeners.get(index) {
            return receive_datagrams(now, hub, socket, &mut self.input, amount);
        }
        self.accept(now, hub, index, amount.accepts);
        0
    }

    fn accept(&mut self, now: Nanos, hub: &mut Hub, index: usize, most: usize) {
        for _ in 0..most {
            if hub.is_deaf() {
                return self.pause_accepting(now + DEAF_PAUSE_NS);
            }
            match self.listeners.get(index).map(Listener::accept) {
                Some(Ok((fd, address))) => self.open(now, hub, fd, address),
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Gone before it was accepted; the next may be fine.
                Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Some(Err(_)) => {
                    hub.refusals().files += 1;
                    return self.pause_accepting(now + ACCEPT_PAUSE_NS);
                }
                None => return,
            }
        }
    }

    fn open(&mut self, now: Nanos, hub: &mut Hub, fd: OwnedFd, address: String) {
        let Some(id) = hub.open(now, address) else { return turn_away(&fd) };
        match Link::new(id, fd, &self.sets) {
            Ok(link) => {
                if id.slot() >= self.links.len() {
                    self.links.resize_with(id.slot() + 1, || None);
                }
                self.links[id.slot()] = Some(Box::new(link));
            }
            Err(error) => hub.hang_up(id, &error.to_string()),
        }
    }

    /// No descriptors or nobody who listens: asking again at once would only burn the processor.
    fn pause_accepting(&mut self, until_ns: Nanos) {
        for listener in self.listeners.iter().filter(|listener| !matches!(listener, Listener::Udp(_))) {
            let _ = epoll::delete(&self.sets.all, listener);
        }
        self.accepts_again_ns = Some(until_ns);
    }

    pub(super) fn accepts_again_ns(&self) -> Option<Nanos> {
        self.accepts_again_ns
    }

    /// Ends a pause that is over.
    pub(super) fn accept_again(&mut self, now: Nanos) {
        if self.accepts_again_ns.is_some_and(|at| at <= now) {
            self.accepts_again_ns = self.watch_listeners().err().map(|_| now + ACCEPT_PAUSE_NS);
        }
    }

    pub(super) fn stop_listening(&mut self) {
        self.listeners.retain(|listener| matches!(listener, Listener::Udp(_)));
        for listener in &self.listeners {
            let _ = epoll::delete(&self.sets.all, listener);
        }
        self.accepts_again_ns = None;
    }

    pub(super) fn drop_link(&mut self, hub: &mut Hub, id: ConnId, reason: &str) {
        if self.link(id).is_some() {
            self.links[id.slot()] = None;
            hub.hang_up(id, reason);
        }
    }

    /// A client is gone that is not read at the moment: what it has sent before that is read later, up to its end.
    pub(super) fn set_aside(&mut self, hub: &mut Hub, id: ConnId) {
        if self.parting {
            return self.drop_link(hub, id, GONE);
        }
        if let Some(link) = find(&mut self.links, id) {
            link.set_aside(&self.sets);
        }
    }

    /// Nothing can be written to a client: what it has sent before that is still read, up to its end.
    fn give_up(&mut self, hub: &mut Hub, id: ConnId, reason: String) {
        if self.parting {
            return self.drop_link(hub, id, &reason);
        }
        if let Some(link) = find(&mut self.links, id) {
            link.mute(reason);
            link.watch(&self.sets);
        }
    }

    /// Whether the client is not read at the moment.
    pub(super) fn is_held(&mut self, id: ConnId) -> bool {
        self.link(id).is_some_and(|link| link.held)
    }

    /// Whether bytes wait for the client's socket.
    pub(super) fn is_blocked(&mut self, id: ConnId) -> bool {
        self.link(id).is_some_and(|link| link.is_blocked())
    }

    /// There are no more clients than that.
    pub(super) fn links_max(&self) -> usize {
        self.links.len()
    }

    /// Whether every client has got its last frame.
    pub(super) fn have_said_all(&self) -> bool {
        self.links.iter().flatten().all(|link| link.muted.is_some() || link.last && !link.is_blocked())
    }

    /// Whether no client is left.
    pub(super) fn are_gone(&self) -> bool {
        self.links.iter().flatten().next().is_none()
    }

    fn link(&mut self, id: ConnId) -> Option<&mut Link> {
        find(&mut self.links, id)
    }

    /// Does not read a client, or does again.
    pub(super) fn hold(&mut self, id: ConnId, held: bool) {
        if let Some(link) = find(&mut self.links, id) {
            link.held = held;
            link.watch(&self.sets);
        }
    }

    /// Does not read anybody from now on.
    pub(super) fn hold_all(&mut self, hub: &mut Hub) {
        self.parting = true;
        let gone = self.links.iter().flatten().filter(|link| link.is_gone());
        for id in gone.map(|link| link.id).collect::<Vec<_>>() {
            self.drop_link(hub, id, GONE);
        }
        for link in self.links.iter_mut().flatten() {
            link.held = true;
            link.watch(&self.sets);
        }
    }

    // --- input

    /// Reads a client once.
    pub(super) fn receive(&mut self, now: Nanos, hub: &mut Hub, id: ConnId, share_bytes: usize) -> Hold {
        let Some(link) = find(&mut self.links, id) else { return Hold::None };
        // A short start of a frame is put in front of what is read; a long one is appended to.
        let start = if link.partial.len() <= self.input.len() - share_bytes { link.partial.len() } else { 0 };
        self.input[..start].copy_from_slice(&link.partial[..start]);
        let count = match link.read(&mut self.input[start..start + share_bytes]) {
            Input::Bytes(count) => count,
            Input::Nothing => return Hold::None,
            Input::End(reason) => {
                let reason = link.muted.take().unwrap_or(reason);
                self.drop_link(hub, id, &reason);
                return Hold::None;
            }
        };
        let read = &self.input[start..start + count];
        if link.partial.len() + count < link.needed {
            link.partial.extend_from_slice(read);
            hub.note_partial(now, id, count);
            return Hold::None;
        }
        if start == 0 && !link.partial.is_empty() {
            link.partial.extend_from_slice(read);
            return offer(now, hub, link);
        }
        let received = hub.receive(now, id, &self.input[..start + count]);
        let rest = &self.input[received.consumed..start + count];
        keep(&mut link.partial, rest);
        link.needed = received.needed;
        if received.consumed == 0 {
            hub.note_partial(now, id, count);
        }
        received.hold
    }

    /// Offers frames again for which the control plane had no room.
    pub(super) fn offer_again(&mut self, now: Nanos, hub: &mut Hub, id: ConnId) -> Hold {
        self.link(id).map_or(Hold::None, |link| offer(now, hub, link))
    }

    // --- output

    /// The socket takes bytes again: so many at most of those that wait for it.
    pub(super) fn unblock(&mut self, hub: &mut Hub, id: ConnId, limit_bytes: usize) {
        let Some(link) = find(&mut self.links, id).filter(|link| link.is_blocked()) else { return };
        match link.write_kept(limit_bytes) {
            Output::Kept => {}
            Output::Sent => {
                if link.last {
                    link.shut();
                }
                link.watch(&self.sets);
                hub.mark(id);
            }
            Output::End(reason) => self.give_up(hub, id, reason),
        }
    }

    /// Writes once what waits for a client, unless its socket has not taken all of the last time.
    pub(super) fn flush(&mut self, now: Nanos, hub: &mut Hub, id: ConnId, limit_bytes: usize) {
        let Some(link) = find(&mut self.links, id).filter(|link| link.is_writable()) else {
            return hub.forgive_names(id);
        };
        if hub.datagram_address(id).is_some() {
            send_datagrams(now, hub, &self.listeners, id, Traffic::All, limit_bytes, &mut self.output);
        }
        self.output.clear();
        link.last = hub.fill(now, id, &mut self.output, limit_bytes) == Filled::Last;
        self.write(hub, id);
    }

    /// The same for the guarded messages of a turn, with credits, and with at most `names_bytes` of names before them; returns
    /// how many these were.
    pub(super) fn flush_guarded(
        &mut self,
        now: Nanos,
        hub: &mut Hub,
        id: ConnId,
        names_bytes: usize,
    ) -> usize {
        if find(&mut self.links, id).is_none_or(|link| !link.is_writable()) {
            hub.forgive_names(id);
            hub.put_behind(id);
            return 0;
        }
        if hub.datagram_address(id).is_some() {
            let limit_bytes = DATAGRAMS_MAX * DATAGRAM_BYTES_MAX;
            send_datagrams(now, hub, &self.listeners, id, Traffic::Guarded, limit_bytes, &mut self.output);
        }
        self.output.clear();
        let told_bytes = hub.fill_guarded(now, id, &mut self.output, names_bytes);
        self.write(hub, id);
        told_bytes
    }

    /// Writes what is in the output buffer.
    #[inline]
    fn write(&mut self, hub: &mut Hub, id: ConnId) {
        let Some(link) = find(&mut self.links, id) else { return };
        let output = if self.output.is_empty() { Output::Sent } else { link.write(&self.output) };
        match output {
            Output::Sent if link.last => link.shut(),
            Output::Sent => {}
            Output::Kept => link.watch(&self.sets),
            Output::End(reason) => self.give_up(hub, id, reason),
        }
        if self.output.capacity() > BUFFER_BYTES_MAX {
            self.output = Vec::new();
        }
    }
}

#[inline]
fn find(links: &mut [Option<Box<Link>>], id: ConnId) -> Option<&mut Link> {
    links.get_mut(id.slot())?.as_deref_mut().filter(|link| link.id == id)
}

/// Offers a link's own bytes to the hub.
fn offer(now: Nanos, hub: &mut Hub, link: &mut Link) -> Hold {
    let received = hub.receive(now, link.id, &link.partial);
    let rest = link.partial.split_off(received.consumed);
    link.partial = rest;
    link.needed = received.needed;
    received.hold
}

/// Makes `partial` the bytes of `rest`, without memory if there are none.
fn keep(partial: &mut Vec<u8>, rest: &[u8]) {
    partial.clear();
    if !rest.is_empty() {
        partial.extend_from_slice(rest);
    } else if partial.capacity() > PREFIX_BYTES {
        *partial = Vec::new();
    }
}

/// Takes datagrams of all clients together, of so many bytes but for the one that exceeds it; returns how many.
fn receive_datagrams(
    now: Nanos,
    hub: &mut Hub,
    socket: &UdpSocket,
    buffer: &mut [u8],
    amount: Amount,
) -> usize {
    let mut bytes = 0;
    for taken in 0..amount.datagrams {
        if bytes >= amount.bytes {
            return taken;
        }
        match socket.recv_from(buffer) {
            Ok((count, from)) => {
                bytes += count;
                hub.receive_datagram(now, from, &buffer[..count]);
            }
            // An earlier datagram reached nobody: its sender finds out over TCP.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return taken,
        }
    }
    amount.datagrams
}

fn send_datagrams(
    now: Nanos,
    hub: &mut Hub,
    listeners: &[Listener],
    id: ConnId,
    traffic: Traffic,
    limit_bytes: usize,
    buffer: &mut Vec<u8>,
) {
    let socket = listeners.iter().find_map(|listener| match listener {
        Listener::Udp(socket) => Some(socket),
        _ => None,
    });
    let (Some(socket), Some(address)) = (socket, hub.datagram_address(id)) else { return };
    let mut bytes = 0;
    for _ in 0..DATAGRAMS_MAX.min(limit_bytes / DATAGRAM_BYTES) {
        buffer.clear();
        if bytes >= limit_bytes || !hub.fill_datagram(now, id, traffic, buffer) {
            return;
        }
        // Best effort: what the system does not take is lost as on the wire, and shows as a gap in the sequence.
        let _ = socket.send_to(buffer, address);
        bytes += buffer.len();
    }
}

/// Tells somebody that there is no room for them.
fn turn_away(fd: &OwnedFd) {
    let mut frame = Vec::new();
    let failure = Failure { code: code::OVERLOAD, text: "as many connections as there may be" };
    let _ = Frame::Error(failure).encode(&mut frame, LIMIT_BYTES);
    let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
    let _ = rustix::net::send(fd, &frame, flags);
}
