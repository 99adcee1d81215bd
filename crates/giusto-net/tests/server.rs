//! The data thread with real sockets.

mod socket;
mod wire;

use std::io::Read;
use std::net::{TcpStream, UdpSocket};
use std::path::PathBuf;

use giusto_core::engine::Config;
use giusto_core::id::FlowId;
use giusto_net::hub::HubConfig;
use giusto_net::server::{Gone, Server, ServerConfig, StartError};
use socket::{Broker, WATCHDOG, tcp};
use wire::{Owned, control, data, frames, hello};

/// A place for a socket file, of this test alone.
fn socket_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("giusto-{}-{name}.sock", std::process::id()))
}

fn listen(address: &str) -> ServerConfig {
    ServerConfig { listen: vec![address.into()], ..ServerConfig::default() }
}

/// Messages go through, small and large, in order.
fn carries_messages(broker: &Broker) {
    let (mut publisher, mut subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let (_, flow) = broker.flow(&publisher, "ward/3/alarm", 64);
    broker.subscribe(&subscriber, "ward/#");
    let sizes = [0, 1, 128, 5_000, 900_000, 3];
    for (n, size) in sizes.into_iter().enumerate() {
        publisher.publish(flow, n as u64, &vec![n as u8; size]);
    }
    for (n, size) in sizes.into_iter().enumerate() {
        assert!(subscriber.payload() == vec![n as u8; size], "message {n} of {size} bytes");
    }
}

#[test]
fn tcp_carries_messages() {
    carries_messages(&Broker::tcp());
}

#[test]
fn a_unix_socket_carries_messages_and_its_file_goes_with_the_broker() {
    let path = socket_path("carries");
    let broker = Broker::new(listen(&format!("unix://{}", path.display())));
    carries_messages(&broker);
    assert!(path.exists());
    drop(broker);
    assert!(!path.exists());
}

#[test]
fn a_polling_server_carries_messages() {
    let config = ServerConfig { period_ns: 2_000_000, budget_ns: 1_000_000, ..tcp(HubConfig::default()) };
    carries_messages(&Broker::new(config));
}

#[test]
fn a_polling_server_with_the_smallest_budget_carries_messages() {
    let config = ServerConfig { period_ns: 1_000_000, budget_ns: 1, ..tcp(HubConfig::default()) };
    carries_messages(&Broker::new(config));
}

#[test]
fn a_busy_polling_server_carries_messages() {
    carries_messages(&Broker::new(ServerConfig { busy_poll: true, ..tcp(HubConfig::default()) }));
}

#[test]
fn a_reader_with_the_smallest_buffers_carries_messages() {
    let config = ServerConfig { read_bytes: 1_024, turn_steps: 1, ..tcp(HubConfig::default()) };
    carries_messages(&Broker::new(config));
}

#[test]
fn datagrams_carry_messages_and_large_ones_go_over_tcp() {
    let mut config = tcp(HubConfig::default());
    config.listen.push("udp://127.0.0.1:0".into());
    let broker = Broker::new(config);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(WATCHDOG)).unwrap();
    let mut client = broker.client_with("client", Some(&socket));
    let (_, flow) = broker.flow(&client, "t", 64);
    broker.subscribe(&client, "t");
    let to = broker.server.addresses()[1].strip_prefix("udp://").unwrap().to_owned();
    socket.send_to(&data(flow, 0, b"small"), &to).unwrap();
    let mut buffer = [0; 65_536];
    let count = socket.recv(&mut buffer).unwrap();
    assert!(matches!(&frames(&buffer[..count])[..], [Owned::Data { payload, .. }] if payload == b"small"));
    client.publish(flow, 1, &[7; 100_000]);
    assert!(client.payload() == vec![7; 100_000]);
}

#[test]
fn a_socket_file_that_nobody_listens_on_is_replaced_and_no_other() {
    let path = socket_path("stale");
    let address = format!("unix://{}", path.display());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let first = Server::bind(listen(&address)).unwrap();
    assert!(matches!(Server::bind(listen(&address)), Err(StartError::Invalid(_))));
    drop(first);
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(Server::bind(listen(&address)), Err(StartError::Invalid(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_socket_file_that_somebody_else_has_put_in_its_place_stays() {
    let path = socket_path("replaced");
    let address = format!("unix://{}", path.display());
    let first = Server::bind(listen(&address)).unwrap();
    std::fs::rename(&path, path.with_extension("old")).unwrap();
    let second = Server::bind(listen(&address)).unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
    std::fs::remove_file(path.with_extension("old")).unwrap();
}

#[test]
fn an_address_that_cannot_be_bound_is_refused_with_its_field() {
    for address in ["7447", "tcp://nowhere", "http://127.0.0.1:1", "unix://relative", "udp://256.0.0.1:1"] {
        let Err(StartError::Invalid(invalid)) = Server::bind(listen(address)) else { panic!("{address}") };
        assert_eq!((invalid.field, invalid.value), ("listen[0]".into(), address.into()));
    }
}

#[test]
fn bad_input_is_answered_and_hurts_nobody_else() {
    let broker = Broker::tcp();
    let (mut publisher, mut subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let (_, flow) = broker.flow(&publisher, "t", 64);
    broker.subscribe(&subscriber, "t");
    let huge = [0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0];
    for bytes in [&[0x5a; 4_000][..], &huge, &control(b"early"), &[hello(), data(FlowId(0), 0, b"")].concat()]
    {
        let mut stranger = broker.stranger();
        stranger.send(bytes);
        assert!(matches!(stranger.rest()[..], [Owned::Hello, Owned::Error(..)]));
        let conn = stranger.conn;
        drop(stranger);
        broker.closed(conn);
        publisher.publish(flow, 0, b"still here");
        assert_eq!(subscriber.payload(), b"still here");
    }
    let mut half = broker.client("half");
    let (_, own) = broker.flow(&half, "u", 4);
    assert!(half.send(&data(own, 0, &[0; 5_000])[..2_000]));
    let conn = half.conn;
    drop(half);
    assert_eq!(broker.closed(conn), "closed by the client");
}

#[test]
fn a_thousand_clients_that_come_and_go_leave_nothing_behind() {
    let broker = Broker::tcp();
    for _ in 0..1_000 {
        let mut stranger = broker.stranger();
        assert!(stranger.send(&hello()));
        let conn = stranger.conn;
        drop(stranger);
        broker.closed(conn);
    }
    broker.until("no connection is left", |hub| hub.connections().is_empty());
}

#[test]
fn a_subscriber_that_does_not_read_delays_nobody() {
    let engine = Config { output_capacity: 16, ..Config::default() };
    let broker = Broker::new(tcp(HubConfig { engine, ..HubConfig::default() }));
    let (mut publisher, mut reader) = (broker.client("publisher"), broker.client("reader"));
    let stuck = broker.client("stuck");
    let (_, flow) = broker.flow(&publisher, "t", 64);
    broker.subscribe(&reader, "t");
    broker.subscribe(&stuck, "t");
    let payload = vec![1; 100_000];
    for n in 0..400 {
        publisher.publish(flow, n, &payload);
        assert_eq!(reader.payload().len(), payload.len());
    }
    let (totals, losses) = broker.server.ask(|hub, _| (hub.totals(), hub.losses(9).0)).unwrap();
    assert!(totals.dropped > 0 && totals.ingested == 400);
    assert!(losses.iter().all(|loss| loss.conn == stuck.conn), "{losses:?}");
}

#[test]
fn a_flood_beyond_the_credits_is_counted_and_the_client_is_slowed_down() {
    let config = ServerConfig { penalty_ns: 100_000, turn_steps: 1, ..tcp(HubConfig::default()) };
    let broker = Broker::new(config);
    let mut publisher = broker.client("publisher");
    let (_, flow) = broker.flow(&publisher, "t", 4);
    let total = 20_000;
    for chunk in 0..total / 100 {
        let bytes: Vec<u8> = (0..100).flat_map(|n| data(flow, chunk * 100 + n, b"x")).collect();
        assert!(publisher.send(&bytes));
    }
    broker.until("all are counted", move |hub| {
        let totals = hub.totals();
        totals.ingested + totals.overflow == total && totals.selected == totals.ingested
    });
    let totals = broker.server.ask(|hub, _| hub.totals()).unwrap();
    assert!(totals.overflow > 0 && totals.ingested > 0);
}

#[test]
fn stopping_forwards_what_is_queued_and_says_goodbye() {
    let broker = Broker::tcp();
    let (mut publisher, mut subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let (_, flow) = broker.flow(&publisher, "t", 1_024);
    broker.subscribe(&subscriber, "t");
    let bytes: Vec<u8> = (0..1_000).flat_map(|n| data(flow, n, &[0; 128])).collect();
    assert!(publisher.send(&bytes));
    broker.until("all have come in", |hub| hub.totals().ingested == 1_000);
    let reader = std::thread::spawn(move || subscriber.rest());
    broker.server.stop(10_000_000_000);
    let received = reader.join().unwrap();
    assert_eq!(wire::payloads(&received).len(), 1_000);
    assert_eq!(received.last(), Some(&Owned::Goodbye));
    assert_eq!(publisher.rest().last(), Some(&Owned::Goodbye));
    assert_eq!(broker.server.ask(|_, _| ()), Err(Gone::Stopped));
}

#[test]
fn calls_before_the_start_are_refused() {
    let server = Server::bind(tcp(HubConfig::default())).unwrap();
    assert_eq!(server.ask(|_, _| ()), Err(Gone::NotStarted));
    assert_eq!(server.tell(|_, _| ()), Err(Gone::NotStarted));
    assert!(!server.is_over());
    server.start().unwrap();
    assert_eq!(server.ask(|_, _| 1), Ok(1));
}

#[test]
fn a_broker_that_was_never_started_stops_too() {
    let server = Server::bind(tcp(HubConfig::default())).unwrap();
    server.stop(0);
    assert!(server.is_over() && server.start().is_err());
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let broker = Broker::new(tcp(HubConfig { connections_max: 1, ..HubConfig::default() }));
    let _first = broker.client("first");
    let mut second =
        TcpStream::connect(broker.server.addresses()[0].strip_prefix("tcp://").unwrap()).unwrap();
    second.set_read_timeout(Some(WATCHDOG)).unwrap();
    let mut bytes = Vec::new();
    second.read_to_end(&mut bytes).unwrap();
    assert!(matches!(frames(&bytes)[..], [Owned::Error(3, _)]));
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let broker = Broker::new(tcp(HubConfig { handshake_ns: 20_000_000, ..HubConfig::default() }));
    let mut silent = broker.stranger();
    assert!(matches!(&silent.rest()[..], [Owned::Hello, Owned::Error(5, _)]));
}

#[test]
fn a_control_plane_that_does_not_listen_holds_up_control_frames_and_nothing_else() {
    let broker = Broker::new(tcp(HubConfig { control_capacity: 4, ..HubConfig::default() }));
    let (mut publisher, mut subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let mut talker = broker.client("talker");
    let (_, flow) = broker.flow(&publisher, "t", 64);
    broker.subscribe(&subscriber, "t");
    (0..200u8).for_each(|n| assert!(talker.send(&control(&[n]))));
    publisher.publish(flow, 0, b"unmoved");
    assert_eq!(subscriber.payload(), b"unmoved");
    for n in 0..200u8 {
        let body = broker.event(|event| match event {
            giusto_net::hub::Event::Control { body, .. } => Some(body.clone()),
            _ => None,
        });
        assert_eq!(body, [n]);
    }
}

#[test]
fn a_panic_of_the_thread_ends_every_wait_for_it() {
    let broker = Broker::tcp();
    assert_eq!(broker.server.ask(|_, _| panic!("on purpose")), Err::<(), _>(Gone::Stopped));
    assert_eq!(broker.server.ask(|_, _| ()), Err(Gone::Stopped));
    assert!(broker.server.is_over());
}

#[test]
fn a_wait_for_events_can_be_ended_before_it_begins() {
    let broker = Broker::tcp();
    broker.server.wake();
    assert_eq!(broker.server.events(None).unwrap(), []);
    assert_eq!(broker.server.events(Some(std::time::Duration::ZERO)).unwrap(), []);
}

#[test]
fn a_client_that_vanishes_while_much_is_sent_to_it_is_noticed() {
    let broker = Broker::tcp();
    let (mut publisher, subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let (_, flow) = broker.flow(&publisher, "t", 64);
    broker.subscribe(&subscriber, "t");
    (0..60).for_each(|n| publisher.publish(flow, n, &[0; 200_000]));
    let conn = subscriber.conn;
    drop(subscriber);
    broker.closed(conn);
    publisher.publish(flow, 60, b"on");
    broker.until("the publisher goes on", |hub| hub.totals().selected == 61);
}

#[test]
fn the_stream_of_a_client_is_read_in_any_pieces() {
    let broker = Broker::tcp();
    let mut subscriber = broker.client("subscriber");
    let mut publisher = broker.client("publisher");
    let (_, flow) = broker.flow(&publisher, "t", 64);
    broker.subscribe(&subscriber, "t");
    for byte in data(flow, 0, b"drop by drop") {
        assert!(publisher.send(&[byte]));
    }
    assert_eq!(subscriber.payload(), b"drop by drop");
}

#[test]
fn a_small_output_queue_loses_nothing_for_a_subscriber_that_reads() {
    let engine = Config { output_capacity: 4, ..Config::default() };
    let broker = Broker::new(tcp(HubConfig { engine, ..HubConfig::default() }));
    let (mut publisher, mut subscriber) = (broker.client("publisher"), broker.client("subscriber"));
    let (_, flow) = broker.flow(&publisher, "t", 1_024);
    broker.subscribe(&subscriber, "t");
    let bytes: Vec<u8> = (0..1_000).flat_map(|n| data(flow, n, &[0; 8])).collect();
    assert!(publisher.send(&bytes));
    (0..1_000).for_each(|_| assert_eq!(subscriber.payload().len(), 8));
}
