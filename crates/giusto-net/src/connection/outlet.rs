//! When what a client sends leaves: at once from the caller's thread, or together with more.
//!
//! A call that comes some time after the last one writes at once: the shortest way. Calls in close
//! succession ([`BURST_NS`]) only append; a thread of the connection, which sleeps otherwise, writes
//! all that has gathered in one call, and again, until nothing is left. What a full socket does not
//! take waits for that thread too. So the bytes leave in order, and nobody but that thread ever
//! blocks on the socket.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use giusto_core::frame::{Data, EncodeError, Frame, Kind};
use giusto_core::id::Nanos;

use super::socket::{SLICE, Socket};
use crate::clock;

/// Calls closer together than this are a burst.
const BURST_NS: Nanos = 5_000;
/// Callers wait while more than this has not been written.
const PENDING_BYTES_MAX: usize = 1 << 20;
/// A datagram takes more frames up to this size: what passes most networks in one piece.
const DATAGRAM_BYTES: usize = 1_400;
/// No datagram is larger; what does not fit goes over the stream.
const DATAGRAM_BYTES_MAX: usize = 65_507;
const HEADER_BYTES: usize = giusto_core::frame::data::HEADER_BYTES;

/// What the caller has to do after it has appended something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: it will leave.
    Done,
    /// Call [`Outlet::write`]: it leaves from the caller's thread.
    Write,
    /// Call [`Outlet::wait_for_room`]: too much waits already.
    Wait,
}

/// The sending side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    state: Mutex<Outgoing>,
    /// Wakes the thread.
    work: Condvar,
    /// Wakes those who wait until it is written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct Outgoing {
    socket: Option<Arc<Socket>>,
    pending: Vec<u8>,
    /// Data frames that leave in datagrams.
    datagrams: Vec<u8>,
    /// An empty buffer to swap `pending` with.
    spare: Vec<u8>,
    /// Somebody writes; what is added meanwhile is left to the thread.
    writing: bool,
    last_ns: Nanos,
    has_thread: bool,
    is_asleep: bool,
    waiters: u32,
    /// Messages in datagrams that a socket did not take.
    dropped: u64,
    closed: bool,
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.datagrams.is_empty()
    }

    fn is_too_full(&self) -> bool {
        self.pending.len() > PENDING_BYTES_MAX || self.datagrams.len() > PENDING_BYTES_MAX
    }

    /// What `socket` did not take waits in front of the rest, unless another connection has begun.
    fn put_back(&mut self, socket: &Arc<Socket>, mut bytes: Vec<u8>) {
        if !self.socket.as_ref().is_some_and(|current| Arc::ptr_eq(current, socket)) {
            bytes.clear();
        }
        if bytes.is_empty() {
            self.spare = bytes;
        } else {
            bytes.append(&mut self.pending);
            self.pending = bytes;
        }
    }

    /// Whether callers may append; without a connection nobody has to wait for one that takes bytes.
    fn has_room(&self) -> bool {
        !self.is_too_full() || self.socket.is_none()
    }

    /// Takes a data frame to where it leaves from.
    #[inline]
    fn append(&mut self, data: &Data<'_>, limit_bytes: u32) -> Result<(), EncodeError> {
        let in_datagrams = self.socket.as_ref().is_some_and(|socket| socket.has_datagrams());
        let size = HEADER_BYTES + data.attributes.len() + data.payload.len();
        let out =
            if in_datagrams && size <= DATAGRAM_BYTES_MAX { &mut self.datagrams } else { &mut self.pending };
        data.encode(out, limit_bytes)
    }
}

impl Outlet {
    fn lock(&self) -> MutexGuard<'_, Outgoing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes go to this socket from now on; what waited for another is gone.
    pub(crate) fn open(&self, socket: Arc<Socket>) {
        let mut out = self.lock();
        out.pending.clear();
        out.datagrams.clear();
        out.socket = Some(socket);
    }

    /// Nothing can be written any more. Returns how many messages had not left.
    pub(crate) fn shut(&self) -> usize {
        let mut out = self.lock();
        if let Some(socket) = out.socket.take() {
            socket.shut();
        }
        let unsent = messages(&out.pending) + messages(&out.datagrams);
        out.pending.clear();
        out.datagrams.clear();
        self.written.notify_all();
        unsent
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
        self.shut();
    }

    /// Appends the data frames that `frames` yields while nobody else can append.
    #[inline]
    pub(crate) fn send_data<'a>(
        self: &Arc<Self>,
        now: Nanos,
        limit_bytes: u32,
        frames: impl Iterator<Item = Data<'a>>,
    ) -> Result<Next, EncodeError> {
        let mut out = self.lock();
        for data in frames {
            if let Err(error) = out.append(&data, limit_bytes) {
                let next = self.after_append(&mut out, now);
                drop(out);
                return self.refuse(next, error);
            }
        }
        Ok(self.after_append(&mut out, now))
    }

    /// A frame was refused: the ones before it leave all the same.
    #[cold]
    fn refuse(self: &Arc<Self>, next: Next, error: EncodeError) -> Result<Next, EncodeError> {
        if next == Next::Write {
            self.write();
        }
        Err(error)
    }

    /// Appends a frame that is not data. It leaves at once: somebody waits for the answer.
    pub(crate) fn send_frame(
        self: &Arc<Self>,
        frame: &Frame<'_>,
        limit_bytes: u32,
    ) -> Result<Next, EncodeError> {
        let mut out = self.lock();
        frame.encode(&mut out.pending, limit_bytes)?;
        out.last_ns = 0;
        Ok(self.after_append(&mut out, clock::now()))
    }

    /// Appends whole frames.
    pub(crate) fn send_bytes(self: &Arc<Self>, frames: &[u8]) -> Next {
        let mut out = self.lock();
        out.pending.extend_from_slice(frames);
        out.last_ns = 0;
        self.after_append(&mut out, clock::now())
    }

    #[inline]
    fn after_append(self: &Arc<Self>, out: &mut Outgoing, now: Nanos) -> Next {
        let is_burst = now - out.last_ns < BURST_NS;
        out.last_ns = now;
        if out.socket.is_none() {
            return Next::Done;
        }
        // Who writes now looks again when it has written.
        let is_left_to_others = out.writing || (is_burst && self.wake(out));
        if !is_left_to_others {
            out.writing = true;
            return Next::Write;
        }
        if out.is_too_full() { Next::Wait } else { Next::Done }
    }

    /// Lets the thread write; false if there is none and none can be had.
    fn wake(self: &Arc<Self>, out: &mut Outgoing) -> bool {
        if out.is_asleep {
            out.is_asleep = false;
            self.work.notify_one();
        } else if !out.has_thread {
            let outlet = self.clone();
            let started = thread::Builder::new().name("giusto-writer".into()).spawn(move || outlet.run());
            out.has_thread = started.is_ok();
        }
        out.has_thread
    }

    /// Writes what has gathered, as far as the socket takes it: after [`Next::Write`] only.
    pub(crate) fn write(self: &Arc<Self>) {
        let mut out = self.lock();
        let Some(socket) = out.socket.clone() else {
            out.writing = false;
            return;
        };
        let (mut bytes, datagrams) = take(&mut out);
        drop(out);
        let dropped = send_datagrams(&socket, &datagrams);
        let written = if bytes.is_empty() { Ok(0) } else { socket.write_now(&bytes) };
        let mut out = self.lock();
        out.writing = false;
        out.dropped += dropped;
        out.last_ns = clock::now();
        match written {
            Ok(count) => drop(bytes.drain(..count)),
            Err(error) if is_busy(&error) => {}
            Err(_) => {
                socket.shut();
                bytes.clear();
            }
        }
        out.put_back(&socket, bytes);
        if !out.is_empty() {
            self.wake(&mut out);
        }
        if out.waiters > 0 {
            self.written.notify_all();
        }
    }

    /// Whether callers may append.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().has_room()
    }

    /// Waits until callers may append again; false if that takes longer than [`SLICE`].
    pub(crate) fn wait_for_room(&self) -> bool {
        let out = self.lock();
        self.wait_written(out, SLICE, Outgoing::has_room).0.has_room()
    }

    /// Waits until everything has been given to the socket; false if that takes longer than `timeout`.
    pub(crate) fn flush(self: &Arc<Self>, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let mut out = self.lock();
            if out.socket.is_none() || (out.is_empty() && !out.writing) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if out.writing || out.has_thread {
                self.wake(&mut out);
                let _ = self.wait_written(out, left.min(SLICE), |out| out.is_empty() && !out.writing);
            } else {
                out.writing = true;
                drop(out);
                self.write();
            }
        }
    }

    /// Messages in datagrams that the socket did not take.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// What has gathered, for a connection without a socket.
    pub(crate) fn take_bytes(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().pending)
    }

    fn wait_written<'a>(
        &self,
        mut out: MutexGuard<'a, Outgoing>,
        timeout: Duration,
        is_done: impl Fn(&Outgoing) -> bool,
    ) -> (MutexGuard<'a, Outgoing>, bool) {
        out.waiters += 1;
        let waiting = |out: &mut Outgoing| !is_done(out) && out.socket.is_some();
        let (mut out, timed_out) =
            self.written.wait_timeout_while(out, timeout, waiting).unwrap_or_else(PoisonError::into_inner);
        out.waiters -= 1;
        (out, timed_out.timed_out())
    }

    /// The thread: writes until nothing is left, then sleeps.
    fn run(self: Arc<Self>) {
        let mut out = self.lock();
        while !out.closed {
            let Some(socket) = out.socket.clone().filter(|_| !out.writing && !out.is_empty()) else {
                out.is_asleep = true;
                out = self.work.wait(out).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            out.is_asleep = false;
            out.writing = true;
            let (mut bytes, datagrams) = take(&mut out);
            drop(out);
            let dropped = send_datagrams(&socket, &datagrams);
            if write_all(&socket, &bytes).is_err() {
                socket.shut();
            }
            bytes.clear();
            out = self.lock();
            out.spare = bytes;
            out.writing = false;
            out.dropped += dropped;
            if out.waiters > 0 {
                self.written.notify_all();
            }
        }
    }
}

fn take(out: &mut Outgoing) -> (Vec<u8>, Vec<u8>) {
    let spare = std::mem::take(&mut out.spare);
    (std::mem::replace(&mut out.pending, spare), std::mem::take(&mut out.datagrams))
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn write_all(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write_now(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if is_busy(&error) => socket.wait_writable(SLICE)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Packs whole frames into datagrams; how many messages the socket did not take.
fn send_datagrams(socket: &Socket, frames: &[u8]) -> u64 {
    let (mut start, mut end, mut dropped) = (0, 0, 0);
    let mut send = |datagram: &[u8]| {
        if !socket.write_datagram(datagram) {
            dropped += messages(datagram) as u64;
        }
    };
    for length in lengths(frames) {
        if end > start && end - start + length > DATAGRAM_BYTES {
            send(&frames[start..end]);
            start = end;
        }
        end += length;
    }
    if end > start {
        send(&frames[start..end]);
    }
    dropped
}

/// The lengths of the frames in a row of whole frames.
fn lengths(frames: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = frames.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)? as usize;
        at += length;
        (length > 0 && at <= frames.len()).then_some(length)
    })
}

/// How many of the frames carry a message.
fn messages(frames: &[u8]) -> usize {
    let mut at = 0;
    let kinds = lengths(frames).map(|length| {
        let kind = frames.get(at + 4).copied();
        at += length;
        kind
    });
    kinds.filter(|&kind| kind == Some(Kind::Data as u8)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Address;
    use giusto_core::frame::{DataHeader, LIMIT_BYTES};
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    fn data(payload: &[u8]) -> Data<'_> {
        Data { header: DataHeader::default(), attributes: &[], payload }
    }

    #[test]
    fn without_a_socket_frames_gather() {
        let outlet = Arc::new(Outlet::default());
        let sent = outlet.send_data(0, LIMIT_BYTES, [data(b"a"), data(b"b")].into_iter());
        assert_eq!(sent, Ok(Next::Done));
        assert_eq!(outlet.send_frame(&Frame::Goodbye, LIMIT_BYTES), Ok(Next::Done));
        let bytes = outlet.take_bytes();
        assert_eq!(lengths(&bytes).collect::<Vec<_>>(), [57, 57, 8]);
        assert_eq!(messages(&bytes), 2);
        assert_eq!(outlet.take_bytes(), []);
    }

    #[test]
    fn a_frame_that_is_refused_is_not_sent_in_part() {
        let outlet = Arc::new(Outlet::default());
        assert!(outlet.send_data(0, 60, [data(b"12345")].into_iter()).is_err());
        assert_eq!(outlet.take_bytes(), []);
    }

    /// A socket, and its other end.
    fn connected() -> (Arc<Socket>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::parse(&format!("giusto://{}", listener.local_addr().unwrap())).unwrap();
        let socket = Socket::connect(&address, Duration::from_secs(60)).unwrap();
        (Arc::new(socket), listener.accept().unwrap().0)
    }

    #[test]
    fn what_precedes_a_refused_frame_leaves() {
        let (socket, mut peer) = connected();
        let outlet = Arc::new(Outlet::default());
        outlet.open(socket);
        assert!(outlet.send_data(clock::now(), 60, [data(b"a"), data(b"12345")].into_iter()).is_err());
        assert!(outlet.flush(Duration::from_secs(60)));
        let mut frame = [0; 57];
        peer.read_exact(&mut frame).unwrap();
        assert_eq!(messages(&frame), 1);
        outlet.close();
    }

    #[test]
    fn what_an_old_socket_did_not_take_does_not_go_to_the_next() {
        let ((old, _old_peer), (new, _new_peer)) = (connected(), connected());
        let mut out = Outgoing { socket: Some(old.clone()), pending: b"b".into(), ..Outgoing::default() };
        out.put_back(&old, b"a".into());
        assert_eq!(out.pending, b"ab");
        out.socket = Some(new);
        out.put_back(&old, b"x".into());
        assert_eq!((out.pending.as_slice(), out.spare.as_slice()), (b"ab".as_slice(), b"".as_slice()));
        out.socket = None;
        out.put_back(&old, b"x".into());
        assert_eq!(out.pending, b"ab");
    }
}
