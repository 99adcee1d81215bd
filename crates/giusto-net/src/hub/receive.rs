//! What is done with the frames of a client: data into the queues, control to the control plane, probes back.

use std::net::SocketAddr;

use giusto_core::engine::IngestError;
use giusto_core::frame::{Data, Decoded, Frame, Hello, Kind, PREFIX_BYTES, Probe, VERSION};
use giusto_core::id::{ClientId, FlowId, Nanos};

use super::conn::ConnId;
use super::{Event, Hub, State, code};

/// Longest control frame. Strangers cannot make the broker keep more than that.
pub(super) const CONTROL_BYTES_MAX: u32 = 1 << 16;
/// Bytes of control frames that may wait for a connection before it is not read any more.
const OUTBOX_READ_MAX: usize = 1 << 20;

/// Control frames of one connection that the control plane is given at a time.
const ASKED_MAX: u32 = 64;

/// Frames of one datagram that may be of no use; the rest of it is not looked at.
const USELESS_MAX: u32 = 64;

/// Why the connection should not be read for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It may go on.
    None,
    /// It broke an offer or met a full queue.
    Penalty,
    /// The control plane or the client itself must first take what waits for it: offer the rest again later.
    Busy,
}

/// What was done with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes that are done with; the rest is to be offered again, with more behind it.
    pub consumed: usize,
    /// Bytes of the rest that make the next offer worth while.
    pub needed: usize,
    /// Whether to read on.
    pub hold: Hold,
}

enum Next {
    Go,
    Wait,
    Leave,
}

impl Hub {
    /// Takes in all whole frames at the start of `bytes`.
    pub fn receive(&mut self, now: Nanos, id: ConnId, bytes: &[u8]) -> Received {
        let mut received = Received { consumed: 0, needed: PREFIX_BYTES, hold: Hold::None };
        let client = match self.conns.get(id) {
            Some(conn) if conn.is_leaving() => {
                return Received { consumed: bytes.len(), ..received };
            }
            Some(conn) => conn.client,
            None => return Received { consumed: bytes.len(), ..received },
        };
        let decoder = if client.is_some() { self.decoder } else { self.narrow };
        loop {
            let rest = &bytes[received.consumed..];
            let (frame, consumed) = match decoder.decode(rest) {
                Ok(Decoded::Frame { frame, consumed }) => (frame, consumed),
                Ok(Decoded::Incomplete { needed }) if needed <= limit_bytes(rest) => {
                    received.needed = needed;
                    return received;
                }
                Ok(Decoded::Incomplete { needed }) => {
                    let limit = limit_bytes(rest);
                    self.refuse(now, id, &format!("a frame of {needed} bytes: at most {limit} here"));
                    return Received { consumed: bytes.len(), ..received };
                }
                Err(error) => {
                    self.refuse(now, id, &error.to_string());
                    return Received { consumed: bytes.len(), ..received };
                }
            };
            let next = match (&frame, client) {
                (Frame::Data(data), Some(client)) => {
                    self.take_in(now, id, client, &rest[..consumed], data, &mut received)
                }
                _ => {
                    self.note_other(now, id, consumed);
                    self.handle(now, id, &frame)
                }
            };
            match next {
                Next::Go => received.consumed += consumed,
                Next::Wait => return Received { hold: Hold::Busy, ..received },
                Next::Leave => return Received { consumed: bytes.len(), ..received },
            }
        }
    }

    /// A message of an open connection.
    #[inline]
    fn take_in(
        &mut self,
        now: Nanos,
        id: ConnId,
        client: ClientId,
        frame: &[u8],
        data: &Data<'_>,
        received: &mut Received,
    ) -> Next {
        match self.engine.ingest(now, client, frame, data) {
            Ok(()) => Next::Go,
            // Sent before the client heard that the flow has ended. Its number may be another's by now: no credit.
            Err(IngestError::UnknownFlow(flow)) if self.had(id, flow) => {
                self.refusals.ended += 1;
                Next::Go
            }
            Err(error @ (IngestError::UnknownFlow(_) | IngestError::Attributes(_))) => {
                self.refuse(now, id, &error.to_string());
                Next::Leave
            }
            Err(IngestError::Policed(_) | IngestError::Rejected(_)) => {
                received.hold = Hold::Penalty;
                self.note_offence(now, id);
                self.repay(FlowId(data.header.stream));
                Next::Go
            }
        }
    }

    #[cold]
    fn had(&self, id: ConnId, flow: FlowId) -> bool {
        self.conns.get(id).is_some_and(|conn| conn.had(flow))
    }

    /// Any other frame, or one that comes too early or too late.
    #[cold]
    fn handle(&mut self, now: Nanos, id: ConnId, frame: &Frame<'_>) -> Next {
        let Some(conn) = self.conns.get(id) else { return Next::Leave };
        let (state, outbox_bytes) = (conn.state, conn.outbox.len());
        match (state, frame) {
            // It left with an earlier frame of the same bytes.
            (State::Leaving | State::Gone, _) => Next::Leave,
            (_, Frame::Goodbye) => self.end(now, id, "goodbye"),
            (_, Frame::Error(failure)) => {
                self.end(now, id, &format!("error {}: {}", failure.code, failure.text))
            }
            (State::Hello, Frame::Hello(hello)) => self.greet(now, id, *hello),
            (State::Hello, _) => self.break_off(now, id, code::PROTOCOL, "the first frame is not a hello"),
            (_, Frame::Hello(_)) => self.break_off(now, id, code::PROTOCOL, "a second hello"),
            (_, Frame::Control(body)) if body.len() > CONTROL_BYTES_MAX as usize => {
                let problem = format!("control frame of {} bytes: at most {CONTROL_BYTES_MAX}", body.len());
                self.break_off(now, id, code::PROTOCOL, &problem)
            }
            (_, Frame::Control(_) | Frame::Probe(_)) if outbox_bytes > OUTBOX_READ_MAX => Next::Wait,
            // An urgent one may send few of these, and its messages do not wait behind them.
            (_, Frame::Control(_))
                if self.is_deaf() && self.portion_bytes(id).is_none() || !self.may_ask(id) =>
            {
                Next::Wait
            }
            (_, Frame::Control(body)) => {
                self.news.push(Event::Control { conn: id, body: body.to_vec() });
                Next::Go
            }
            (State::Greeted, _) => {
                self.break_off(now, id, code::NOT_CONNECTED, "Connect has not been answered yet")
            }
            (_, Frame::Probe(probe)) => {
                self.echo(now, id, probe);
                Next::Go
            }
            // A broker is not held back by credits: its output queues have policies.
            (_, Frame::Credit(_) | Frame::Data(_)) => Next::Go,
        }
    }

    /// Whether the connection may have another control frame in this batch; it has then.
    fn may_ask(&mut self, id: ConnId) -> bool {
        let batch = self.news.batch();
        self.conns.get_mut(id).is_some_and(|conn| {
            if conn.asked_in != batch {
                (conn.asked, conn.asked_in) = (0, batch);
            }
            conn.asked += 1;
            conn.asked <= ASKED_MAX
        })
    }

    fn greet(&mut self, now: Nanos, id: ConnId, hello: Hello) -> Next {
        if hello.version != VERSION {
            let problem = format!("version {} of the protocol: this broker speaks {VERSION}", hello.version);
            return self.break_off(now, id, code::PROTOCOL, &problem);
        }
        if let Some(conn) = self.conns.get_mut(id) {
            conn.state = State::Greeted;
        }
        Next::Go
    }

    fn has_room(&self, id: ConnId) -> bool {
        self.conns.get(id).is_some_and(|conn| conn.outbox.len() <= OUTBOX_READ_MAX)
    }

    fn echo(&mut self, now: Nanos, id: ConnId, probe: &Probe) {
        if !probe.echo {
            self.enqueue(id, &Frame::Probe(Probe { echo: true, t_echoed_ns: now, ..*probe }));
        }
    }

    /// The client has said its last word: nobody waits for an answer.
    fn end(&mut self, now: Nanos, id: ConnId, reason: &str) -> Next {
        self.part_at_once(now, id, 0, reason);
        Next::Leave
    }

    fn break_off(&mut self, now: Nanos, id: ConnId, code: u32, text: &str) -> Next {
        self.refusals.protocol += 1;
        self.part_at_once(now, id, code, text);
        Next::Leave
    }

    #[cold]
    fn refuse(&mut self, now: Nanos, id: ConnId, problem: &str) {
        self.break_off(now, id, code::PROTOCOL, problem);
    }

    /// Counts what is wrong in a datagram, which is of no use then.
    fn refuse_datagram(&mut self) -> bool {
        self.refusals.datagrams += 1;
        false
    }

    /// Takes in the frames of a datagram. What is wrong with it hurts nobody but its sender, who is not told.
    pub fn receive_datagram(&mut self, now: Nanos, from: SocketAddr, mut bytes: &[u8]) {
        let Some(&id) = self.datagram_peers.get(&from) else {
            self.refusals.datagrams += 1;
            return;
        };
        let Some(client) = self.conns.get(id).and_then(|conn| conn.client) else { return };
        let mut useless = 0;
        while !bytes.is_empty() {
            let Ok(Decoded::Frame { frame, consumed }) = self.decoder.decode(bytes) else {
                self.refusals.datagrams += 1;
                return;
            };
            if useless >= USELESS_MAX {
                self.refusals.datagrams += 1;
                return;
            }
            let is_useful = match frame {
                Frame::Data(data) => match self.engine.ingest(now, client, &bytes[..consumed], &data) {
                    Ok(()) => true,
                    Err(IngestError::Policed(_) | IngestError::Rejected(_)) => false,
                    Err(IngestError::UnknownFlow(flow)) if self.had(id, flow) => {
                        self.refusals.ended += 1;
                        false
                    }
                    Err(_) => self.refuse_datagram(),
                },
                // Nobody can be held back here: who does not read its echoes gets no more of them.
                Frame::Probe(probe) if self.has_room(id) => {
                    self.echo(now, id, &probe);
                    true
                }
                _ => self.refuse_datagram(),
            };
            useless += u32::from(!is_useful);
            bytes = &bytes[consumed..];
        }
    }
}

/// How long a frame that starts with `start` may be: nobody waits for more than will be looked at.
fn limit_bytes(start: &[u8]) -> usize {
    match start.get(4) {
        Some(&kind) if kind == Kind::Control as u8 => PREFIX_BYTES + CONTROL_BYTES_MAX as usize,
        _ => usize::MAX,
    }
}
