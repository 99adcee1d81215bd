//! How a frame is written: appended to the caller's buffer, which is as before if the frame is refused.

use super::data::{Data, HEADER_BYTES};
use super::error::EncodeError;
use super::{Credit, Failure, Frame, Hello, Kind, MAGIC, PRIORITY_MAX, Probe};
use crate::error::Invalid;

impl Frame<'_> {
    /// Appends the frame to `out` unless it would be longer than `limit_bytes`.
    pub fn encode(&self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        match *self {
            Self::Data(data) => data.encode(out, limit_bytes),
            Self::Control(body) => start(out, Kind::Control, 0, body.len(), limit_bytes).map(|()| {
                out.extend_from_slice(body);
            }),
            Self::Hello(hello) => hello.encode(out, limit_bytes),
            Self::Credit(credit) => credit.encode(out, limit_bytes),
            Self::Probe(probe) => probe.encode(out, limit_bytes),
            Self::Error(failure) => failure.encode(out, limit_bytes),
            Self::Goodbye => start(out, Kind::Goodbye, 0, 0, limit_bytes),
        }
    }
}

impl Data<'_> {
    /// Appends the frame to `out` unless it would be longer than `limit_bytes`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        let header = self.header;
        if header.priority > PRIORITY_MAX {
            return Err(Invalid::new("priority", header.priority, "0 to 7").into());
        }
        if header.timeout_ns < 0 {
            return Err(Invalid::new("timeout_ns", header.timeout_ns, "0 (for ever) or more").into());
        }
        let tail_bytes = self.attributes.len().saturating_add(self.payload.len());
        let length = frame_length(HEADER_BYTES, tail_bytes, limit_bytes)?;
        out.reserve(length as usize);
        out.extend_from_slice(&header.to_bytes(length, self.attributes.len() as u32));
        out.extend_from_slice(self.attributes);
        out.extend_from_slice(self.payload);
        Ok(())
    }
}

impl Hello {
    fn encode(self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        start(out, Kind::Hello, 0, 0, limit_bytes)?;
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        Ok(())
    }
}

impl Credit {
    fn encode(self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        start(out, Kind::Credit, 0, 0, limit_bytes)?;
        out.extend_from_slice(&self.stream.to_le_bytes());
        out.extend_from_slice(&self.amount.to_le_bytes());
        Ok(())
    }
}

impl Probe {
    fn encode(self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        start(out, Kind::Probe, u16::from(self.echo), 0, limit_bytes)?;
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.t_sent_ns.to_le_bytes());
        out.extend_from_slice(&self.t_echoed_ns.to_le_bytes());
        Ok(())
    }
}

impl Failure<'_> {
    fn encode(self, out: &mut Vec<u8>, limit_bytes: u32) -> Result<(), EncodeError> {
        start(out, Kind::Error, 0, self.text.len(), limit_bytes)?;
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(self.text.as_bytes());
        Ok(())
    }
}

/// Appends the eight bytes that every frame starts with.
fn start(
    out: &mut Vec<u8>,
    kind: Kind,
    flags: u16,
    tail_bytes: usize,
    limit_bytes: u32,
) -> Result<(), EncodeError> {
    let length = frame_length(kind.fixed_bytes(), tail_bytes, limit_bytes)?;
    out.reserve(length as usize);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[kind as u8, 0]);
    out.extend_from_slice(&flags.to_le_bytes());
    Ok(())
}

#[inline]
fn frame_length(fixed_bytes: usize, tail_bytes: usize, limit_bytes: u32) -> Result<u32, EncodeError> {
    let bytes = fixed_bytes.saturating_add(tail_bytes);
    match u32::try_from(bytes) {
        Ok(length) if length <= limit_bytes => Ok(length),
        _ => Err(EncodeError::TooLarge { field: "frame", bytes, limit: limit_bytes }),
    }
}
