//! The guarded part of a turn in pieces, so that each can be timed: the data thread's own code without the thread.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use giusto_core::frame::{Frame, Hello, LIMIT_BYTES, VERSION};
use giusto_core::id::Nanos;
use giusto_core::record::Rows;

use super::Turner;
use crate::clock;
use crate::hub::{ConnId, Hub, NAMES_BYTES};
use crate::server::listen::Listener;
use crate::server::mailbox::Mailbox;
use crate::server::{ServerConfig, StartError};

/// Bytes of one read, as in a turn while topics are guarded.
const READ_BYTES: usize = 16 << 10;
/// Records that are kept between two drains: more than the processor's cache holds.
const RECORDS: usize = 1 << 16;
/// Only a failure takes that long.
const WATCHDOG: Duration = Duration::from_secs(10);

/// A broker on a free port of the loopback whose turns are taken piece by piece. Its topics have to be guarded.
pub(crate) struct Bench {
    turner: Turner,
    address: String,
    spare: Rows,
}

impl Bench {
    pub(crate) fn new() -> Result<Self, StartError> {
        let mut config = ServerConfig::default();
        config.hub.engine.record_capacity = RECORDS;
        let listener = Listener::bind("listen", "tcp://127.0.0.1:0")?;
        let address = listener.address()?.trim_start_matches("tcp://").to_owned();
        let mailbox = Arc::new(Mailbox::new(config.hub.control_capacity)?);
        let hub = Hub::new(config.hub.clone())?;
        let spare = Rows::new(RECORDS).unwrap_or_default();
        Ok(Self { turner: Turner::new(hub, config, vec![listener], mailbox)?, address, spare })
    }

    /// Makes room for records if half of it is used, so that each of them is kept.
    pub(crate) fn drain(&mut self) {
        if self.turner.hub.records() > RECORDS / 2 {
            let portion = self.turner.hub.swap_records(std::mem::take(&mut self.spare));
            self.spare = portion.unwrap_or_default().into_rows();
        }
    }

    pub(crate) fn hub(&mut self) -> &mut Hub {
        &mut self.turner.hub
    }

    /// A client of the broker, and its end of the connection.
    pub(crate) fn client(&mut self, name: &str) -> io::Result<(TcpStream, ConnId)> {
        let known = self.turner.hub.connections();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        let mut hello = Vec::new();
        Frame::Hello(Hello { version: VERSION }).encode(&mut hello, LIMIT_BYTES).map_err(io::Error::other)?;
        stream.write_all(&hello)?;
        let start = Instant::now();
        while start.elapsed() < WATCHDOG {
            self.turn();
            let new = self.turner.hub.connections().into_iter().find(|id| !known.contains(id));
            // Refused until the hello has been read.
            if let Some(id) = new.filter(|&id| self.turner.hub.connect(id, name, None).is_ok()) {
                return Ok((stream, id));
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// A whole turn that does not wait.
    pub(crate) fn turn(&mut self) {
        self.turner.turn(true, Nanos::MAX);
    }

    /// Sleeps until a socket is ready, as the data thread does.
    pub(crate) fn sleep(&mut self) -> io::Result<()> {
        match self.turner.wait(Some(WATCHDOG.as_nanos() as Nanos)) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// The first pieces of a turn for one client: looks which sockets are ready, and which are urgent, and reads it once.
    pub(crate) fn read(&mut self, id: ConnId) {
        self.turner.wait(Some(0));
        self.turner.look_urgent();
        self.turner.receive(clock::now(), id, READ_BYTES);
    }

    /// Reads a client again that has broken an offer, without its penalty.
    pub(crate) fn forgive(&mut self, id: ConnId) {
        self.turner.penalties.clear();
        self.turner.sockets.hold(id, false);
    }

    /// One quantum, and who has something to send after it.
    pub(crate) fn step(&mut self) -> bool {
        let now = clock::now();
        let stepped = self.turner.hub.step_guarded(now);
        self.turner.hub.gather_guarded(now);
        stepped
    }

    /// The next client that has something to be sent gets one write.
    pub(crate) fn write(&mut self) -> Option<ConnId> {
        let id = self.turner.hub.pop_dirty_guarded()?;
        self.turner.sockets.flush_guarded(clock::now(), &mut self.turner.hub, id, NAMES_BYTES);
        Some(id)
    }

    /// Whether the client's socket has not taken all of the last write.
    pub(crate) fn is_blocked(&mut self, id: ConnId) -> bool {
        self.turner.sockets.is_blocked(id)
    }

    /// Writes what the client's socket has not taken.
    pub(crate) fn write_on(&mut self, id: ConnId) {
        self.turner.sockets.unblock(&mut self.turner.hub, id, usize::MAX);
    }
}
