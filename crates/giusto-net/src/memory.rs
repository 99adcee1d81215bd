//! A broker without sockets, threads and a clock of its own: for tests, which move the bytes and the time themselves.

use std::collections::HashMap;

use giusto_core::id::Nanos;

use crate::hub::{ConnId, Event, Filled, Hub};

/// A hub and the bytes that its clients have begun to send.
#[derive(Debug)]
pub struct Memory {
    hub: Hub,
    now: Nanos,
    partial: HashMap<ConnId, Vec<u8>>,
}

impl Memory {
    /// Drives `hub`; time begins at 0.
    pub fn new(hub: Hub) -> Self {
        Self { hub, now: 0, partial: HashMap::new() }
    }

    /// A connection; none if there are as many as there may be.
    pub fn open(&mut self, address: String) -> Option<ConnId> {
        self.hub.open(self.now, address)
    }

    /// Bytes that a client sends; frames that have to wait are taken in by a later [`Memory::step`].
    pub fn feed(&mut self, now: Nanos, conn: ConnId, bytes: &[u8]) {
        self.advance(now);
        self.partial.entry(conn).or_default().extend_from_slice(bytes);
        self.offer(conn);
    }

    fn offer(&mut self, conn: ConnId) {
        let Some(bytes) = self.partial.get_mut(&conn) else { return };
        let consumed = self.hub.receive(self.now, conn, bytes).consumed;
        bytes.drain(..consumed);
        if bytes.is_empty() {
            self.partial.remove(&conn);
        }
    }

    /// Does what is due, then one quantum of the engine; false when nothing waits.
    pub fn step(&mut self, now: Nanos) -> bool {
        self.advance(now);
        let mut held: Vec<ConnId> = self.partial.keys().copied().collect();
        held.sort_unstable();
        held.into_iter().for_each(|conn| self.offer(conn));
        for conn in self.hub.expire(self.now, usize::MAX) {
            self.hang_up(self.now, conn, "did not close in time");
        }
        self.hub.finish_all();
        let stepped = self.hub.step(self.now);
        self.hub.gather(self.now);
        stepped
    }

    /// All that goes to a client now. A connection is gone after its last frame.
    pub fn drain(&mut self, now: Nanos, conn: ConnId) -> Vec<u8> {
        self.advance(now);
        let mut out = Vec::new();
        if self.hub.fill(self.now, conn, &mut out, usize::MAX) == Filled::Last {
            self.hang_up(now, conn, "closed");
        }
        out
    }

    /// The client is gone.
    pub fn hang_up(&mut self, now: Nanos, conn: ConnId, reason: &str) {
        self.advance(now);
        self.partial.remove(&conn);
        self.hub.hang_up(conn, reason);
        self.hub.finish_all();
    }

    /// What the control plane has not been told yet.
    pub fn events(&mut self) -> Vec<Event> {
        self.hub.finish_all();
        self.hub.events().into()
    }

    /// A call of the control plane.
    pub fn ask<R>(&mut self, call: impl FnOnce(&mut Hub, Nanos) -> R) -> R {
        call(&mut self.hub, self.now)
    }

    /// Time does not go back.
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }
}
