//! From the moment at which a program sends until another one that slept has the message in its hands.
//!
//! The other one needs a processor first. A short wait for it belongs to the way; a long one means that others keep it
//! busy, which is a stall.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use giusto_core::id::Nanos;

use super::WARM_UP;
use super::series::{Effort, Series, Span};
use crate::clock;

/// Bytes of a clock reading.
const STAMP_BYTES: usize = size_of::<Nanos>();
/// Time for the other thread to fall asleep again.
const PAUSE_NS: Nanos = 50_000;
/// A wait for a processor that is not worth mentioning.
const WAIT_NS: Nanos = 50_000;
/// Only a failure takes that long.
const WATCHDOG: Duration = Duration::from_secs(10);

pub(super) fn measure(size_bytes: usize, effort: Effort) -> io::Result<Vec<Series>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    near.set_nodelay(true)?;
    let mut message = vec![0; size_bytes.max(STAMP_BYTES)];
    let delays = reader(listener.accept()?.0, message.len())?;
    let mut series = Series::new("hop", effort);
    let end_ns = effort.end_ns();
    let mut rounds = 0;
    while !series.is_full() && clock::now() < end_ns {
        pause(PAUSE_NS);
        message[..STAMP_BYTES].copy_from_slice(&clock::now().to_le_bytes());
        near.write_all(&message)?;
        let span = delays.recv_timeout(WATCHDOG).map_err(|_| io::ErrorKind::TimedOut)?;
        rounds += 1;
        if rounds > WARM_UP {
            series.push(span);
        }
    }
    Ok(vec![series])
}

/// A thread that sleeps until a message comes, and says how old it was. It ends with the connection.
fn reader(mut stream: TcpStream, size_bytes: usize) -> io::Result<Receiver<Span>> {
    let (tell, delays) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let (mut message, mut stamp) = (vec![0; size_bytes], [0; STAMP_BYTES]);
        let waits = Waits::new();
        let mut waited_ns = waits.total_ns();
        while stream.read_exact(&mut message).is_ok() {
            let now = clock::now();
            stamp.copy_from_slice(&message[..STAMP_BYTES]);
            let whole_ns = now - Nanos::from_le_bytes(stamp);
            let away_ns = (waits.total_ns() - waited_ns - WAIT_NS).clamp(0, whole_ns);
            if tell.send(Span { whole_ns, away_ns }).is_err() {
                return;
            }
            waited_ns = waits.total_ns();
        }
    })?;
    Ok(delays)
}

/// For how long the calling thread has waited for a processor, as far as the kernel says.
struct Waits(Option<File>);

impl Waits {
    fn new() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    fn total_ns(&self) -> Nanos {
        let mut text = [0; 64];
        let count = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        // Time on a processor, time of waiting for one, how often.
        let fields = std::str::from_utf8(&text[..count]).unwrap_or_default().split_whitespace();
        fields.skip(1).find_map(|field| field.parse().ok()).unwrap_or(0)
    }
}

/// Waits without sleeping: the sender of a message is awake.
fn pause(span_ns: Nanos) {
    let end_ns = clock::now() + span_ns;
    while clock::now() < end_ns {
        std::hint::spin_loop();
    }
}
