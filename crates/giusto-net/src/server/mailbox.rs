//! What passes between the data thread and everybody else: calls in, events out, both bounded.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use giusto_core::id::Nanos;
use giusto_core::record::Portion;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::hub::{Event, Hub, News};

/// Something to be done by the data thread.
pub(super) type Call = Box<dyn FnOnce(&mut Hub, Nanos) + Send>;

/// The data thread does not serve calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// Not yet.
    #[error("the broker's data thread has not been started")]
    NotStarted,
    /// Not any more.
    #[error("the broker's data thread has stopped")]
    Stopped,
}

/// What a call returns, once it is done.
#[derive(Debug)]
pub struct Answer<R>(mpsc::Receiver<R>);

impl<R> Answer<R> {
    /// Waits for it.
    pub fn get(self) -> Result<R, Gone> {
        self.0.recv().map_err(|_| Gone::Stopped)
    }

    /// Waits for it; there is still none when `timeout` is over.
    pub fn wait(self, timeout: Duration) -> Result<Result<R, Self>, Gone> {
        match self.0.recv_timeout(timeout) {
            Ok(answer) => Ok(Ok(answer)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(Err(self)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Gone::Stopped),
        }
    }
}

struct Calls {
    queue: VecDeque<Call>,
    /// Whether somebody takes calls.
    served: Result<(), Gone>,
    /// The thread is to stop, and may spend this long on what waits.
    stop: Option<Nanos>,
}

/// A bell that a thread can wait for together with sockets.
struct Bell(OwnedFd);

impl Bell {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    fn ring(&self) {
        // It fails only when it has been rung 2⁶⁴ times.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// Both directions.
pub(super) struct Mailbox {
    capacity: usize,
    calls: Mutex<Calls>,
    room: Condvar,
    /// Rung for the data thread.
    work: Bell,
    events: Mutex<VecDeque<Event>>,
    /// Rung for whoever waits for events.
    news: Bell,
    /// The data thread could not hand over its events, and wants to know when there is room.
    hungry: AtomicBool,
    /// What was recorded and not drained when the data thread stopped.
    last_records: Mutex<Option<Portion>>,
}

impl Mailbox {
    pub(super) fn new(capacity: usize) -> io::Result<Self> {
        Ok(Self {
            capacity,
            calls: Mutex::new(Calls { queue: VecDeque::new(), served: Err(Gone::NotStarted), stop: None }),
            room: Condvar::new(),
            work: Bell::new()?,
            events: Mutex::default(),
            news: Bell::new()?,
            hungry: AtomicBool::new(false),
            last_records: Mutex::default(),
        })
    }

    /// Has `call` done by the data thread, in the order in which calls come; waits only while too many do.
    pub(super) fn tell(&self, call: impl FnOnce(&mut Hub, Nanos) + Send + 'static) -> Result<(), Gone> {
        let mut calls = lock(&self.calls);
        while calls.queue.len() >= self.capacity && calls.served.is_ok() {
            calls = self.room.wait(calls).unwrap_or_else(PoisonError::into_inner);
        }
        calls.served?;
        calls.queue.push_back(Box::new(call));
        let first = calls.queue.len() == 1;
        drop(calls);
        if first {
            self.work.ring();
        }
        Ok(())
    }

    /// The same, for what it returns.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Hub, Nanos) -> R + Send + 'static,
    ) -> Result<Answer<R>, Gone> {
        let (give, take) = mpsc::sync_channel(1);
        self.tell(move |hub, now| {
            // Nobody takes it if who asked has given up.
            let _ = give.send(call(hub, now));
        })?;
        Ok(Answer(take))
    }

    /// Asks the data thread to stop within `drain_ns`.
    pub(super) fn stop(&self, drain_ns: Nanos) {
        lock(&self.calls).stop = Some(drain_ns);
        self.work.ring();
    }

    /// What has happened; waits for it until `timeout` is over, somebody wakes it, or a signal comes.
    pub(super) fn events(&self, timeout: Option<Duration>) -> io::Result<Vec<Event>> {
        if let Some(events) = self.take_events() {
            return Ok(events);
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        poll(&mut [PollFd::new(&self.news.0, PollFlags::IN)], timeout.as_ref())?;
        self.news.silence();
        Ok(self.take_events().unwrap_or_default())
    }

    /// What waits, if anything does. The bell is left alone if not: somebody may have rung it to end the wait.
    fn take_events(&self) -> Option<Vec<Event>> {
        let mut waiting = lock(&self.events);
        if waiting.is_empty() {
            return None;
        }
        let events = std::mem::take(&mut *waiting);
        self.news.silence();
        drop(waiting);
        if self.hungry.swap(false, Ordering::AcqRel) {
            self.work.ring();
        }
        Some(events.into())
    }

    /// Ends a wait for events.
    pub(super) fn wake(&self) {
        self.news.ring();
    }

    /// What the data thread has left, once.
    pub(super) fn take_last_records(&self) -> Option<Portion> {
        lock(&self.last_records).take()
    }

    // --- the data thread's side

    /// Leaves what was recorded for whoever drains.
    pub(super) fn leave_records(&self, portion: Option<Portion>) {
        *lock(&self.last_records) = portion;
    }

    /// Readable when there are calls.
    pub(super) fn work_fd(&self) -> BorrowedFd<'_> {
        self.work.0.as_fd()
    }

    /// At most `most` calls into `taken`, and whether to stop. Rings again for the rest.
    pub(super) fn take_calls(&self, taken: &mut VecDeque<Call>, most: usize) -> Option<Nanos> {
        self.work.silence();
        let mut calls = lock(&self.calls);
        let count = most.min(calls.queue.len());
        taken.extend(calls.queue.drain(..count));
        if !calls.queue.is_empty() {
            self.work.ring();
        }
        self.room.notify_all();
        calls.stop
    }

    /// Hands events over, unless the last ones still wait; whether there were some and they have gone.
    pub(super) fn hand_over(&self, news: &mut News) -> bool {
        if news.is_empty() {
            return false;
        }
        let mut waiting = lock(&self.events);
        if !waiting.is_empty() {
            self.hungry.store(true, Ordering::Release);
            return false;
        }
        *waiting = news.take();
        drop(waiting);
        self.news.ring();
        true
    }

    /// Calls are taken from now on.
    pub(super) fn open(&self) {
        lock(&self.calls).served = Ok(());
    }

    /// Nobody takes calls any more; those that wait fail.
    pub(super) fn close(&self) {
        let mut calls = lock(&self.calls);
        calls.served = Err(Gone::Stopped);
        let unserved = std::mem::take(&mut calls.queue);
        drop(calls);
        drop(unserved);
        self.room.notify_all();
        self.news.ring();
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.calls).served == Err(Gone::Stopped)
    }
}

/// What a panicking thread held is still whole: every change under these locks is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
