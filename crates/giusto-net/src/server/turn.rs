//! What the data thread does, again and again: one turn.
//!
//! 1. **Wait** until a socket or the control plane has something, or a timer is due. No wait while work is left.
//! 2. **Read** each ready client once, of many only the next 32, at most `read_bytes`, less if many are ready: whole frames
//!    go into the hub.
//! 3. **Calls** of the control plane, at most 256.
//! 4. **Step** the engine, at most `turn_steps` quanta; more, up to 32 times that, if many clients get something, and
//!    less if the queue of one has filled by half, or as many messages as that have been queued for all together.
//! 5. **Flush**: each client that has something to send gets one write of at most 1 MiB. A client that is sent a
//!    stream of messages may have to wait for seven more turns, so that short turns do not mean short writes.
//! 6. **Timers**, then hand events over to the control plane.
//!
//! Reads and steps are a quarter of that while several clients send, since each waits for the turns of the others. A
//! client that sends alone is read four times as much, and gets the steps to forward all of that at once. While topics
//! are guarded, turns are those of [`guarded`].
//! So no client, however fast, holds a turn for longer than its own bounded part. The load-driven thread takes turns
//! while there is work; the time-driven one (S2 section IV-A) takes turns for at most `budget_ns` from each multiple of
//! `period_ns` on, and sleeps between. However small the budget is, one client is read and a few steps are taken in each
//! period, and no write is put off to the next one.

mod bench;
mod guarded;

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use giusto_core::id::Nanos;
use giusto_core::record::Rows;
use rustix::event::{Timespec, epoll};

use super::ServerConfig;
use super::listen::Listener;
use super::mailbox::{Call, Mailbox};
use super::pace::Pace;
use super::sockets::{Amount, Sockets};
use crate::clock;
use crate::hub::{ConnId, Hold, Hub};
use guarded::Rest;

pub(crate) use bench::Bench;

/// Calls of the control plane in one turn.
const CALLS_MAX: usize = 256;
/// Connections accepted in one turn.
const ACCEPTS_MAX: usize = 64;
/// Datagrams read in one turn.
const DATAGRAMS_MAX: usize = 64;
/// Bytes written to one client in one turn, but for the frame that exceeds it.
const WRITE_BYTES: usize = 1 << 20;
/// Sockets that one wait may report; the others come first the next time. Few at a time, so that what was read is still in
/// the cache when it is written.
const READY_MAX: usize = 32;
/// Steps between two looks at the clock.
const STEPS_PER_LOOK: usize = 16;
/// Clients that have been heard within this time share the turns.
const COMPANY_NS: Nanos = 100_000_000;
/// Their turns are so many times shorter than configured.
const PARTS: usize = 4;
/// A client that sends alone is read so many times more than configured, since nobody waits for it,
const LONE_READ: usize = 4;
/// and gets so many times more steps.
const LONE_STEPS: usize = 16;
/// Clients that something is to be written to without a turn growing longer for it.
const FEW: usize = 2;
/// Steps for each of the others.
const STEPS_PER_WRITE: usize = 64;
/// So many times `turn_steps` at most.
const STEPS_FACTOR_MAX: usize = 32;
/// Least time for the last frames when the server stops.
const PARTING_NS: Nanos = 100_000_000;
/// Clients with frames that had to wait that are tried again in one turn.
const RETRIES_MAX: usize = 64;
/// Connections that are watched otherwise in one turn.
const SHIFTS_MAX: usize = 16;
/// Token of the control plane's bell.
const BELL: u64 = u64::MAX;
/// Token of the connections that are read first.
const URGENT: u64 = u64::MAX - 1;
/// Tokens of listeners count down from here.
const LISTENERS: u64 = u64::MAX - 2;

/// The data thread.
pub(super) struct Turner {
    config: ServerConfig,
    hub: Hub,
    sockets: Sockets,
    mailbox: Arc<Mailbox>,
    /// Sockets that the last wait reported.
    ready: Vec<(u64, epoll::EventFlags)>,
    /// Connections to be read first that were reported.
    urgent_ready: Vec<(u64, epoll::EventFlags)>,
    /// Calls that were taken and not made yet.
    calls: VecDeque<Call>,
    /// How far the turn of the rest has come while topics are guarded, and whether it has to take one.
    rest: Rest,
    owes_rest: bool,
    /// Datagrams that it has taken.
    datagrams: usize,
    /// Clients that have broken an offer, and when they are read again.
    penalties: VecDeque<(Nanos, ConnId)>,
    /// Clients with frames that the control plane had no room for.
    busy: VecDeque<ConnId>,
    /// How many of them are to be tried again: something that they may have waited for has happened.
    retries: usize,
    /// Who was read last, and when it was somebody else than before.
    last_read: (ConnId, Nanos),
    /// The control plane has asked to stop.
    stop_ns: Option<Nanos>,
}

/// Whatever ends the thread, also a panic, ends every wait for it.
struct LastWord(Arc<Mailbox>);

impl Drop for LastWord {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Whether the budget of the period is not spent; without one the clock need not be read.
#[inline]
fn has_time(end_ns: Nanos) -> bool {
    end_ns == Nanos::MAX || clock::now() <= end_ns
}

/// Waits for something in a set to be ready; the `ready` are that then, as many as there is room for `events`.
fn report(
    set: &OwnedFd,
    timeout: Option<Nanos>,
    events: &mut [MaybeUninit<epoll::Event>],
    ready: &mut Vec<(u64, epoll::EventFlags)>,
) {
    let timeout = timeout.map(|ns| Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
    ready.clear();
    // A signal may interrupt it: then nothing is ready.
    if let Ok((events, _)) = epoll::wait(set, events, timeout.as_ref()) {
        ready.extend(events.iter().map(|event| (event.data.u64(), event.flags)));
    }
}

impl Turner {
    pub(super) fn new(
        hub: Hub,
        config: ServerConfig,
        listeners: Vec<Listener>,
        mailbox: Arc<Mailbox>,
    ) -> io::Result<Self> {
        let sockets = Sockets::new(config.read_bytes * LONE_READ, listeners, LISTENERS, URGENT)?;
        sockets.watch_bell(mailbox.work_fd(), BELL)?;
        Ok(Self {
            config,
            hub,
            sockets,
            mailbox,
            ready: Vec::with_capacity(READY_MAX),
            urgent_ready: Vec::with_capacity(READY_MAX),
            calls: VecDeque::new(),
            rest: Rest::default(),
            owes_rest: false,
            datagrams: 0,
            penalties: VecDeque::new(),
            busy: VecDeque::new(),
            retries: 0,
            last_read: (ConnId(BELL), Nanos::MIN),
            stop_ns: None,
        })
    }

    /// Serves until it is asked to stop.
    pub(super) fn run(mut self) {
        let _last_word = LastWord(Arc::clone(&self.mailbox));
        let mut pace = Pace::new(self.config.period_ns, self.config.budget_ns);
        while self.stop_ns.is_none() {
            let end_ns = pace.begin();
            loop {
                let idle = self.turn(pace.is_timed(), end_ns);
                if self.stop_ns.is_some() || pace.is_over(idle, end_ns) {
                    break;
                }
            }
        }
        self.part(self.stop_ns.unwrap_or(0));
        self.mailbox.hand_over(self.hub.news());
        self.mailbox.leave_records(self.hub.swap_records(Rows::default()));
    }

    /// One turn; true if there was nothing to do.
    fn turn(&mut self, polling: bool, end_ns: Nanos) -> bool {
        let timeout = if polling || self.config.busy_poll { Some(0) } else { self.idle_ns() };
        if self.hub.is_guarded() {
            let idle = self.guarded_turn(timeout, end_ns);
            self.shift();
            return idle;
        }
        (self.rest, self.owes_rest) = (Rest::Read, false);
        while self.run_call() {}
        self.hub.finish_all();
        let count = self.wait(timeout);
        self.hub.count_turn();
        let now = clock::now();
        self.read(now, end_ns);
        self.retry_busy(now);
        let stepped = self.step(now, end_ns);
        self.flush(polling);
        self.end(now, usize::MAX);
        self.shift();
        count == 0 && !stepped
    }

    /// What is due by the clock, and events for the control plane.
    fn end(&mut self, now: Nanos, most: usize) {
        self.expire(now, most);
        if self.mailbox.hand_over(self.hub.news()) {
            // Who had to wait for the control plane can go on.
            self.retries = self.busy.len();
        }
    }

    /// Watches connections as urgent that have become so, and others no more: a few at a time.
    #[inline]
    fn shift(&mut self) {
        for _ in 0..SHIFTS_MAX {
            let Some(id) = self.hub.pop_shift() else { return };
            self.sockets.shift(id, self.hub.portion_bytes(id).is_some());
        }
    }

    /// How long nothing will happen by itself; `None` for ever.
    fn idle_ns(&self) -> Option<Nanos> {
        let retries = self.retries > 0 && !self.hub.is_deaf();
        let shifts = self.hub.shift_count() > 0;
        if retries || shifts || self.hub.has_work() || self.hub.dirty_count() > 0 {
            return Some(0);
        }
        if self.hub.is_guarded() && (self.is_rest_owed() || self.hub.dirty_guarded_count() > 0) {
            return Some(0);
        }
        let penalty = self.penalties.front().map(|&(at, _)| at);
        let timers = [self.hub.next_timer(), penalty, self.sockets.accepts_again_ns()];
        timers.into_iter().flatten().min().map(|at| (at - clock::now()).max(0))
    }

    /// Waits for sockets; returns how many are ready.
    fn wait(&mut self, timeout: Option<Nanos>) -> usize {
        let mut events = [MaybeUninit::uninit(); READY_MAX];
        report(&self.sockets.sets().all, timeout, &mut events, &mut self.ready);
        self.ready.len()
    }

    /// Finds out which urgent connections have something, all of them.
    fn look_urgent(&mut self) {
        let set = &self.sockets.sets().urgent;
        let mut events = [MaybeUninit::uninit(); READY_MAX];
        report(set, Some(0), &mut events, &mut self.urgent_ready);
        if self.urgent_ready.len() == READY_MAX {
            // There may be more. None has been read, so that all are reported again, each once.
            let mut events = vec![MaybeUninit::uninit(); self.sockets.links_max()];
            report(set, Some(0), &mut events, &mut self.urgent_ready);
        }
    }

    fn read(&mut self, now: Nanos, end_ns: Nanos) {
        let mut ready = std::mem::take(&mut self.ready);
        let share_bytes = self.sockets.share_bytes(ready.len(), self.read_bytes(now));
        if end_ns != Nanos::MAX {
            // Time may not be enough for all: the first is another one in each turn.
            let first = self.hub.turns() as usize % ready.len().max(1);
            ready.rotate_left(first);
        }
        let mut has_read = false;
        for &(token, flags) in &ready {
            if token == BELL {
                self.take_calls();
                while self.run_call() {}
            } else if token == URGENT {
                self.read_urgent();
            } else if LISTENERS - token < self.sockets.listeners() as u64 {
                // Datagrams are everybody's: nobody is alone there.
                let bytes = share_bytes.min(self.config.read_bytes);
                let amount = Amount { accepts: ACCEPTS_MAX, datagrams: DATAGRAMS_MAX, bytes };
                self.sockets.welcome(now, &mut self.hub, (LISTENERS - token) as usize, amount);
            } else {
                let may_read = || !has_read || has_time(end_ns);
                has_read |= self.attend(now, ConnId(token), flags, share_bytes, may_read);
            }
        }
        ready.clear();
        self.ready = ready;
    }

    /// Does what the kernel has reported of a connection; whether it was read.
    #[inline]
    fn attend(
        &mut self,
        now: Nanos,
        id: ConnId,
        flags: epoll::EventFlags,
        share_bytes: usize,
        may_read: impl FnOnce() -> bool,
    ) -> bool {
        if flags.contains(epoll::EventFlags::OUT) {
            self.sockets.unblock(&mut self.hub, id, usize::MAX);
        }
        let is_over = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if is_over && self.sockets.is_held(id) {
            self.sockets.set_aside(&mut self.hub, id);
            return false;
        }
        if flags == epoll::EventFlags::OUT || !may_read() {
            return false;
        }
        self.receive(now, id, share_bytes);
        true
    }

    #[inline]
    fn receive(&mut self, now: Nanos, id: ConnId, share_bytes: usize) {
        if self.last_read.0 != id {
            self.last_read = (id, now);
        }
        let hold = self.sockets.receive(now, &mut self.hub, id, share_bytes);
        if hold != Hold::None {
            self.obey(now, id, hold);
        }
    }

    /// Reads the client on, or not for a while.
    fn obey(&mut self, now: Nanos, id: ConnId, hold: Hold) {
        self.sockets.hold(id, hold != Hold::None);
        match hold {
            Hold::None => {}
            Hold::Penalty => self.penalties.push_back((now + self.config.penalty_ns, id)),
            Hold::Busy => self.busy.push_back(id),
        }
    }

    fn take_calls(&mut self) {
        self.stop_ns = self.mailbox.take_calls(&mut self.calls, CALLS_MAX);
    }

    /// Makes the next call that was taken; false if there is none.
    fn run_call(&mut self) -> bool {
        let Some(call) = self.calls.pop_front() else { return false };
        let start_ns = clock::now();
        call(&mut self.hub, start_ns);
        if self.hub.is_guarded() {
            let longest = self.hub.longest();
            longest.call_ns = longest.call_ns.max(clock::now() - start_ns);
        }
        true
    }

    /// Offers frames again that had to wait.
    fn retry_busy(&mut self, now: Nanos) {
        for _ in 0..self.retries.min(RETRIES_MAX) {
            if self.hub.is_deaf() {
                return;
            }
            self.retry_one(now);
        }
    }

    fn retry_one(&mut self, now: Nanos) {
        self.retries = self.retries.saturating_sub(1);
        let Some(id) = self.busy.pop_front() else { return };
        let hold = self.sockets.offer_again(now, &mut self.hub, id);
        self.obey(now, id, hold);
    }

    /// Whether more messages may be queued for clients before they are written to.
    #[inline]
    fn has_room(&self) -> bool {
        !self.hub.is_crowded() && self.hub.queued_count() < self.config.turn_steps * STEPS_FACTOR_MAX
    }

    /// Spends quanta; whether there was something to spend them on.
    fn step(&mut self, now: Nanos, end_ns: Nanos) -> bool {
        let (mut steps, least) = (0, self.turn_steps(now));
        while steps < self.steps_max(least) && self.hub.has_work() && self.has_room() {
            let now = clock::now();
            if now > end_ns && steps > 0 {
                break;
            }
            let _ =
                (0..STEPS_PER_LOOK).try_for_each(|_| (self.hub.step(now) && self.has_room()).then_some(()));
            steps += STEPS_PER_LOOK;
        }
        if steps > 0 {
            self.hub.gather(clock::now());
        }
        steps > 0
    }

    /// Whether several clients send: each waits for the turns of the others.
    fn is_in_company(&self, now: Nanos) -> bool {
        now.saturating_sub(self.last_read.1) < COMPANY_NS
    }

    fn read_bytes(&self, now: Nanos) -> usize {
        let bytes = self.config.read_bytes;
        if self.is_in_company(now) { bytes / PARTS } else { bytes * LONE_READ }
    }

    /// Alone, all that was read is forwarded while it is in the cache; in company the input stage has a choice.
    fn turn_steps(&self, now: Nanos) -> usize {
        let steps = self.config.turn_steps;
        if self.is_in_company(now) { steps.div_ceil(PARTS) } else { steps * LONE_STEPS }
    }

    /// A write costs as much as many steps: the more clients have something to be written, the more steps are taken
    /// before that.
    fn steps_max(&self, least: usize) -> usize {
        (STEPS_PER_WRITE * self.hub.ready_count().saturating_sub(FEW))
            .clamp(least, self.config.turn_steps * STEPS_FACTOR_MAX)
    }

    /// One write for each client that has something to send, unless more for it comes at once: but not in the next
    /// period, if the thread is `timed`.
    fn flush(&mut self, timed: bool) {
        for _ in 0..self.hub.dirty_count() {
            let Some(id) = self.hub.pop_dirty() else { return };
            self.flush_one(clock::now(), id, timed, WRITE_BYTES);
        }
    }

    #[inline]
    fn flush_one(&mut self, now: Nanos, id: ConnId, timed: bool, limit_bytes: usize) {
        if timed || !self.hub.defer(id) {
            self.sockets.flush(now, &mut self.hub, id, limit_bytes);
            if !self.busy.is_empty() && self.sockets.is_held(id) {
                // It may have waited for that.
                self.retries = self.busy.len();
            }
        }
    }

    /// Does what is due, at most so much of each kind.
    fn expire(&mut self, now: Nanos, most: usize) {
        for _ in 0..most {
            let Some(&(_, id)) = self.penalties.front().filter(|&&(at, _)| at <= now) else { break };
            self.penalties.pop_front();
            self.sockets.hold(id, false);
        }
        if self.hub.next_timer().is_some_and(|at| at <= now) {
            for id in self.hub.expire(now, most) {
                self.sockets.drop_link(&mut self.hub, id, "did not close in time");
            }
        }
        self.sockets.accept_again(now);
    }

    /// Forwards what is queued, says goodbye to all and waits until they have gone, for at most `drain_ns`.
    fn part(&mut self, drain_ns: Nanos) {
        let end_ns = clock::now().saturating_add(drain_ns);
        while self.run_call() {}
        (self.rest, self.owes_rest) = (Rest::Read, false);
        self.hub.hand_back_dirty();
        self.sockets.stop_listening();
        self.sockets.hold_all(&mut self.hub);
        // Who has broken an offer is not read again either.
        self.penalties.clear();
        self.turn_until(end_ns, |turner| turner.hub.is_drained());
        let now = clock::now();
        for id in self.hub.connections() {
            self.hub.part(now, id, 0, "the broker stops");
            self.sockets.hold(id, false);
        }
        self.turn_until(end_ns.max(now + PARTING_NS), |turner| turner.sockets.have_said_all());
        self.turn_until(clock::now() + PARTING_NS, |turner| turner.sockets.are_gone());
    }

    fn turn_until(&mut self, end_ns: Nanos, done: impl Fn(&Self) -> bool) {
        while !done(self) && clock::now() < end_ns {
            let left_ns = end_ns - clock::now();
            let timeout = self.idle_ns().map_or(left_ns, |idle| idle.min(left_ns)).max(0);
            self.wait(Some(timeout));
            let now = clock::now();
            self.read(now, Nanos::MAX);
            self.step(now, Nanos::MAX);
            self.flush(false);
            self.expire(now, usize::MAX);
            self.hub.finish_all();
            self.shift();
        }
    }
}

#[cfg(test)]
mod tests;
