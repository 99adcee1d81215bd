//! A broker that runs out of file descriptors goes on with those that it has. Alone in its process, whose limit it changes.

mod socket;
mod wire;

use std::net::TcpStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket::Broker;
use wire::Owned;

fn open_files() -> u64 {
    std::fs::read_dir("/proc/self/fd").unwrap().count() as u64
}

#[test]
fn without_descriptors_nobody_is_accepted_and_the_others_are_served() {
    let broker = Broker::tcp();
    let mut client = broker.client("client");
    let address = broker.server.addresses()[0].strip_prefix("tcp://").unwrap().to_owned();
    let before = getrlimit(Resource::Nofile);
    // Room for our own end of a connection, but not for the broker's.
    setrlimit(Resource::Nofile, Rlimit { current: Some(open_files()), ..before }).unwrap();
    let stream = TcpStream::connect(&address).unwrap();
    broker.until("it was noticed", |hub| hub.refusals().files > 0);
    assert!(client.send(&wire::probe(7)));
    let echo = std::iter::from_fn(|| client.next()).find(|frame| matches!(frame, Owned::Probe { .. }));
    assert!(echo.is_some());
    setrlimit(Resource::Nofile, before).unwrap();
    broker.until("it was accepted after all", |hub| hub.connections().len() == 2);
    drop(stream);
}
