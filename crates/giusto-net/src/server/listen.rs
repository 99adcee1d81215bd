//! Where clients can come from: `tcp://host:port`, `udp://host:port`, `unix:///path`.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use giusto_core::error::Invalid;
use rustix::net::sockopt;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 4_096;
/// A peer that does not answer is given up after about this time.
const SILENCE: Duration = Duration::from_secs(30);

/// A socket that clients come to.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
    Udp(UdpSocket),
}

impl Listener {
    /// Listens at the address that `field` names.
    pub(super) fn bind(field: &str, address: &str) -> Result<Self, Invalid> {
        let bound = match address.split_once("://") {
            Some(("tcp", place)) => tcp(place),
            Some(("udp", place)) => udp(place),
            Some(("unix", path)) if path.starts_with('/') => unix(Path::new(path)),
            _ => {
                let expected = "tcp://HOST:PORT, udp://HOST:PORT or unix:///PATH";
                return Err(Invalid::new(field, address, expected));
            }
        };
        bound.map_err(|error| Invalid::new(field, address, format!("an address to listen at: {error}")))
    }

    /// What a connection that is accepted may have on its way out; 0 leaves it to the kernel.
    pub(super) fn limit_sending(&self, bytes: usize) -> io::Result<()> {
        match self {
            Self::Tcp(listener) if bytes > 0 => Ok(sockopt::set_socket_send_buffer_size(listener, bytes)?),
            _ => Ok(()),
        }
    }

    /// The address as bound.
    pub(super) fn address(&self) -> io::Result<String> {
        Ok(match self {
            Self::Tcp(listener) => format!("tcp://{}", listener.local_addr()?),
            Self::Udp(socket) => format!("udp://{}", socket.local_addr()?),
            Self::Unix(_, file) => format!("unix://{}", file.path.display()),
        })
    }

    /// The next connection and where it comes from.
    pub(super) fn accept(&self) -> io::Result<(OwnedFd, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                tune(stream.as_fd(), from.ip().is_loopback())?;
                Ok((stream.into(), format!("tcp://{from}")))
            }
            Self::Unix(listener, file) => {
                let (stream, _) = listener.accept()?;
                Ok((stream.into(), format!("unix://{}", file.path.display())))
            }
            Self::Udp(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}

/// The file of a Unix socket; it goes with the listener, unless somebody else has put another one there.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Its device and number, if it was still there when it was looked for.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && self.identity == identity(&self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|there| (there.dev(), there.ino()))
}

/// No delay for small frames, and dead peers are noticed.
///
/// The kernel cannot tell a peer that has vanished with data under way from one that does not read, and closes both.
/// On this host nobody vanishes without a word, so there a peer may be slow for as long as the overflow policy allows.
fn tune(stream: BorrowedFd<'_>, is_local: bool) -> io::Result<()> {
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE / 2)?;
    sockopt::set_tcp_keepintvl(stream, SILENCE / 6)?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    if !is_local {
        sockopt::set_tcp_user_timeout(stream, SILENCE.as_millis() as u32)?;
    }
    Ok(())
}

fn resolve(place: &str) -> io::Result<SocketAddr> {
    place.to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn tcp(place: &str) -> io::Result<Listener> {
    let listener = TcpListener::bind(resolve(place)?)?;
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(Listener::Tcp(listener))
}

fn udp(place: &str) -> io::Result<Listener> {
    let socket = UdpSocket::bind(resolve(place)?)?;
    socket.set_nonblocking(true)?;
    // As large as the kernel allows: what does not fit is lost.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, 8 << 20);
    let _ = sockopt::set_socket_send_buffer_size(&socket, 8 << 20);
    Ok(Listener::Udp(socket))
}

fn unix(path: &Path) -> io::Result<Listener> {
    remove_stale(path)?;
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(Listener::Unix(listener, SocketFile::new(path)))
}

/// Removes a socket file on which nobody listens, and nothing else.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.file_type().is_socket() => {}
        _ => return Ok(()),
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_accepted_has_the_send_buffer_of_the_listener() {
        let listener = Listener::bind("listen", "tcp://127.0.0.1:0").unwrap();
        listener.limit_sending(131_072).unwrap();
        let address = listener.address().unwrap();
        let _near = std::net::TcpStream::connect(address.trim_start_matches("tcp://")).unwrap();
        let far = std::iter::repeat_with(|| listener.accept()).find_map(Result::ok).unwrap();
        // The kernel doubles it.
        assert_eq!(sockopt::socket_send_buffer_size(&far.0).unwrap(), 262_144);
    }

    #[test]
    fn a_peer_on_this_host_is_not_closed_for_being_slow() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for (is_local, timeout_ms) in [(true, 0), (false, 30_000)] {
            tune(stream.as_fd(), is_local).unwrap();
            assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), timeout_ms);
        }
    }
}
