//! Whatever clients send and however it is cut: the same result, and every message accounted for.

mod wire;

use giusto_core::engine::{Config, Need};
use giusto_core::id::FlowId;
use giusto_core::input::Share;
use giusto_net::hub::{ConnId, Event, Hub, HubConfig};
use proptest::prelude::*;
use wire::*;

#[derive(Clone, Debug)]
enum Sent {
    Message(u8),
    Control(Vec<u8>),
    Probe(u64),
    Garbage(Vec<u8>),
}

fn sent_by_a_client() -> impl Strategy<Value = Vec<Sent>> {
    let one = prop_oneof![
        8 => any::<u8>().prop_map(Sent::Message),
        2 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Sent::Control),
        1 => any::<u64>().prop_map(Sent::Probe),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Sent::Garbage),
    ];
    prop::collection::vec(one, 0..60)
}

fn bytes_of(sent: &[Sent], flow: FlowId) -> Vec<u8> {
    let bytes = sent.iter().enumerate().map(|(n, sent)| match sent {
        Sent::Message(size) => data(flow, n as u64, &vec![*size; usize::from(*size)]),
        Sent::Control(body) => control(body),
        Sent::Probe(sequence) => probe(*sequence),
        Sent::Garbage(bytes) => bytes.clone(),
    });
    bytes.flatten().collect()
}

/// Everything that can be seen from outside, after `bytes` came in pieces of the given sizes.
fn outcome(
    sent_bytes: &dyn Fn(FlowId) -> Vec<u8>,
    pieces: &[usize],
) -> (Vec<Owned>, Vec<Owned>, Vec<Event>, String) {
    let mut hub = Hub::new(HubConfig::default()).unwrap();
    let (publisher, subscriber, _, flow) = pair(&mut hub, 64);
    let bytes = sent_bytes(flow);
    let mut waiting = Vec::new();
    let mut rest = &bytes[..];
    let mut sizes = pieces.iter().copied().chain(std::iter::repeat(usize::MAX));
    while !rest.is_empty() {
        let piece = sizes.next().unwrap_or(usize::MAX).clamp(1, rest.len());
        waiting.extend_from_slice(&rest[..piece]);
        rest = &rest[piece..];
        let consumed = hub.receive(5, publisher, &waiting).consumed;
        waiting.drain(..consumed);
    }
    run(&mut hub, 5);
    let events = hub.events().drain(..).collect();
    let counts = format!("{:?}", hub.totals());
    (sent(&mut hub, 5, publisher), sent(&mut hub, 5, subscriber), events, counts)
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_result(
        messages in sent_by_a_client(),
        pieces in prop::collection::vec(1usize..300, 0..100),
    ) {
        let bytes = |flow| bytes_of(&messages, flow);
        prop_assert_eq!(outcome(&bytes, &pieces), outcome(&bytes, &[]));
    }

    #[test]
    fn every_message_is_delivered_or_counted_and_credits_are_conserved(
        capacity in 1u32..40,
        output_capacity in 1usize..20,
        turns in prop::collection::vec((0u32..60, 0usize..40, any::<bool>()), 1..40),
    ) {
        let engine = Config { output_capacity, ..Config::default() };
        let mut hub = Hub::new(HubConfig { engine, ..HubConfig::default() }).unwrap();
        let (publisher, subscriber, _, flow) = pair(&mut hub, capacity);
        let (mut credit, mut total, mut got) = (i64::from(capacity), 0u64, 0u64);
        for (count, steps, read) in turns {
            for _ in 0..count {
                hub.receive(0, publisher, &data(flow, total, b"x"));
                total += 1;
                credit -= 1;
            }
            let _ = (0..steps).try_for_each(|_| hub.step(0).then_some(()));
            credit += i64::from(credits(&sent(&mut hub, 0, publisher)));
            prop_assert!(credit <= i64::from(capacity));
            if read {
                got += payloads(&sent(&mut hub, 0, subscriber)).len() as u64;
            }
        }
        run(&mut hub, 0);
        credit += i64::from(credits(&sent(&mut hub, 0, publisher)));
        got += payloads(&sent(&mut hub, 0, subscriber)).len() as u64;
        let counts = hub.totals();
        prop_assert_eq!(counts.ingested + counts.overflow, total);
        prop_assert_eq!((counts.delivered, counts.delivered + counts.dropped), (got, counts.ingested));
        prop_assert!(credit * 4 > i64::from(capacity) * 3 - 4);
        let lost: u64 = hub.losses(9).0.iter().map(|loss| loss.count).sum();
        prop_assert_eq!(lost, counts.overflow + counts.dropped);
    }

    #[test]
    fn clients_that_come_and_go_leave_nothing_behind(
        steps in prop::collection::vec((0usize..4, 0u8..6), 1..120),
    ) {
        let mut hub = Hub::new(HubConfig::default()).unwrap();
        let topic = hub.declare("t", Share::default()).unwrap();
        let mut there: [Option<(ConnId, FlowId)>; 4] = [None; 4];
        for (who, what) in steps {
            let Some((conn, flow)) = there[who] else {
                let conn = client(&mut hub, &format!("client {who}"));
                hub.subscribe(conn, "#", None, &Need::default()).unwrap();
                there[who] = Some((conn, hub.advertise(conn, topic, &offer(8)).unwrap()));
                continue;
            };
            match what {
                0 => {
                    hub.hang_up(conn, "gone");
                    there[who] = None;
                }
                1 => assert!(sent(&mut hub, 0, conn).len() < 1_000),
                2 => assert!(hub.step(0) || !hub.has_work()),
                _ => publish(&mut hub, conn, flow, 1, b"x"),
            }
        }
        run(&mut hub, 0);
        there.iter().flatten().for_each(|&(conn, _)| hub.hang_up(conn, "gone"));
        run(&mut hub, 0);
        while hub.pop_dirty().is_some() {}
        prop_assert!(hub.is_drained() && hub.connections().is_empty());
        let counts = hub.totals();
        prop_assert_eq!(counts.ingested, counts.selected);
        prop_assert!(hub.forget(topic).is_ok());
    }
}
