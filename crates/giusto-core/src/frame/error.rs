//! Why bytes are not a frame, and why a frame cannot be written.

use crate::error::Invalid;

/// Bytes that are not a frame. The connection they came from cannot be trusted further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct FrameError {
    /// Where the bytes stop making sense, counted from the first byte of the frame.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

impl FrameError {
    pub(crate) const fn new(offset: usize, reason: Reason) -> Self {
        Self { offset, reason }
    }
}

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The length is beyond what this decoder accepts.
    #[error("frame of {length} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Length in the frame.
        length: u32,
        /// The decoder's limit.
        limit: u32,
    },
    /// The length leaves no room for the fields of this kind of frame.
    #[error("frame of {length} bytes is shorter than the {least} of its kind")]
    TooShort {
        /// Length in the frame.
        length: u32,
        /// Least length of this kind.
        least: u32,
    },
    /// The kind has a fixed length and this is not it.
    #[error("frame of {length} bytes is longer than the {fixed} of its kind")]
    NotFixed {
        /// Length in the frame.
        length: u32,
        /// The length of this kind.
        fixed: u32,
    },
    /// No frame has this kind.
    #[error("unknown kind of frame {0}")]
    UnknownKind(u8),
    /// A hello without the magic bytes: the other side does not speak this protocol.
    #[error("hello without the magic bytes")]
    Magic,
    /// A data frame's priority is above the highest.
    #[error("priority {0} is above 7")]
    Priority(u8),
    /// A data frame's timeout is negative.
    #[error("timeout of {0} ns is negative")]
    Timeout(i64),
    /// A data frame's attribute block would end after the frame.
    #[error("attribute block of {bytes} bytes is longer than the {room} left in the frame")]
    Attributes {
        /// Length of the block in the frame.
        bytes: u32,
        /// Bytes after the header.
        room: u32,
    },
    /// A field that must be 0 is not.
    #[error("reserved field is not 0")]
    Reserved,
    /// The text of an error frame is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
}

/// A frame that cannot be written. Nothing was appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A field is out of range.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The frame would be longer than the limit.
    #[error("{field} = {bytes}: expected at most {limit} bytes")]
    TooLarge {
        /// `frame`.
        field: &'static str,
        /// Bytes that the frame would have.
        bytes: usize,
        /// Most bytes allowed.
        limit: u32,
    },
}
