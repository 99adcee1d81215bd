//! A connection to a peer as bytes: blocking writes, and reads into one buffer that never grows.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{RecvFlags, recv, sockopt};

/// A peer that takes or says nothing for this long is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket and what was read from it but not consumed yet.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Wire {
    /// Connects, with room for `input_bytes` that are read but not consumed.
    pub fn connect(address: SocketAddr, input_bytes: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, input: vec![0; input_bytes], start: 0, end: 0 })
    }

    /// The socket, to wait for it.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// How long `receive` waits.
    pub fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(time))
    }

    /// Makes the socket's own buffer for arriving bytes as small as it can be.
    pub fn shrink(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.stream, 1)?)
    }

    /// Writes all of it.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for bytes; says whether some came in time.
    pub fn receive(&mut self) -> io::Result<bool> {
        self.make_room();
        let read = self.stream.read(&mut self.input[self.end..]);
        self.arrived(read)
    }

    /// Takes the bytes that are there already; says whether there were some.
    pub fn receive_now(&mut self) -> io::Result<bool> {
        self.make_room();
        let read = recv(&self.stream, &mut self.input[self.end..], RecvFlags::DONTWAIT);
        self.arrived(read.map(|(_, bytes)| bytes).map_err(io::Error::from))
    }

    fn arrived(&mut self, read: io::Result<usize>) -> io::Result<bool> {
        match read {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the peer closed the connection")),
            Ok(bytes) => {
                self.end += bytes;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A message at the very end of the buffer moves to its start.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end > self.input.len() * 3 / 4 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    /// What was read and not consumed.
    pub fn unread(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// Drops the first `bytes` of what is unread.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }
}
