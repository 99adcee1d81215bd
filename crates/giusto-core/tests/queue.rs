//! The ends of ranges in the input queues.

use giusto_core::id::{ClientId, FlowId, TopicId};
use giusto_core::input::{Share, policy};
use giusto_core::queue::{Bounds, Lanes, Queues, Rejected};

fn queues(fragment_bytes: u32, capacity: u32) -> Queues {
    let mut queues = Queues::new(Lanes::PerFlow, fragment_bytes).unwrap();
    let bounds = Bounds { capacity, limit_bytes: u32::MAX };
    queues.open(FlowId(0), ClientId(0), TopicId(0), bounds).unwrap();
    queues
}

#[test]
fn a_message_of_more_quanta_than_can_be_counted_is_too_large() {
    let frame = vec![0; 1 << 29];
    let rejected = queues(1, 1).push(0, FlowId(0), 0, &frame);
    assert!(matches!(rejected, Err(Rejected::TooLarge { limit_bytes: 0x1fff_ffff, .. })), "{rejected:?}");
}

#[test]
fn what_waits_in_a_flow_counts_when_it_opens_again() {
    let mut queues = queues(64, 3);
    for _ in 0..3 {
        queues.push(0, FlowId(0), 0, b"frame").unwrap();
    }
    queues.close(FlowId(0)).unwrap();
    assert_eq!(queues.push(0, FlowId(0), 0, b"frame"), Err(Rejected::UnknownFlow(FlowId(0))));
    queues.reopen(FlowId(0), Bounds { capacity: 1, limit_bytes: 10 }).unwrap();
    assert!(queues.reopen(FlowId(0), Bounds { capacity: 1, limit_bytes: 10 }).is_err());
    assert_eq!((queues.room(FlowId(0)), queues.waiting(FlowId(0))), (0, 3));
    let full = Rejected::Full { flow: FlowId(0), capacity: 1 };
    assert_eq!(queues.push(0, FlowId(0), 0, b"frame"), Err(full));
    (0..3).for_each(|_| assert!(queues.serve(0, 0).unwrap().complete));
    assert_eq!(queues.room(FlowId(0)), 1);
}

#[test]
fn no_policy_takes_a_topic_whose_number_it_cannot_keep() {
    for name in ["fair", "edf"] {
        let stage = policy(name).unwrap();
        assert!(stage.check(TopicId((1 << 24) - 1), &Share::default()).is_ok());
        assert_eq!(stage.check(TopicId(1 << 24), &Share::default()).unwrap_err().field, "topic");
    }
}
