//! The programs at the other ends: one thread that sends what it is given, one that reads whatever comes.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use rustix::event::epoll;

/// Sockets that one wait may report.
const READY_MAX: usize = 64;
/// Bytes of one read.
const READ_BYTES: usize = 1 << 18;

/// Sends from a thread of its own. It ends when this is dropped.
pub(super) struct Sender {
    jobs: Option<SyncSender<Arc<[u8]>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    pub(super) fn new(mut stream: TcpStream) -> io::Result<Self> {
        let (jobs, todo) = mpsc::sync_channel::<Arc<[u8]>>(1);
        let thread = std::thread::Builder::new().spawn(move || {
            // Ends as well when the broker is gone.
            while todo.recv().is_ok_and(|bytes| stream.write_all(&bytes).is_ok()) {}
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Has some bytes sent.
    pub(super) fn send(&self, bytes: &Arc<[u8]>) -> io::Result<()> {
        let jobs = self.jobs.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        jobs.send(Arc::clone(bytes)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads all `streams` in one thread, which ends when the broker has closed them all.
pub(super) fn drain(streams: Vec<TcpStream>) -> io::Result<JoinHandle<()>> {
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, stream) in streams.iter().enumerate() {
        epoll::add(&ready, stream, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
    }
    std::thread::Builder::new().spawn(move || {
        let mut streams: Vec<_> = streams.into_iter().map(Some).collect();
        let mut buffer = vec![0; READ_BYTES];
        while streams.iter().any(Option::is_some) {
            let mut events = [MaybeUninit::uninit(); READY_MAX];
            let Ok((events, _)) = epoll::wait(&ready, &mut events, None) else { continue };
            for event in events.iter() {
                let Some(stream) = streams.get_mut(event.data.u64() as usize) else { continue };
                if !stream
                    .as_mut()
                    .is_some_and(|stream| stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0))
                {
                    *stream = None;
                }
            }
        }
    })
}
