//! From the moment at which a program sends until another one that slept has the message in its hands.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
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
        let delay_ns = delays.recv_timeout(WATCHDOG).map_err(|_| io::ErrorKind::TimedOut)?;
        rounds += 1;
        if rounds > WARM_UP {
            series.push(Span::new(delay_ns));
        }
    }
    Ok(vec![series])
}

/// A thread that sleeps until a message comes, and says how old it was. It ends with the connection.
fn reader(mut stream: TcpStream, size_bytes: usize) -> io::Result<Receiver<Nanos>> {
    let (tell, delays) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let (mut message, mut stamp) = (vec![0; size_bytes], [0; STAMP_BYTES]);
        while stream.read_exact(&mut message).is_ok() {
            let now = clock::now();
            stamp.copy_from_slice(&message[..STAMP_BYTES]);
            if tell.send(now - Nanos::from_le_bytes(stamp)).is_err() {
                return;
            }
        }
    })?;
    Ok(delays)
}

/// Waits without sleeping: the sender of a message is awake.
fn pause(span_ns: Nanos) {
    let end_ns = clock::now() + span_ns;
    while clock::now() < end_ns {
        std::hint::spin_loop();
    }
}
