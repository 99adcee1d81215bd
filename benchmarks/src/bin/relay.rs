//! The bare two-hop relay: what arrives from one connection is sent on another, by two system calls and nothing else.
//!
//! `relay [ADDRESS]` prints `ready ADDRESS`. A connection says which end it is with one byte, `P` or `S`,
//! and gets it back. One pair is served at a time; when an end closes, the next pair is.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// As much as the broker reads at once: the difference between the two is then what the broker does.
const BUFFER_BYTES: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address)?;
    println!("ready {}", listener.local_addr()?);
    loop {
        let (publisher, subscriber) = pair(&listener)?;
        // A closed end is how every run ends.
        let _ = relay(publisher, subscriber);
    }
}

/// Waits for one end of each kind; a newer one replaces an older one that is still alone.
fn pair(listener: &TcpListener) -> io::Result<(TcpStream, TcpStream)> {
    let (mut publisher, mut subscriber) = (None, None);
    loop {
        let (stream, _) = listener.accept()?;
        match role(stream) {
            Ok((b'P', stream)) => publisher = Some(stream),
            Ok((b'S', stream)) => subscriber = Some(stream),
            _ => continue,
        }
        match (publisher, subscriber) {
            (Some(publisher), Some(subscriber)) => return Ok((publisher, subscriber)),
            incomplete => (publisher, subscriber) = incomplete,
        }
    }
}

fn role(mut stream: TcpStream) -> io::Result<(u8, TcpStream)> {
    stream.set_nodelay(true)?;
    let mut role = [0];
    stream.read_exact(&mut role)?;
    stream.write_all(&role)?;
    Ok((role[0], stream))
}

fn relay(mut publisher: TcpStream, mut subscriber: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let bytes = publisher.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(());
        }
        subscriber.write_all(&buffer[..bytes])?;
    }
}
