//! The socket of one connection: bytes that wait on either side of it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use giusto_core::frame::PREFIX_BYTES;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use crate::hub::ConnId;

/// Why most connections end.
pub(super) const GONE: &str = "closed by the client";

/// What a read gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// So many bytes.
    Bytes(usize),
    /// None yet.
    Nothing,
    /// The peer is gone, or has said all.
    End(String),
}

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// All is out.
    Sent,
    /// The rest is kept until the socket takes more.
    Kept,
    /// The peer is gone.
    End(String),
}

/// What the kernel watches: all that is served, and within it the connections that are read first.
#[derive(Debug)]
pub(super) struct Sets {
    pub(super) all: OwnedFd,
    pub(super) urgent: OwnedFd,
}

impl Sets {
    /// Reports `token` in the outer set when something in the inner one is ready.
    pub(super) fn new(token: u64) -> io::Result<Self> {
        let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let urgent = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&all, &urgent, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?;
        Ok(Self { all, urgent })
    }

    fn of(&self, urgent: bool) -> &OwnedFd {
        if urgent { &self.urgent } else { &self.all }
    }
}

/// One socket. Its buffers have memory only while something waits in them.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: ConnId,
    fd: OwnedFd,
    /// The start of a frame whose end has not come.
    pub(super) partial: Vec<u8>,
    /// Bytes that `partial` must have before it is worth looking at.
    pub(super) needed: usize,
    unsent: Vec<u8>,
    sent: usize,
    /// The last frame is among what is sent or unsent.
    pub(super) last: bool,
    /// Not read at the moment.
    pub(super) held: bool,
    /// Why nothing can be written any more.
    pub(super) muted: Option<String>,
    /// The kernel watches it.
    watched: bool,
    interest: epoll::EventFlags,
    /// It is read first.
    urgent: bool,
    /// That its socket takes bytes again is reported with the rest, though it is read first.
    apart: bool,
}

impl Link {
    /// Watches `fd` for input.
    pub(super) fn new(id: ConnId, fd: OwnedFd, sets: &Sets) -> io::Result<Self> {
        let interest = epoll::EventFlags::IN;
        epoll::add(&sets.all, &fd, epoll::EventData::new_u64(id.0), interest)?;
        Ok(Self {
            id,
            fd,
            partial: Vec::new(),
            needed: PREFIX_BYTES,
            unsent: Vec::new(),
            sent: 0,
            last: false,
            held: false,
            muted: None,
            watched: true,
            interest,
            urgent: false,
            apart: false,
        })
    }

    /// Reads once.
    #[inline]
    pub(super) fn read(&self, buffer: &mut [u8]) -> Input {
        match recv(&self.fd, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Input::End(GONE.into()),
            Ok((count, _)) => Input::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Input::Nothing,
            Err(error) => Input::End(error.to_string()),
        }
    }

    /// Whether bytes wait for the socket.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Whether it may be written to now.
    #[inline]
    pub(super) fn is_writable(&self) -> bool {
        !self.is_blocked() && !self.last && self.muted.is_none()
    }

    /// Writes `bytes` once, and keeps what the socket does not take.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) -> Output {
        match send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) if count == bytes.len() => Output::Sent,
            Ok(count) => self.keep(&bytes[count..]),
            Err(Errno::AGAIN | Errno::INTR) => self.keep(bytes),
            Err(Errno::PIPE | Errno::CONNRESET) => Output::End(GONE.into()),
            Err(error) => Output::End(error.to_string()),
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Output {
        self.unsent.extend_from_slice(bytes);
        Output::Kept
    }

    /// Writes what was kept, so many bytes of it at most.
    pub(super) fn write_kept(&mut self, limit_bytes: usize) -> Output {
        let end = self.unsent.len().min(self.sent.saturating_add(limit_bytes));
        match send(&self.fd, &self.unsent[self.sent..end], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) if self.sent + count == self.unsent.len() => {
                (self.unsent, self.sent) = (Vec::new(), 0);
                Output::Sent
            }
            Ok(count) => {
                self.sent += count;
                Output::Kept
            }
            Err(Errno::AGAIN | Errno::INTR) => Output::Kept,
            Err(Errno::PIPE | Errno::CONNRESET) => Output::End(GONE.into()),
            Err(error) => Output::End(error.to_string()),
        }
    }

    /// Whether only what the peer sent before it was gone is of interest.
    pub(super) fn is_gone(&self) -> bool {
        self.muted.is_some() || !self.watched
    }

    /// Nothing is written any more, since `reason`.
    pub(super) fn mute(&mut self, reason: String) {
        (self.unsent, self.sent) = (Vec::new(), 0);
        self.muted = Some(reason);
    }

    /// The kernel would say again and again that the peer is gone: it is not asked before the rest is read.
    pub(super) fn set_aside(&mut self, sets: &Sets) {
        if std::mem::replace(&mut self.watched, false) {
            self.watch_apart(sets, false);
            let _ = epoll::delete(sets.of(self.urgent), &self.fd);
        }
    }

    /// Tells the kernel what is waited for now.
    #[inline]
    pub(super) fn watch(&mut self, sets: &Sets) {
        if !self.watched {
            return self.watch_again(sets);
        }
        let interest = self.interest_now();
        if self.interest != interest {
            self.interest = interest;
            // It is in the set for as long as it lives.
            let data = epoll::EventData::new_u64(self.id.0);
            let _ = epoll::modify(sets.of(self.urgent), &self.fd, data, interest);
        }
        self.watch_apart(sets, self.urgent && self.is_blocked());
    }

    /// What is to be reported where it is read: of one that is read first, input alone, since what its socket has not taken
    /// is written with the rest.
    #[inline]
    fn interest_now(&self) -> epoll::EventFlags {
        let input = if self.held { epoll::EventFlags::empty() } else { epoll::EventFlags::IN };
        let is_waiting = self.is_blocked() && !self.urgent;
        input | if is_waiting { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() }
    }

    /// Has it reported with the rest when its socket takes bytes again, or no more.
    #[inline]
    fn watch_apart(&mut self, sets: &Sets, apart: bool) {
        if self.apart == apart {
            return;
        }
        if apart {
            let data = epoll::EventData::new_u64(self.id.0);
            self.apart = epoll::add(&sets.all, &self.fd, data, epoll::EventFlags::OUT).is_ok();
        } else {
            let _ = epoll::delete(&sets.all, &self.fd);
            self.apart = false;
        }
    }

    #[cold]
    fn watch_again(&mut self, sets: &Sets) {
        if !self.held {
            self.interest = epoll::EventFlags::IN;
            let data = epoll::EventData::new_u64(self.id.0);
            self.watched = epoll::add(sets.of(self.urgent), &self.fd, data, self.interest).is_ok();
        }
    }

    /// Has it read first, or with all the others.
    pub(super) fn shift(&mut self, sets: &Sets, urgent: bool) {
        if self.urgent == urgent {
            return;
        }
        if self.watched {
            self.watch_apart(sets, false);
            let _ = epoll::delete(sets.of(self.urgent), &self.fd);
        }
        self.urgent = urgent;
        if self.watched {
            self.interest = self.interest_now();
            let data = epoll::EventData::new_u64(self.id.0);
            self.watched = epoll::add(sets.of(urgent), &self.fd, data, self.interest).is_ok();
            self.watch_apart(sets, self.watched && urgent && self.is_blocked());
        }
    }

    /// Nothing more will be written: the peer reads the end after all that was.
    pub(super) fn shut(&self) {
        let _ = shutdown(self.fd.as_fd(), Shutdown::Write);
    }
}
