//! How much the broker's machine waits for: what it will refuse is refused with its header.

mod wire;

use giusto_core::frame::Kind;
use giusto_net::hub::{ConnId, Hold, Hub, HubConfig};
use wire::*;

/// The first bytes of a frame whose rest never comes.
fn start(length: u32, kind: Kind) -> Vec<u8> {
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend([kind as u8, 0, 0, 0]);
    bytes
}

fn is_refused(hub: &mut Hub, conn: ConnId, bytes: &[u8]) -> bool {
    hub.receive(0, conn, bytes);
    matches!(sent(hub, 0, conn).last(), Some(Owned::Error(1, _)))
}

#[test]
fn who_is_no_client_yet_cannot_send_long_frames() {
    for kind in [Kind::Control, Kind::Data] {
        let mut hub = Hub::new(HubConfig::default()).unwrap();
        let conn = hub.open(0, "tcp://stranger".into()).unwrap();
        assert!(is_refused(&mut hub, conn, &[hello(), start(65_545, kind)].concat()));
    }
}

#[test]
fn a_client_can_send_long_messages_but_no_long_control_frames() {
    let mut hub = Hub::new(HubConfig::default()).unwrap();
    let (first, second) = (client(&mut hub, "a"), client(&mut hub, "b"));
    assert!(is_refused(&mut hub, first, &start((1 << 16) + 9, Kind::Control)));
    assert!(!is_refused(&mut hub, second, &start(8 << 20, Kind::Data)));
}

#[test]
fn long_control_frames_wait_when_there_are_many() {
    let mut hub = Hub::new(HubConfig::default()).unwrap();
    let conn = client(&mut hub, "a");
    let other = client(&mut hub, "b");
    let frame = control(&vec![0; 1 << 16]);
    let mut hold_of = |conn| hub.receive(0, conn, &frame).hold;
    assert!((0..32).all(|_| hold_of(conn) == Hold::None && hold_of(other) == Hold::None));
    assert_eq!(hold_of(conn), Hold::Busy);
    assert_eq!(hub.events().len(), 64);
    assert_eq!(hub.receive(0, conn, &frame).hold, Hold::None);
}

#[test]
fn nobody_waits_behind_all_that_another_client_asks() {
    let mut hub = Hub::new(HubConfig::default()).unwrap();
    let (greedy, modest) = (client(&mut hub, "a"), client(&mut hub, "b"));
    let flood = control(b"again").repeat(1_000);
    let first = hub.receive(0, greedy, &flood);
    assert_eq!((first.hold, first.consumed), (Hold::Busy, 64 * control(b"again").len()));
    assert_eq!(hub.receive(0, modest, &control(b"once")).hold, Hold::None);
    assert_eq!(hub.events().len(), 65);
    assert_eq!(hub.receive(0, greedy, &flood[first.consumed..]).consumed, first.consumed);
}
