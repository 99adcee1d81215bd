//! Whether the bytes at hand are a whole frame, the start of one, or not a frame at all.
//!
//! The decoder keeps no bytes: the caller holds the buffer, asks, and drops what was consumed. What
//! can be refused is refused as soon as the bytes that show it are there, so that a peer cannot make
//! the caller buffer a long frame whose length, kind or header is already wrong.

use super::data::{Data, DataHeader, HEADER_BYTES};
use super::error::{FrameError, Reason};
use super::{Credit, Failure, Frame, Hello, Kind, LIMIT_BYTES, MAGIC, PREFIX_BYTES, Probe};

/// What the bytes at hand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// A whole frame, in the first `consumed` bytes.
    Frame {
        /// The frame, borrowed from the buffer.
        frame: Frame<'a>,
        /// Its length.
        consumed: usize,
    },
    /// A frame's start: ask again when the buffer holds `needed` bytes.
    Incomplete {
        /// Bytes from the frame's first that are needed at least; never above the limit.
        needed: usize,
    },
}

/// Recognises frames up to a length.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    limit_bytes: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(LIMIT_BYTES)
    }
}

impl Decoder {
    /// Refuses frames above `limit_bytes`.
    pub const fn new(limit_bytes: u32) -> Self {
        Self { limit_bytes }
    }

    /// The first frame of `buffer`.
    ///
    /// Whole data frames are recognised here, in the caller's loop; everything else is another function.
    #[inline(always)]
    pub fn decode<'a>(&self, buffer: &'a [u8]) -> Result<Decoded<'a>, FrameError> {
        let data = buffer.first_chunk::<HEADER_BYTES>().filter(|start| start[4] == Kind::Data as u8);
        if let Some(header) = data {
            let length = length(header);
            if length >= HEADER_BYTES as u32 && length <= self.limit_bytes {
                return decode_data(buffer, header, length);
            }
        }
        self.decode_other(buffer)
    }

    /// Any frame but a data frame whose header is there.
    #[inline(never)]
    fn decode_other<'a>(&self, buffer: &'a [u8]) -> Result<Decoded<'a>, FrameError> {
        let Some(prefix) = buffer.first_chunk::<PREFIX_BYTES>() else {
            return self.decode_start(buffer);
        };
        let (length, kind) = self.check(prefix)?;
        let consumed = length as usize;
        match buffer.get(PREFIX_BYTES..consumed) {
            Some(rest) => decode_rest(kind, prefix, rest).map(|frame| Decoded::Frame { frame, consumed }),
            None => Ok(Decoded::Incomplete { needed: consumed }),
        }
    }

    /// Fewer bytes than a prefix: refuses a length that is already wrong.
    #[cold]
    fn decode_start<'a>(&self, buffer: &'a [u8]) -> Result<Decoded<'a>, FrameError> {
        if let Some(length) = buffer.first_chunk::<4>() {
            self.check_length(u32::from_le_bytes(*length))?;
        }
        Ok(Decoded::Incomplete { needed: PREFIX_BYTES })
    }

    #[inline]
    fn check_length(&self, length: u32) -> Result<(), FrameError> {
        if length > self.limit_bytes {
            return Err(FrameError::new(0, Reason::TooLong { length, limit: self.limit_bytes }));
        }
        if length < PREFIX_BYTES as u32 {
            return Err(FrameError::new(0, Reason::TooShort { length, least: PREFIX_BYTES as u32 }));
        }
        Ok(())
    }

    /// Length and kind, if they go together.
    #[inline]
    fn check(&self, prefix: &[u8; PREFIX_BYTES]) -> Result<(u32, Kind), FrameError> {
        let (length, kind) = (length(prefix), prefix[4]);
        self.check_length(length)?;
        let kind = Kind::from_byte(kind).ok_or(FrameError::new(4, Reason::UnknownKind(kind)))?;
        let fixed = kind.fixed_bytes() as u32;
        if length < fixed {
            return Err(FrameError::new(0, Reason::TooShort { length, least: fixed }));
        }
        if length > fixed && !kind.has_tail() {
            return Err(FrameError::new(0, Reason::NotFixed { length, fixed }));
        }
        Ok((length, kind))
    }
}

#[inline(always)]
fn length<const N: usize>(start: &[u8; N]) -> u32 {
    const { assert!(N >= 4) };
    u32::from_le_bytes([start[0], start[1], start[2], start[3]])
}

#[inline(always)]
fn decode_data<'a>(
    buffer: &'a [u8],
    header: &[u8; HEADER_BYTES],
    length: u32,
) -> Result<Decoded<'a>, FrameError> {
    let (header, attributes_bytes) = DataHeader::read(header, length)?;
    let consumed = length as usize;
    let tail = buffer.get(HEADER_BYTES..consumed);
    match tail.and_then(|tail| tail.split_at_checked(attributes_bytes)) {
        Some((attributes, payload)) => {
            Ok(Decoded::Frame { frame: Frame::Data(Data { header, attributes, payload }), consumed })
        }
        None => Ok(Decoded::Incomplete { needed: consumed }),
    }
}

/// A whole frame of another kind; `rest` follows the prefix and has the length of its kind.
fn decode_rest<'a>(kind: Kind, prefix: &[u8; PREFIX_BYTES], rest: &'a [u8]) -> Result<Frame<'a>, FrameError> {
    let [.., reserved, low, high] = *prefix;
    if reserved != 0 {
        return Err(FrameError::new(5, Reason::Reserved));
    }
    let echo = kind == Kind::Probe && low == 1;
    if high != 0 || (low != 0 && !echo) {
        return Err(FrameError::new(6, Reason::Reserved));
    }
    Ok(match kind {
        Kind::Hello => Frame::Hello(hello(rest)?),
        Kind::Credit => Frame::Credit(credit(rest)?),
        Kind::Probe => Frame::Probe(probe(rest, echo)?),
        Kind::Error => Frame::Error(failure(rest)?),
        Kind::Goodbye => Frame::Goodbye,
        // A whole data frame never comes here: its header was there.
        Kind::Control | Kind::Data => Frame::Control(rest),
    })
}

/// The next `N` bytes; `at` is their place in the frame.
#[inline]
fn take<'a, const N: usize>(rest: &mut &'a [u8], at: usize) -> Result<&'a [u8; N], FrameError> {
    let short = Reason::TooShort { length: at as u32, least: (at + N) as u32 };
    let (field, tail) = rest.split_first_chunk::<N>().ok_or(FrameError::new(0, short))?;
    *rest = tail;
    Ok(field)
}

fn hello(mut rest: &[u8]) -> Result<Hello, FrameError> {
    if *take::<4>(&mut rest, 8)? != MAGIC {
        return Err(FrameError::new(8, Reason::Magic));
    }
    let version = u16::from_le_bytes(*take(&mut rest, 12)?);
    if *take::<2>(&mut rest, 14)? != [0, 0] {
        return Err(FrameError::new(14, Reason::Reserved));
    }
    Ok(Hello { version })
}

fn credit(mut rest: &[u8]) -> Result<Credit, FrameError> {
    let stream = u32::from_le_bytes(*take(&mut rest, 8)?);
    let amount = u32::from_le_bytes(*take(&mut rest, 12)?);
    Ok(Credit { stream, amount })
}

fn probe(mut rest: &[u8], echo: bool) -> Result<Probe, FrameError> {
    let sequence = u64::from_le_bytes(*take(&mut rest, 8)?);
    let t_sent_ns = i64::from_le_bytes(*take(&mut rest, 16)?);
    let t_echoed_ns = i64::from_le_bytes(*take(&mut rest, 24)?);
    Ok(Probe { echo, sequence, t_sent_ns, t_echoed_ns })
}

fn failure(mut rest: &[u8]) -> Result<Failure<'_>, FrameError> {
    let code = u32::from_le_bytes(*take(&mut rest, 8)?);
    let text =
        std::str::from_utf8(rest).map_err(|error| FrameError::new(12 + error.valid_up_to(), Reason::Text))?;
    Ok(Failure { code, text })
}
