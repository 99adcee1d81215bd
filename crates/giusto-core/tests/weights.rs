//! A7: a new weight is used "at once when nothing waits".

use giusto_core::id::{ClientId, FlowId, TopicId};
use giusto_core::input::{InputStage, Share, policy};
use giusto_core::queue::{Bounds, Queues};

fn weight(weight: u32) -> Share {
    Share { weight, ..Share::default() }
}

fn push(stage: &mut dyn InputStage, queues: &mut Queues, topic: u32) {
    if queues.push(0, FlowId(topic), 0, b"frame").unwrap().first {
        stage.arrived(queues, TopicId(topic), FlowId(topic));
    }
}

#[test]
fn a_weight_that_changes_while_nothing_waits_counts_from_the_next_message_on() {
    for (name, cycle) in [("twrr", [0, 0, 0, 1]), ("smooth", [0, 0, 1, 0])] {
        let mut stage = policy(name).unwrap();
        let mut queues = Queues::new(stage.lanes(), 64).unwrap();
        for topic in 0..2 {
            stage.allot(TopicId(topic), &weight(1));
            let bounds = Bounds { capacity: 9, limit_bytes: 99 };
            queues.open(FlowId(topic), ClientId(topic), TopicId(topic), bounds).unwrap();
            stage.join(&mut queues, TopicId(topic), FlowId(topic));
        }
        push(&mut *stage, &mut queues, 0);
        let served = stage.next(0, &mut queues).unwrap();
        queues.store.release(served.message);
        assert!(stage.next(0, &mut queues).is_none());
        stage.allot(TopicId(0), &weight(3));
        for _ in 0..6 {
            push(&mut *stage, &mut queues, 0);
            push(&mut *stage, &mut queues, 1);
        }
        let order: Vec<u32> = (0..4).map(|_| stage.next(0, &mut queues).unwrap().flow.0).collect();
        assert_eq!(order, cycle, "{name}");
    }
}
