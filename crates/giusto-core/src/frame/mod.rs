//! What travels between a client and a broker: which bytes are a frame, and which frame they are.
//!
//! A stream of bytes is a row of frames, each with its own length in front. All numbers are
//! little-endian. Every frame starts with the same eight bytes:
//!
//! ```text
//!  byte   0               4       5       6       8
//!         +---------------+-------+-------+-------+----
//!         | length u32    | kind  | prio  | flags | rest, by kind
//!         |               | u8    | u8    | u16   |
//!         +---------------+-------+-------+-------+----
//! ```
//!
//! `length` counts the whole frame, itself included. `prio` is 0 except in a data frame; `flags`
//! is 0 except in a data frame (carried unchanged) and in a probe (bit 0: this is the echo).
//!
//! | kind | name    | rest                                                        | bytes  |
//! |------|---------|-------------------------------------------------------------|--------|
//! | 1    | hello   | magic `GIUS`, version u16, 0 u16                            | 16     |
//! | 2    | data    | see [`data`]                                                | 56 + n |
//! | 3    | control | body (msgpack; opaque here)                                 | 8 + n  |
//! | 4    | credit  | stream u32, amount u32                                      | 16     |
//! | 5    | probe   | sequence u64, t_sent_ns i64, t_echoed_ns i64                | 32     |
//! | 6    | error   | code u32, text (UTF-8)                                      | 12 + n |
//! | 7    | goodbye | nothing                                                     | 8      |
//!
//! Decoding is total: any bytes give a frame, a wish for more bytes, or a [`FrameError`].

pub mod attributes;
pub mod data;
mod decode;
mod encode;
mod error;

pub use data::{Data, DataHeader, DataMut, PROMISED};
pub use decode::{Decoded, Decoder};
pub use error::{EncodeError, FrameError, Reason};

/// Bytes that every frame starts with.
pub const PREFIX_BYTES: usize = 8;
/// Longest frame accepted unless the owner says otherwise: 16 MiB.
pub const LIMIT_BYTES: u32 = 16 << 20;
/// What a hello carries so that a stranger is recognised at once.
pub const MAGIC: [u8; 4] = *b"GIUS";
/// The version of this format.
pub const VERSION: u16 = 1;
/// Highest message priority; 0 is the lowest.
pub const PRIORITY_MAX: u8 = 7;

/// The fifth byte of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// First frame in each direction.
    Hello = 1,
    /// A published message.
    Data = 2,
    /// A request or an answer of the control plane.
    Control = 3,
    /// Permission to send more on one stream.
    Credit = 4,
    /// A measurement of the round trip.
    Probe = 5,
    /// Why the sender is about to close the connection.
    Error = 6,
    /// The sender closes in good order.
    Goodbye = 7,
}

impl Kind {
    pub(crate) const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Data,
            3 => Self::Control,
            4 => Self::Credit,
            5 => Self::Probe,
            6 => Self::Error,
            7 => Self::Goodbye,
            _ => return None,
        })
    }

    /// Bytes before the part whose length is free.
    pub(crate) const fn fixed_bytes(self) -> usize {
        match self {
            Self::Hello | Self::Credit => 16,
            Self::Data => data::HEADER_BYTES,
            Self::Control | Self::Goodbye => PREFIX_BYTES,
            Self::Probe => 32,
            Self::Error => 12,
        }
    }

    /// Whether bytes of free length follow the fixed ones.
    pub(crate) const fn has_tail(self) -> bool {
        matches!(self, Self::Data | Self::Control | Self::Error)
    }
}

/// One frame; what has a free length is borrowed from the buffer it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// First frame in each direction.
    Hello(Hello),
    /// A published message.
    Data(Data<'a>),
    /// A request or an answer of the control plane: msgpack, opaque here.
    Control(&'a [u8]),
    /// Permission to send more on one stream.
    Credit(Credit),
    /// A measurement of the round trip.
    Probe(Probe),
    /// Why the sender is about to close the connection.
    Error(Failure<'a>),
    /// The sender closes in good order.
    Goodbye,
}

impl Frame<'_> {
    /// The kind of this frame.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::Hello,
            Self::Data(_) => Kind::Data,
            Self::Control(_) => Kind::Control,
            Self::Credit(_) => Kind::Credit,
            Self::Probe(_) => Kind::Probe,
            Self::Error(_) => Kind::Error,
            Self::Goodbye => Kind::Goodbye,
        }
    }
}

/// Which version the sender speaks. Any version decodes: whether it will do is for the session to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the frame format.
    pub version: u16,
}

/// Permission to send `amount` more data frames on `stream`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Flow number towards a publisher, topic number towards a broker.
    pub stream: u32,
    /// Messages, on top of what was granted before.
    pub amount: u32,
}

/// A measurement of the round trip, echoed outside the messaging path (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether this is the answer.
    pub echo: bool,
    /// Chosen by the asker, repeated in the echo.
    pub sequence: u64,
    /// The asker's clock when it asked, repeated in the echo.
    pub t_sent_ns: i64,
    /// The answerer's clock when it answered; 0 in the question.
    pub t_echoed_ns: i64,
}

/// Why the sender is about to close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// Number of the failure, for programs.
    pub code: u32,
    /// What went wrong, for people.
    pub text: &'a str,
}
