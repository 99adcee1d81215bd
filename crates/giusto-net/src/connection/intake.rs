//! Where bytes of the stream wait until they are whole frames.

const READ_BYTES: usize = 256 << 10;

/// A buffer that is read into and emptied from the front. It grows with what has arrived, never
/// with what a frame promises.
#[derive(Debug)]
pub(crate) struct Intake {
    bytes: Vec<u8>,
    filled: usize,
    datagram: Vec<u8>,
}

impl Default for Intake {
    fn default() -> Self {
        Self { bytes: vec![0; READ_BYTES], filled: 0, datagram: Vec::new() }
    }
}

impl Intake {
    /// Room for the next read.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.filled < READ_BYTES / 4 {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        &mut self.bytes[self.filled..]
    }

    /// Room for any datagram.
    pub(crate) fn datagram(&mut self) -> &mut [u8] {
        self.datagram.resize(1 << 16, 0);
        &mut self.datagram
    }

    /// `count` bytes were read; `handle` says how many of all that wait it has used up.
    pub(crate) fn take_in(&mut self, count: usize, handle: impl FnOnce(&[u8]) -> usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
        let used = handle(&self.bytes[..self.filled]).min(self.filled);
        self.bytes.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.filled == 0 && self.bytes.len() > 16 * READ_BYTES {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_up_waits_in_front_of_what_comes() {
        let mut intake = Intake::default();
        intake.room()[..4].copy_from_slice(b"abcd");
        intake.take_in(4, |bytes| {
            assert_eq!(bytes, b"abcd");
            3
        });
        intake.room()[..1].copy_from_slice(b"e");
        intake.take_in(1, |bytes| {
            assert_eq!(bytes, b"de");
            2
        });
        assert_eq!(intake.filled, 0);
    }

    #[test]
    fn it_grows_with_what_has_arrived_and_shrinks_again() {
        let mut intake = Intake::default();
        for _ in 0..200 {
            let count = intake.room().len();
            intake.take_in(count.min(READ_BYTES), |_| 0);
        }
        assert!(intake.bytes.len() <= 2 * 200 * READ_BYTES);
        intake.take_in(0, <[u8]>::len);
        assert_eq!(intake.bytes.len(), READ_BYTES);
    }
}
