//! The shell around a [`Session`]: sockets, threads that wait, and the clock.
//!
//! There is no reader thread. Whoever waits for something reads, for all: one thread is in the
//! system call, the others wait for it on a condition. What it read goes to all inboxes at once, so
//! a message takes one wake-up from the socket to its receiver. When the reader has what it wanted,
//! another one takes its place.

mod address;
mod intake;
mod outlet;
mod socket;

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::process;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use giusto_core::frame::{Data, EncodeError, Frame, Hello, VERSION};
use giusto_core::id::Nanos;

pub use address::{Address, PORT, Place};
use intake::Intake;
use outlet::{Next, Outlet};
use socket::{SLICE, Socket};

use crate::clock;
use crate::session::Session;

/// What waits to be sent has this long to leave when a connection is dropped without being closed.
pub const DROP_TIMEOUT: Duration = Duration::from_secs(1);
/// Datagrams that one reading takes at most.
const DATAGRAMS_MAX: usize = 256;

/// Which time it is for a connection.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's.
    Monotonic,
    /// What the owner of a connection in memory says.
    Virtual(Arc<AtomicI64>),
}

impl Clock {
    /// Nanoseconds now.
    #[inline]
    pub fn now(&self) -> Nanos {
        match self {
            Self::Monotonic => clock::now(),
            Self::Virtual(now) => now.load(Ordering::Relaxed),
        }
    }
}

/// What waiting came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited<T> {
    /// What was waited for.
    Ready(T),
    /// Control bodies, notes or a loss are to be looked at first, or [`Connection::notify`] was called.
    Attention,
    /// The deadline has passed.
    TimedOut,
    /// A signal came, or might have: look, and wait again.
    Interrupted,
    /// A connection in memory has nothing; its owner has to let something happen.
    Idle,
}

/// A client's connection, and the next one after it is lost.
#[derive(Debug)]
pub struct Connection {
    state: Mutex<State>,
    changed: Condvar,
    outlet: Arc<Outlet>,
    clock: Clock,
    limit_bytes: u32,
    /// The process that the connection belongs to.
    process: u32,
}

#[derive(Debug)]
struct State {
    session: Session,
    socket: Option<Arc<Socket>>,
    /// Away while somebody reads with it.
    intake: Option<Intake>,
    /// Counts calls of `notify`.
    notified: u64,
}

impl Connection {
    /// No connection yet.
    pub fn new(clock: Clock, limit_bytes: u32) -> Self {
        let session = Session::new(limit_bytes);
        let state = State { session, socket: None, intake: Some(Intake::default()), notified: 0 };
        let (state, changed, outlet) = (Mutex::new(state), Condvar::new(), Arc::default());
        Self { state, changed, outlet, clock, limit_bytes, process: process::id() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time on the connection's clock.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Works on the session. Short: receivers wait meanwhile.
    #[inline]
    pub fn with<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        work(&mut self.lock().session)
    }

    // --- opening and closing

    /// Connects and says hello.
    pub fn open(&self, address: &Address, timeout: Duration) -> io::Result<()> {
        self.begin(Some(Arc::new(Socket::connect(address, timeout)?)));
        Ok(())
    }

    /// Begins without a socket: bytes go through [`Self::feed`] and [`Self::drain`].
    pub fn open_memory(&self) {
        self.begin(None);
    }

    fn begin(&self, socket: Option<Arc<Socket>>) {
        let mut state = self.lock();
        // No flow of the last connection may be bound when its socket is replaced.
        state.session.begin();
        socket.iter().for_each(|socket| self.outlet.open(socket.clone()));
        state.socket = socket;
        state.intake = Some(Intake::default());
        drop(state);
        let _ = self.send(&Frame::Hello(Hello { version: VERSION }));
    }

    /// Ends the connection; what waits to be sent is given up. Returns how many messages that were.
    pub fn drop_socket(&self, reason: &str) -> usize {
        let mut state = self.lock();
        state.session.lose(reason, 0);
        state.socket = None;
        drop(state);
        self.changed.notify_all();
        self.outlet.shut()
    }

    /// Says goodbye after what waits to be sent, within `timeout`, and closes for good.
    pub fn close(&self, timeout: Duration) {
        if self.is_inherited() {
            return;
        }
        if self.with(|session| session.is_connected()) {
            let deadline = Instant::now() + timeout;
            let _ = self.send(&Frame::Goodbye);
            self.outlet.flush(timeout);
            let left = deadline.saturating_duration_since(Instant::now());
            self.socket().iter().for_each(|socket| socket.part(left));
        }
        self.drop_socket("closed");
        self.outlet.close();
    }

    /// The port on which the broker shall send data, if it comes in datagrams.
    pub fn udp_port(&self) -> io::Result<Option<u16>> {
        self.socket().map_or(Ok(None), |socket| socket.udp_port())
    }

    /// Data goes to this UDP port of the broker's host.
    pub fn connect_udp(&self, port: u16) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| socket.connect_udp(port))
    }

    /// Whether data goes in datagrams.
    pub fn has_datagrams(&self) -> bool {
        self.socket().is_some_and(|socket| socket.has_datagrams())
    }

    /// What an event loop has to watch: the stream, and the datagram socket if there is one.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let Some(socket) = self.socket() else { return Vec::new() };
        let stream = std::os::fd::AsFd::as_fd(&*socket).as_raw_fd();
        std::iter::once(stream).chain(socket.udp_fd().map(|fd| fd.as_raw_fd())).collect()
    }

    /// Whether this is a copy in a child process. The socket is still the parent's: nothing may be said on
    /// it, and the locks may be held by threads that were not copied.
    fn is_inherited(&self) -> bool {
        self.process != process::id()
    }

    fn socket(&self) -> Option<Arc<Socket>> {
        self.lock().socket.clone()
    }

    // --- sending

    /// Sends a frame that is not data, at once.
    pub fn send(&self, frame: &Frame<'_>) -> Result<(), EncodeError> {
        if self.outlet.send_frame(frame, self.limit_bytes)? == Next::Write {
            self.outlet.write();
        }
        Ok(())
    }

    /// Appends data frames. `frames` is called while nobody else can append. True if
    /// [`Self::finish_sending`] has to be called.
    #[inline]
    pub fn send_data<'a>(
        &self,
        now: Nanos,
        frames: impl Iterator<Item = Data<'a>>,
    ) -> Result<Sending, EncodeError> {
        self.outlet.send_data(now, self.limit_bytes, frames).map(Sending)
    }

    /// Does what is left to do after [`Self::send_data`]: may take as long as a system call, but waits for
    /// nobody. False if the caller should [wait for room](Self::wait_for_room) before it sends more.
    pub fn finish_sending(&self, sending: Sending) -> bool {
        match sending.0 {
            Next::Done => true,
            Next::Write => {
                self.outlet.write();
                true
            }
            Next::Wait => false,
        }
    }

    /// Whether there is room to send more.
    pub fn has_room(&self) -> bool {
        self.outlet.has_room()
    }

    /// Waits until there is room to send more; false if it must be called again after a look at signals.
    pub fn wait_for_room(&self) -> bool {
        self.outlet.wait_for_room()
    }

    /// Messages in datagrams that the socket did not take: it was full, or nobody listens.
    pub fn dropped(&self) -> u64 {
        self.outlet.dropped()
    }

    /// Waits until everything has been given to the socket; false if that takes longer than `timeout`.
    pub fn flush(&self, timeout: Duration) -> bool {
        self.outlet.flush(timeout)
    }

    // --- receiving

    /// Waits until `check` finds something, reading for all who wait; what is there is read even if the
    /// deadline has passed. `seen` is what [`Self::notified`] was before the caller last looked, if it
    /// waits for that too.
    pub fn wait<T>(
        &self,
        deadline_ns: Option<Nanos>,
        seen: Option<u64>,
        mut check: impl FnMut(&mut Session) -> Option<T>,
    ) -> Waited<T> {
        let mut state = self.lock();
        let mut has_read = false;
        loop {
            if let Some(found) = check(&mut state.session) {
                return Waited::Ready(found);
            }
            if state.session.wants_attention() || seen.is_some_and(|seen| seen != state.notified) {
                return Waited::Attention;
            }
            let left = deadline_ns.map(|deadline| deadline.saturating_sub(self.now()).max(0));
            let is_over = left == Some(0);
            if is_over && (has_read || state.socket.is_none() || state.intake.is_none()) {
                return Waited::TimedOut;
            }
            let timeout = left.map_or(SLICE, |left| Duration::from_nanos(left as u64).min(SLICE));
            let Some(socket) = state.socket.clone() else {
                return if matches!(self.clock, Clock::Virtual(_)) {
                    Waited::Idle
                } else {
                    self.pause(state, timeout)
                };
            };
            let Some(intake) = state.intake.take() else {
                let (guard, timed_out) =
                    self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
                if timed_out.timed_out() && timeout == SLICE {
                    return Waited::Interrupted;
                }
                state = guard;
                continue;
            };
            drop(state);
            let (guard, was_interrupted) = self.read(&socket, intake, timeout);
            state = guard;
            has_read = true;
            if was_interrupted && !is_over {
                return Waited::Interrupted;
            }
        }
    }

    /// There is nothing to read from: waits until something else changes.
    fn pause<T>(&self, state: MutexGuard<'_, State>, timeout: Duration) -> Waited<T> {
        let _ = self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
        Waited::Interrupted
    }

    /// How often [`Self::notify`] was called.
    pub fn notified(&self) -> u64 {
        self.lock().notified
    }

    /// Wakes everybody who waits: something was looked at that they may wait for.
    pub fn notify(&self) {
        self.lock().notified += 1;
        self.changed.notify_all();
    }

    /// Reads what is there without waiting. False if somebody else reads, or there was nothing.
    pub fn pump(&self) -> bool {
        let mut state = self.lock();
        let Some(socket) = state.socket.clone() else { return false };
        let Some(intake) = state.intake.take() else { return false };
        drop(state);
        let (state, nothing) = self.read(&socket, intake, Duration::ZERO);
        drop(state);
        !nothing
    }

    /// Reads once, at most for `timeout`, and hands out what came. True if a signal came or nothing did.
    fn read(&self, socket: &Socket, mut intake: Intake, timeout: Duration) -> (MutexGuard<'_, State>, bool) {
        let read = if timeout.is_zero() {
            socket.read_now(intake.room())
        } else if timeout == SLICE && !socket.has_datagrams() {
            socket.read_soon(intake.room())
        } else {
            socket.wait_readable(timeout).and_then(|_| socket.read_now(intake.room()))
        };
        let now = self.now();
        let mut state = self.lock();
        if !state.socket.as_ref().is_some_and(|current| std::ptr::eq(&**current, socket)) {
            // The connection was given up, or another one begun, while this thread was in the call.
            return (state, false);
        }
        let nothing = match read {
            Ok(0) => {
                state.session.lose("the broker closed the connection", 0);
                false
            }
            Ok(count) => {
                intake.take_in(count, |bytes| state.session.receive(now, bytes).0);
                false
            }
            Err(error) if is_nothing(&error) => true,
            Err(error) => {
                state.session.lose(format!("the connection broke: {error}"), 0);
                false
            }
        };
        let nothing = !self.read_datagrams(socket, &mut intake, &mut state.session, now) && nothing;
        state.intake = Some(intake);
        let replies = state.session.take_replies();
        self.changed.notify_all();
        if !replies.is_empty() && self.outlet.send_bytes(&replies) == Next::Write {
            self.outlet.write();
        }
        (state, nothing)
    }

    fn read_datagrams(
        &self,
        socket: &Socket,
        intake: &mut Intake,
        session: &mut Session,
        now: Nanos,
    ) -> bool {
        if !socket.has_datagrams() {
            return false;
        }
        let buffer = intake.datagram();
        let mut count = 0;
        while count < DATAGRAMS_MAX {
            let Ok(length) = socket.read_datagram(buffer) else { break };
            session.receive_datagram(now, buffer.get(..length).unwrap_or_default());
            count += 1;
        }
        count > 0
    }

    // --- in memory

    /// Takes in bytes of the broker.
    pub fn feed(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let now = self.now();
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(mut intake) = state.intake.take() else { break };
            let room = intake.room();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            intake.take_in(count, |bytes| state.session.receive(now, bytes).0);
            rest = &rest[count..];
            state.intake = Some(intake);
        }
        let replies = state.session.take_replies();
        drop(state);
        self.outlet.send_bytes(&replies);
    }

    /// Bytes for the broker.
    pub fn drain(&self) -> Vec<u8> {
        self.outlet.take_bytes()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close(DROP_TIMEOUT);
    }
}

/// What [`Connection::finish_sending`] has to do.
#[derive(Debug)]
#[must_use]
pub struct Sending(Next);

impl Sending {
    /// Whether nothing is left to do.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.0 == Next::Done
    }
}

/// Whether an error only says that there is nothing to read now.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
