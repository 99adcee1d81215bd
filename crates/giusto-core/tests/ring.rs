//! Rows of a ring become the same batches as records that are pushed into columns, whatever numbers come to mean.

use std::collections::HashMap;

use giusto_core::id::{ClientId, SubscriptionId, TopicId};
use giusto_core::output::Terms;
use giusto_core::record::{
    Batch, Column, Columns, ID_MAX, ONE_OF_MAX, Outcome, Party, Portion, Record, Ring, Rows, Sampling, Seen,
    Unfolding, name_hash,
};
use proptest::prelude::*;
use proptest::{collection::vec, option};

fn seen(sequence: u64) -> Seen {
    Seen {
        topic: TopicId(0),
        publisher: ClientId(0),
        subscription: Some(SubscriptionId(0)),
        sequence,
        size_bytes: 128,
        priority: 7,
        t_intended_ns: 9,
        t_sent_ns: 10,
        t_ingress_ns: 20,
        t_selected_ns: None,
        t_egress_ns: None,
        min_sep_ns: 0,
        is_promised: false,
        is_received: false,
        outcome: Outcome::Delivered,
    }
}

fn terms(deadline_ns: i64, price: f64) -> Terms {
    Terms { deadline_ns, price, penalty: price / 2.0, ..Terms::NONE }
}

/// What a number of each kind stands for at the moment, as the other side has to see it.
#[derive(Default)]
struct Known {
    topics: HashMap<u32, String>,
    publishers: HashMap<u32, String>,
    parties: HashMap<u32, Party>,
}

#[derive(Clone, Debug)]
enum Step {
    Topic(u32, u8),
    Publisher(u32, u8),
    Party(u32, u8, Option<i64>, Option<i64>),
    Forget(u32),
    Push { seen: (u32, u32, Option<u32>), times: (Option<i64>, Option<i64>, i64), flags: (bool, bool) },
    Swap,
}

fn step() -> impl Strategy<Value = Step> {
    let flags = (any::<bool>(), any::<bool>());
    let push =
        ((0u32..4, 0u32..4, option::of(0u32..4)), (any::<Option<i64>>(), any::<Option<i64>>(), 0..4i64));
    prop_oneof![
        1 => (0u32..4, 0u8..3).prop_map(|(id, name)| Step::Topic(id, name)),
        1 => (0u32..4, 0u8..3).prop_map(|(id, name)| Step::Publisher(id, name)),
        1 => (0u32..4, 0u8..3, option::of(1i64..100), option::of(1i64..100))
            .prop_map(|(id, name, deadline, bound)| Step::Party(id, name, deadline, bound)),
        1 => (0u32..4).prop_map(Step::Forget),
        8 => (push, flags).prop_map(|((seen, times), flags)| Step::Push { seen, times, flags }),
        1 => Just(Step::Swap),
    ]
}

/// The same through columns: what a ring and its unfolding have to agree with.
fn record(known: &Known, columns: &mut Columns, seen: &Seen) -> Record {
    let party = seen.subscription.and_then(|id| known.parties.get(&id.0));
    columns.run.set(0, "run").unwrap();
    columns.node.set(0, "node").unwrap();
    let mut name = |column: u32, name: Option<&String>| {
        let names = if column == 0 { &mut columns.topic } else { &mut columns.publisher };
        names.clear(0);
        name.into_iter().for_each(|name| names.set(0, name).unwrap());
    };
    name(0, known.topics.get(&seen.topic.0));
    name(1, known.publishers.get(&seen.publisher.0));
    columns.subscriber.clear(0);
    party.into_iter().for_each(|party| columns.subscriber.set(0, &party.subscriber).unwrap());
    Record {
        run: 0,
        node: 0,
        hop: 3,
        topic: TopicId(0),
        publisher: ClientId(0),
        subscriber: party.map(|_| SubscriptionId(0)),
        subscription: party.and_then(|party| party.number),
        sequence: seen.sequence,
        size_bytes: seen.size_bytes,
        priority: seen.priority,
        t_intended_ns: Some(seen.t_intended_ns),
        t_sent_ns: seen.t_sent_ns,
        t_ingress_ns: seen.t_ingress_ns,
        t_selected_ns: seen.t_selected_ns,
        t_egress_ns: seen.t_egress_ns,
        t_received_ns: seen.is_received.then_some(seen.t_ingress_ns),
        clock_error_ns: 0,
        min_sep_ns: (seen.min_sep_ns > 0).then_some(seen.min_sep_ns),
        deadline_ns: party.and_then(|party| party.deadline_ns),
        bound_ns: party.filter(|_| seen.is_promised).and_then(|party| party.bound_ns),
        price: party.and_then(|party| party.worth).map(|worth| worth.0),
        penalty: party.and_then(|party| party.worth).map(|worth| worth.1),
        outcome: seen.outcome,
    }
}

/// The records of a portion, as columns.
fn unfolded(unfolding: &mut Unfolding, portion: &mut Portion) -> Batch {
    unfolding.learn(portion).batch(portion)
}

/// Each row of a batch, column by column, as text.
fn rows(batch: &Batch) -> Vec<Vec<String>> {
    let text = |column: &Column, row: usize| match column {
        Column::Name { keys, names } => format!("{:?}", keys.value(row).map(|key| &names[key as usize])),
        Column::Outcome(values) => values[row].to_string(),
        Column::Int8(values) => values[row].to_string(),
        Column::Int32(values) => values[row].to_string(),
        Column::Int64(values) => values[row].to_string(),
        Column::OptionalInt64(values) => format!("{:?}", values.value(row)),
        Column::OptionalFloat64(values) => format!("{:?}", values.value(row)),
    };
    let one =
        |row| batch.columns.iter().map(|(name, column)| format!("{name} {}", text(column, row))).collect();
    (0..batch.rows).map(one).collect()
}

proptest! {
    #[test]
    fn a_ring_says_what_columns_say(capacity in 1usize..40, steps in vec(step(), 0..200)) {
        let mut ring = Ring::new(capacity, 1).unwrap();
        let mut columns = Columns::new(capacity).unwrap();
        let mut unfolding = Unfolding::new("run", "node", 3);
        let (mut known, mut spare) = (Known::default(), Rows::default());
        for (number, step) in steps.into_iter().chain([Step::Swap]).enumerate() {
            match step {
                Step::Topic(id, name) => {
                    known.topics.insert(id, format!("t{name}"));
                    ring.name_topic(id, &format!("t{name}")).unwrap();
                }
                Step::Publisher(id, name) => {
                    known.publishers.insert(id, format!("p{name}"));
                    ring.name_publisher(id, &format!("p{name}")).unwrap();
                }
                Step::Party(id, name, deadline_ns, bound_ns) => {
                    let terms = deadline_ns.map(|deadline_ns| terms(deadline_ns, f64::from(name)));
                    let party = Party::new(&format!("s{name}"), id + 10, terms, bound_ns);
                    known.parties.insert(id, party.clone());
                    ring.describe(id, party).unwrap();
                }
                Step::Forget(id) => {
                    known.parties.remove(&id);
                    ring.forget_party(id);
                }
                Step::Push { seen: (topic, publisher, subscription), times, flags } => {
                    let seen = Seen {
                        topic: TopicId(topic),
                        publisher: ClientId(publisher),
                        subscription: subscription.map(SubscriptionId),
                        t_selected_ns: times.0,
                        t_egress_ns: times.1,
                        // Sent as intended, or not; with a separation, or without.
                        t_intended_ns: 9 + times.2 % 2,
                        min_sep_ns: times.2 / 2,
                        is_promised: flags.0,
                        is_received: flags.1,
                        ..seen(number as u64)
                    };
                    ring.push(&seen);
                    let record = record(&known, &mut columns, &seen);
                    columns.push(&record);
                    prop_assert_eq!(ring.len(), columns.len());
                }
                Step::Swap => {
                    let mut portion = ring.swap(std::mem::take(&mut spare));
                    let (found, expected) = (unfolded(&mut unfolding, &mut portion), columns.drain());
                    prop_assert_eq!(rows(&found), rows(&expected));
                    prop_assert_eq!((found.dropped, found.skipped), (expected.dropped, 0));
                    spare = portion.into_rows();
                }
            }
        }
    }

    #[test]
    fn sampling_keeps_the_same_messages_at_every_node_and_about_as_many_as_it_should(one_of in 2u32..20, salt in any::<u32>()) {
        let name = format!("client {salt}");
        let mut rings = [Ring::new(20_000, one_of).unwrap(), Ring::new(20_000, one_of).unwrap()];
        rings[0].name_publisher(0, &name).unwrap();
        // Another node knows the client by another number.
        rings[1].name_publisher(0, "other").unwrap();
        rings[1].name_publisher(7, &name).unwrap();
        for sequence in 0..20_000 {
            rings[0].push(&seen(sequence));
            rings[1].push(&Seen { publisher: ClientId(7), ..seen(sequence) });
        }
        let [first, second] = rings.map(|mut ring| {
            let batch = unfolded(&mut Unfolding::new("r", "n", 0), &mut ring.swap(Rows::default()));
            assert_eq!(batch.rows as u64 + batch.skipped, 20_000);
            let column = batch.columns.iter().find(|(column, _)| *column == "sequence").unwrap();
            let Column::Int64(sequences) = &column.1 else { panic!() };
            sequences.clone()
        });
        prop_assert_eq!(&first, &second);
        let expected = 20_000.0 / f64::from(one_of);
        prop_assert!((first.len() as f64 - expected).abs() < 8.0 * expected.sqrt(), "{} of {expected}", first.len());
    }
}

#[test]
fn rows_that_went_out_of_use_are_used_again_after_the_next_swap() {
    let mut ring = Ring::new(4, 1).unwrap();
    let mut unfolding = Unfolding::new("r", "n", 0);
    for n in 0..1_000 {
        ring.name_topic(0, &format!("topic {n}")).unwrap();
        ring.push(&seen(n));
        let batch = unfolded(&mut unfolding, &mut ring.swap(Rows::default()));
        let Column::Name { names, .. } = &batch.columns[3].1 else { panic!() };
        assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), [format!("topic {n}")]);
    }
}

/// Names that the next portion tells of.
fn told(ring: &mut Ring) -> usize {
    let text = format!("{:?}", &mut ring.swap(Rows::default()));
    text.matches("name ").count()
}

#[test]
fn names_that_no_record_names_take_no_room_while_nobody_drains() {
    let mut ring = Ring::new(2, 1).unwrap();
    for n in 0..1_000u32 {
        ring.name_topic(0, &format!("name {n}")).unwrap();
        ring.name_publisher(0, &format!("name {n}")).unwrap();
        ring.describe(n, Party::named(&format!("name {n}"))).unwrap();
        // The second half of them finds no room.
        ring.push(&Seen { subscription: Some(SubscriptionId(n)), ..seen(u64::from(n)) });
        ring.forget_party(n);
    }
    assert!(told(&mut ring) <= 9, "two of each kind are in records, and one more of each waits");
    ring.name_topic(0, "name of now").unwrap();
    assert_eq!(told(&mut ring), 1);
}

#[test]
fn messages_of_the_bus_itself_leave_no_record() {
    let mut ring = Ring::new(10, 1).unwrap();
    for (id, name) in ["$giusto/records/fetch", "_reply/nurse/1", "ward/3", "$other/x"].iter().enumerate() {
        ring.name_topic(id as u32, name).unwrap();
    }
    ring.name_publisher(0, "nurse").unwrap();
    ring.name_publisher(1, "$steward/records-0").unwrap();
    let mut kept = |topic, publisher| {
        let before = ring.len();
        ring.push(&Seen { topic: TopicId(topic), publisher: ClientId(publisher), ..seen(0) });
        ring.len() > before
    };
    assert!(!kept(0, 0) && !kept(0, 1), "requests to the bus");
    assert!(kept(1, 0) && !kept(1, 1), "replies, but not the steward's");
    assert!(kept(2, 0) && kept(2, 1) && kept(3, 0) && kept(9, 9));
    ring.name_topic(0, "ward/4").unwrap();
    ring.name_publisher(1, "doctor").unwrap();
    let batch = unfolded(&mut Unfolding::new("r", "n", 0), &mut ring.swap(Rows::default()));
    assert_eq!((batch.rows, batch.dropped, batch.skipped), (5, 0, 0));
    ring.push(&seen(1));
    ring.push(&Seen { topic: TopicId(1), publisher: ClientId(1), ..seen(2) });
    assert_eq!(ring.len(), 2, "numbers that stand for something else");
}

#[test]
fn a_full_ring_counts_what_it_refuses_and_goes_on_after_a_swap() {
    let mut ring = Ring::new(2, 1).unwrap();
    (0..5).for_each(|n| ring.push(&seen(n)));
    let mut portion = ring.swap(Rows::new(2).unwrap());
    let batch = unfolded(&mut Unfolding::new("r", "n", 0), &mut portion);
    assert_eq!((batch.rows, batch.dropped), (2, 3));
    ring.push(&seen(5));
    assert_eq!((ring.len(), ring.capacity(), ring.is_empty()), (1, 2, false));
    assert_eq!(unfolded(&mut Unfolding::new("r", "n", 0), &mut ring.swap(Rows::default())).dropped, 0);
}

#[test]
fn a_buffer_is_used_again_as_it_is() {
    let mut ring = Ring::new(100, 1).unwrap();
    let spare = Rows::new(123).unwrap();
    ring.push(&seen(0));
    let first = ring.swap(spare);
    ring.push(&seen(1));
    let used = ring.swap(Portion::into_rows(first)).into_rows();
    assert_eq!(used.capacity(), 123);
}

#[test]
fn impossible_sizes_are_refused_by_name() {
    assert_eq!(Ring::new(0, 1).unwrap_err().field, "capacity");
    assert_eq!(Ring::new(1, 0).unwrap_err().field, "sampling");
    assert_eq!(Sampling::new(ONE_OF_MAX + 1).unwrap_err().field, "sampling");
    let mut ring = Ring::new(1, 1).unwrap();
    assert_eq!(ring.name_topic(ID_MAX + 1, "far").unwrap_err().field, "id");
    assert_ne!(name_hash("a"), name_hash("b"));
}
