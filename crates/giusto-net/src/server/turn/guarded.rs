//! What the data thread does while topics are guarded: guarded traffic first, and the rest in slices.
//!
//! 1. **Wait** as in any turn.
//! 2. **Read** every urgent connection that has something, each at most its own portion.
//! 3. **Step** the guarded stage, at most `guarded_steps` quanta.
//! 4. **Flush** all guarded messages that they made, however long, and nothing else but credits and names: 4 KiB of names at most.
//!    What a client has not taken in time goes with the rest: who reads slowly makes nobody else wait.
//! 5. If any of that had something to do, the next turn begins at once: it may have more.
//! 6. Else one **slice** of the rest, for `slice_ns`: what a turn does without guarded topics, in indivisible actions
//!    with a look at the clock after each. An action is one call of the control plane, one read of at most 16 KiB, one
//!    datagram, one step, finding out who has got something, one write of at most 64 KiB and a message, also of what a socket
//!    has not taken before, one connection accepted, a portion of what clients had that are gone, or what is due by the
//!    clock: 16 of each kind. The next slice goes on where this one ends.
//!
//! So the rest makes a guarded message wait for one slice and one action at most, whatever it does.

use giusto_core::effort::Effort;
use giusto_core::id::Nanos;
use rustix::event::epoll;

use super::{BELL, LISTENERS, RETRIES_MAX, Turner, URGENT};
use crate::clock;
use crate::hub::{ConnId, NAMES_BYTES};
use crate::server::sockets::Amount;

/// Bytes of one read of the rest.
const READ_BYTES: usize = 16 << 10;
/// Bytes of one write of the rest, but for the frame that exceeds it.
const WRITE_BYTES: usize = 64 << 10;
/// Clients that have got something, beside those of the last step, before they are written to: all are gathered at once.
const READY_FEW: usize = 64;
/// Penalties, probations, handshakes and last frames that end at once.
const DUE_MAX: usize = 16;
/// Work that is done at once for clients that are gone, and how often in a turn of the rest.
const DEPARTURE_UNITS: usize = 256;
const DEPARTURES_MAX: usize = 8;
/// What is done for a listener at once.
const AMOUNT: Amount = Amount { accepts: 1, datagrams: 1, bytes: READ_BYTES };
/// Datagrams in a turn of the rest, one by one.
const DATAGRAMS_MAX: usize = 16;

/// How far the turn of the rest has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// Calls and reads, as long as the last wait has reported some.
    #[default]
    Read,
    /// So many clients are tried again that had to wait.
    Retry(usize),
    /// What clients that are gone had is given back, so many times.
    Depart(usize),
    /// So many steps are left.
    Step(usize),
    /// Those are found who have got something.
    Gather,
    /// So many writes are left.
    Flush(usize),
    /// Timers and events.
    End,
}

impl Turner {
    /// One turn while topics are guarded; true if there was nothing to do.
    pub(super) fn guarded_turn(&mut self, timeout: Option<Nanos>, end_ns: Nanos) -> bool {
        let reported = if self.ready.is_empty() { self.wait(timeout) } else { 0 };
        self.hub.count_turn();
        let start_ns = clock::now();
        if self.serve_guarded() {
            let longest = self.hub.longest();
            longest.turn_ns = longest.turn_ns.max(clock::now() - start_ns);
            // What it told the control plane has to be handed over, when there is time.
            self.owes_rest = true;
            return false;
        }
        let acted = self.slice(start_ns, end_ns);
        reported == 0 && !acted
    }

    /// Reads, steps and writes what is guarded; whether there was something to do.
    fn serve_guarded(&mut self) -> bool {
        // That the wait has not reported them means nothing: it reports a few of all that are ready.
        let read = self.read_urgent();
        let mut steps = 0;
        while steps < self.config.guarded_steps
            && !self.hub.is_crowded_guarded()
            && self.hub.step_guarded(clock::now())
        {
            steps += 1;
        }
        self.hub.gather_guarded(clock::now());
        let writes = self.hub.dirty_guarded_count();
        let mut names_bytes = NAMES_BYTES;
        for _ in 0..writes {
            let Some(id) = self.hub.pop_dirty_guarded() else { break };
            names_bytes -= self.sockets.flush_guarded(clock::now(), &mut self.hub, id, names_bytes);
        }
        read + steps + writes > 0
    }

    /// Reads a portion of each urgent connection that has something, once; returns how many there were.
    pub(super) fn read_urgent(&mut self) -> usize {
        self.look_urgent();
        let ready = std::mem::take(&mut self.urgent_ready);
        for &(token, flags) in &ready {
            let id = ConnId(token);
            match self.hub.portion_bytes(id) {
                Some(portion) => drop(self.attend(clock::now(), id, flags, portion, || true)),
                // On probation, or gone: it waits with the rest, however many others are to be watched otherwise first.
                None => self.sockets.shift(id, false),
            }
        }
        let count = ready.len();
        self.urgent_ready = ready;
        count
    }

    /// Serves the rest until its time is over or something guarded waits, but at least once; whether it had something
    /// to do.
    fn slice(&mut self, start_ns: Nanos, end_ns: Nanos) -> bool {
        let limit_ns = start_ns.saturating_add(self.config.slice_ns).min(end_ns);
        let (mut now, mut acted) = (start_ns, false);
        while self.act(now) {
            (now, acted) = (clock::now(), true);
            if now >= limit_ns || self.hub.waiting_guarded() > 0 || self.stop_ns.is_some() {
                break;
            }
        }
        let longest = self.hub.longest();
        longest.slice_ns = longest.slice_ns.max(clock::now() - start_ns);
        acted
    }

    /// The next indivisible action of the rest; false when its turn is over.
    pub(super) fn act(&mut self, now: Nanos) -> bool {
        loop {
            let acted = match self.rest {
                Rest::Read => self.read_next(now),
                Rest::Retry(left) => left > 0 && !self.hub.is_deaf() && self.retry_next(now, left),
                Rest::Depart(left) => left > 0 && self.hub.has_unfinished() && self.depart_next(left),
                Rest::Step(left) => left > 0 && self.step_next(now, left),
                Rest::Gather => self.hub.ready_count() + self.hub.queued_count() > 0 && self.gather_next(now),
                Rest::Flush(left) => left > 0 && self.flush_next(now, left),
                Rest::End => {
                    self.end_rest(now);
                    return false;
                }
            };
            if acted {
                return true;
            }
            self.rest = self.phase_after(now);
        }
    }

    fn phase_after(&mut self, now: Nanos) -> Rest {
        match self.rest {
            Rest::Read => Rest::Retry(self.retries.min(RETRIES_MAX)),
            Rest::Retry(_) => Rest::Depart(DEPARTURES_MAX),
            Rest::Depart(_) => Rest::Step(self.steps_max(self.turn_steps(now))),
            Rest::Step(_) => Rest::Gather,
            Rest::Gather => Rest::Flush(self.hub.dirty_count()),
            Rest::Flush(_) => Rest::End,
            Rest::End => Rest::Read,
        }
    }

    /// One call, one read, or one connection accepted.
    fn read_next(&mut self, now: Nanos) -> bool {
        if self.call_next() {
            return true;
        }
        while let Some((token, flags)) = self.ready.pop() {
            match token {
                BELL => {
                    self.take_calls();
                    if self.call_next() {
                        return true;
                    }
                }
                URGENT => {}
                token if LISTENERS - token < self.sockets.listeners() as u64 => {
                    self.welcome_next(now, token, flags);
                    return true;
                }
                token => {
                    let id = ConnId(token);
                    if flags.contains(epoll::EventFlags::OUT) {
                        self.unblock_next(id, flags);
                        return true;
                    }
                    // It may have been held since it was reported.
                    let held = self.sockets.is_held(id);
                    self.attend(now, id, flags, READ_BYTES, || !held);
                    return true;
                }
            }
        }
        false
    }

    /// One connection or one datagram; if that was not the last one, the next is for the next action.
    fn welcome_next(&mut self, now: Nanos, token: u64, flags: epoll::EventFlags) {
        let taken = self.sockets.welcome(now, &mut self.hub, (LISTENERS - token) as usize, AMOUNT);
        self.datagrams += taken;
        if taken > 0 && self.datagrams < DATAGRAMS_MAX {
            self.ready.push((token, flags));
        }
    }

    /// One write of what a socket has not taken before. What else was reported of it is for the next action.
    fn unblock_next(&mut self, id: ConnId, mut flags: epoll::EventFlags) {
        self.sockets.unblock(&mut self.hub, id, WRITE_BYTES);
        flags.remove(epoll::EventFlags::OUT);
        if !flags.is_empty() {
            self.ready.push((id.0, flags));
        }
    }

    /// One call, unless names have to go out before.
    fn call_next(&mut self) -> bool {
        !self.hub.owes_names() && self.run_call()
    }

    fn retry_next(&mut self, now: Nanos, left: usize) -> bool {
        self.rest = Rest::Retry(left - 1);
        self.retry_one(now);
        true
    }

    fn depart_next(&mut self, left: usize) -> bool {
        self.rest = Rest::Depart(left - 1);
        self.hub.finish_some(Effort::units(DEPARTURE_UNITS));
        true
    }

    fn step_next(&mut self, now: Nanos, left: usize) -> bool {
        self.rest = Rest::Step(left - 1);
        let few = self.hub.ready_count() < READY_FEW;
        few && self.has_room() && self.hub.has_rest() && self.hub.step(now)
    }

    fn gather_next(&mut self, now: Nanos) -> bool {
        self.hub.gather(now);
        true
    }

    fn flush_next(&mut self, now: Nanos, left: usize) -> bool {
        self.rest = Rest::Flush(left - 1);
        let Some(id) = self.hub.pop_dirty() else { return false };
        let timed = self.config.period_ns > 0 && self.config.budget_ns > 0;
        self.flush_one(now, id, timed, WRITE_BYTES);
        true
    }

    fn end_rest(&mut self, now: Nanos) {
        self.end(now, DUE_MAX);
        (self.rest, self.owes_rest, self.datagrams) = (Rest::Read, false, 0);
    }

    /// Whether the rest is in the midst of a turn, or has to take one.
    pub(super) fn is_rest_owed(&self) -> bool {
        self.owes_rest
            || self.rest != Rest::Read
            || !self.ready.is_empty()
            || !self.calls.is_empty()
            || self.hub.has_unfinished()
    }
}
