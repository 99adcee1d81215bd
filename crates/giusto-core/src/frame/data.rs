//! A published message on the wire: one fixed header, so that a broker stamps the frame it received
//! and forwards the same bytes.
//!
//! ```text
//!  byte   0               4       5       6       8               12              16
//!         +---------------+-------+-------+-------+---------------+---------------+
//!      0  | length u32    | 2     | prio  | flags | stream u32    | source u32    |
//!         +---------------+-------+-------+-------+---------------+---------------+
//!     16  | sequence u64                          | t_intended_ns i64             |
//!         +---------------------------------------+-------------------------------+
//!     32  | t_sent_ns i64                         | timeout_ns i64                |
//!         +---------------+---------------+-------+-------------------------------+
//!     48  | attributes_bytes u32 | 0 u32  | attribute block, then the payload
//!         +----------------------+--------+----------------------------------------
//! ```

use super::error::{FrameError, Reason};
use super::{Kind, PREFIX_BYTES, PRIORITY_MAX};
use crate::id::Nanos;

/// Bytes before the attribute block.
pub const HEADER_BYTES: usize = 56;

const PRIORITY: usize = 5;
const FLAGS: usize = 6;
const STREAM: usize = PREFIX_BYTES;
const SOURCE: usize = 12;
const SEQUENCE: usize = 16;
const T_INTENDED: usize = 24;
const T_SENT: usize = 32;
const TIMEOUT: usize = 40;
const ATTRIBUTES: usize = 48;
const RESERVED: usize = 52;

/// Bit of the flags: the broker has served the message under contract, so that what was promised holds for it.
pub const PROMISED: u16 = 1;

/// The fields of a data frame that have a fixed place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// 0 (lowest) to 7.
    pub priority: u8,
    /// [`PROMISED`] is stamped by the broker; the other bits are carried unchanged and have no meaning yet.
    pub flags: u16,
    /// Publisher to broker: the flow number that `advertise` returned. Broker to subscriber: the topic number.
    pub stream: u32,
    /// The publishing client, stamped by the broker; what a publisher writes here is ignored.
    pub source: u32,
    /// Counts the messages of one flow.
    pub sequence: u64,
    /// When the publisher meant to send it; `t_sent_ns` if it had no plan.
    pub t_intended_ns: Nanos,
    /// When the publisher sent it.
    pub t_sent_ns: Nanos,
    /// How long after `t_sent_ns` it is of use; 0 means for ever.
    pub timeout_ns: Nanos,
}

/// A published message, borrowed from the buffer that holds its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// The fields with a fixed place.
    pub header: DataHeader,
    /// The attribute block, not looked into.
    pub attributes: &'a [u8],
    /// What the publisher published.
    pub payload: &'a [u8],
}

/// A number at a constant place: the compiler sees that its bytes are there and checks nothing at run time.
macro_rules! field {
    ($bytes:expr, $at:expr, $type:ty) => {{
        const SIZE: usize = size_of::<$type>();
        const { assert!($at + SIZE <= HEADER_BYTES) };
        let mut field = [0; SIZE];
        field.copy_from_slice(&$bytes[$at..$at + SIZE]);
        <$type>::from_le_bytes(field)
    }};
}

impl DataHeader {
    /// Reads a header whose frame has `length` bytes; also returns the length of the attribute block.
    #[inline(always)]
    pub(crate) fn read(bytes: &[u8; HEADER_BYTES], length: u32) -> Result<(Self, usize), FrameError> {
        let header = Self::of_checked(bytes);
        let attributes_bytes = field!(bytes, ATTRIBUTES, u32);
        let room = length.saturating_sub(HEADER_BYTES as u32);
        let reserved = field!(bytes, RESERVED, u32);
        // One branch for what is nearly always right.
        let fine = (header.priority <= PRIORITY_MAX)
            & (header.timeout_ns >= 0)
            & (attributes_bytes <= room)
            & (reserved == 0);
        if fine {
            Ok((header, attributes_bytes as usize))
        } else {
            Err(header.refuse(attributes_bytes, room))
        }
    }

    /// The header of a frame that was checked when it came in.
    #[inline(always)]
    pub(crate) fn of_checked(bytes: &[u8; HEADER_BYTES]) -> Self {
        Self {
            priority: bytes[PRIORITY],
            flags: field!(bytes, FLAGS, u16),
            stream: field!(bytes, STREAM, u32),
            source: field!(bytes, SOURCE, u32),
            sequence: field!(bytes, SEQUENCE, u64),
            t_intended_ns: field!(bytes, T_INTENDED, i64),
            t_sent_ns: field!(bytes, T_SENT, i64),
            timeout_ns: field!(bytes, TIMEOUT, i64),
        }
    }

    /// Which field is wrong; the reserved one if no other is.
    #[cold]
    fn refuse(&self, attributes_bytes: u32, room: u32) -> FrameError {
        if self.priority > PRIORITY_MAX {
            FrameError::new(PRIORITY, Reason::Priority(self.priority))
        } else if self.timeout_ns < 0 {
            FrameError::new(TIMEOUT, Reason::Timeout(self.timeout_ns))
        } else if attributes_bytes > room {
            FrameError::new(ATTRIBUTES, Reason::Attributes { bytes: attributes_bytes, room })
        } else {
            FrameError::new(RESERVED, Reason::Reserved)
        }
    }

    /// The header's bytes. `length` and `attributes_bytes` were checked by the caller.
    #[inline]
    pub(crate) fn to_bytes(self, length: u32, attributes_bytes: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4] = Kind::Data as u8;
        bytes[PRIORITY] = self.priority;
        bytes[FLAGS..STREAM].copy_from_slice(&self.flags.to_le_bytes());
        bytes[STREAM..SOURCE].copy_from_slice(&self.stream.to_le_bytes());
        bytes[SOURCE..SEQUENCE].copy_from_slice(&self.source.to_le_bytes());
        bytes[SEQUENCE..T_INTENDED].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[T_INTENDED..T_SENT].copy_from_slice(&self.t_intended_ns.to_le_bytes());
        bytes[T_SENT..TIMEOUT].copy_from_slice(&self.t_sent_ns.to_le_bytes());
        bytes[TIMEOUT..ATTRIBUTES].copy_from_slice(&self.timeout_ns.to_le_bytes());
        bytes[ATTRIBUTES..RESERVED].copy_from_slice(&attributes_bytes.to_le_bytes());
        bytes
    }
}

/// A data frame in a buffer of the broker, to be stamped where it lies.
#[derive(Debug)]
pub struct DataMut<'a> {
    header: &'a mut [u8; HEADER_BYTES],
}

impl<'a> DataMut<'a> {
    /// The frame that starts at the first byte of `frame`; none if it is not a data frame.
    #[inline]
    pub fn new(frame: &'a mut [u8]) -> Option<Self> {
        let header = frame.first_chunk_mut::<HEADER_BYTES>()?;
        (header[4] == Kind::Data as u8).then_some(Self { header })
    }

    /// From the publisher's flow number to the topic number that subscribers know.
    #[inline]
    pub fn set_stream(&mut self, stream: u32) {
        self.header[STREAM..SOURCE].copy_from_slice(&stream.to_le_bytes());
    }

    /// Who published it.
    #[inline]
    pub fn set_source(&mut self, source: u32) {
        self.header[SOURCE..SEQUENCE].copy_from_slice(&source.to_le_bytes());
    }

    /// Whether what was promised holds for it.
    #[inline]
    pub fn set_promised(&mut self, is_promised: bool) {
        let flags = u16::from_le_bytes([self.header[FLAGS], self.header[FLAGS + 1]]);
        let flags = if is_promised { flags | PROMISED } else { flags & !PROMISED };
        self.header[FLAGS..STREAM].copy_from_slice(&flags.to_le_bytes());
    }

    /// When it was sent, on the clock of the machine that forwards it.
    #[inline]
    pub fn set_t_sent_ns(&mut self, t_sent_ns: Nanos) {
        self.header[T_SENT..TIMEOUT].copy_from_slice(&t_sent_ns.to_le_bytes());
    }

    /// When it was meant to be sent, on the clock of the machine that forwards it.
    #[inline]
    pub fn set_t_intended_ns(&mut self, t_intended_ns: Nanos) {
        self.header[T_INTENDED..T_SENT].copy_from_slice(&t_intended_ns.to_le_bytes());
    }
}
