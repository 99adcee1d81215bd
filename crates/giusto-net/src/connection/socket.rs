//! The sockets of one connection: a stream to the broker, and a datagram socket for data if asked for.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use rustix::time::Timespec;

use super::address::{Address, Place};

/// A blocked call looks after signals this often even if none interrupts it.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The sockets of one connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    /// Bound from the start; connected when the broker has told its port.
    udp: Option<UdpSocket>,
    udp_peer: OnceLock<SocketAddr>,
}

impl Socket {
    /// Connects within `timeout` for each address that the host's name stands for.
    pub(crate) fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        let (stream, udp) = match address {
            Address::Unix(path) => (Stream::Unix(UnixStream::connect(path)?), None),
            Address::Tcp(place) => (Stream::Tcp(connect_tcp(place, timeout)?), None),
            Address::Udp(place) => {
                let tcp = connect_tcp(place, timeout)?;
                let udp = UdpSocket::bind((tcp.local_addr()?.ip(), 0))?;
                // As much as the system allows: nobody reads between two calls of the user.
                let _ = sockopt::set_socket_recv_buffer_size(&udp, 4 << 20);
                // A burst that does not fit is dropped.
                let _ = sockopt::set_socket_send_buffer_size(&udp, 4 << 20);
                (Stream::Tcp(tcp), Some(udp))
            }
        };
        let socket = Self { stream, udp, udp_peer: OnceLock::new() };
        sockopt::set_socket_timeout(socket.as_fd(), sockopt::Timeout::Recv, Some(SLICE))?;
        Ok(socket)
    }

    /// The port on which datagrams are received, if they are wanted.
    pub(crate) fn udp_port(&self) -> io::Result<Option<u16>> {
        self.udp.as_ref().map(|udp| udp.local_addr().map(|address| address.port())).transpose()
    }

    /// Datagrams go to this port of the broker's host.
    pub(crate) fn connect_udp(&self, port: u16) -> io::Result<()> {
        let (Some(udp), Stream::Tcp(tcp)) = (&self.udp, &self.stream) else { return Ok(()) };
        let peer = SocketAddr::new(tcp.peer_addr()?.ip(), port);
        udp.connect(peer)?;
        let _ = self.udp_peer.set(peer);
        Ok(())
    }

    /// Whether data goes in datagrams.
    pub(crate) fn has_datagrams(&self) -> bool {
        self.udp_peer.get().is_some()
    }

    /// Bytes of the stream, now; `WouldBlock` if there are none.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.as_fd(), buffer, RecvFlags::DONTWAIT)?.0)
    }

    /// Bytes of the stream within [`SLICE`], in one call: what keeps a receiver's wake-up short.
    pub(crate) fn read_soon(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.as_fd(), buffer, RecvFlags::empty())?.0)
    }

    /// A datagram, now.
    pub(crate) fn read_datagram(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.udp {
            Some(udp) if self.has_datagrams() => Ok(recv(udp, buffer, RecvFlags::DONTWAIT)?.0),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// As many bytes as the stream takes now.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    /// One datagram, now; a full socket drops it, as the network may. False if it did.
    pub(crate) fn write_datagram(&self, datagram: &[u8]) -> bool {
        let sent =
            self.udp.as_ref().map(|udp| send(udp, datagram, SendFlags::DONTWAIT | SendFlags::NOSIGNAL));
        sent.is_some_and(|sent| sent.is_ok())
    }

    /// Waits until there is something to read; false if there is nothing in time.
    pub(crate) fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        if let Some(udp) = self.udp.as_ref().filter(|_| self.has_datagrams()) {
            fds.push(PollFd::from_borrowed_fd(udp.as_fd(), PollFlags::IN));
        }
        Ok(poll(&mut fds, Some(&timespec(timeout)))? > 0)
    }

    /// Waits until the stream takes bytes again, a signal comes or the time is over: try again.
    pub(crate) fn wait_writable(&self, timeout: Duration) -> io::Result<()> {
        let mut fds = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::OUT)];
        match poll(&mut fds, Some(&timespec(timeout))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The descriptor of the datagram socket, for an event loop.
    pub(crate) fn udp_fd(&self) -> Option<BorrowedFd<'_>> {
        self.udp.as_ref().map(AsFd::as_fd)
    }

    /// Ends our direction and reads what the other side still says, until it ends its own: a socket that
    /// is closed with something unread resets the connection, and what was sent last may be lost.
    pub(crate) fn part(&self, timeout: Duration) {
        let _ = shutdown(self.as_fd(), Shutdown::Write);
        let (deadline, mut scratch) = (Instant::now() + timeout, vec![0; 1 << 16]);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read_now(&mut scratch) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                Err(_) if left.is_zero() || !self.wait_readable(left).unwrap_or(true) => return,
                Err(_) => {}
            }
        }
    }

    /// Ends both directions: whoever is blocked on the stream wakes up.
    pub(crate) fn shut(&self) {
        let _ = shutdown(self.as_fd(), Shutdown::Both);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

fn connect_tcp(place: &Place, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (place.host.as_str(), place.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}
