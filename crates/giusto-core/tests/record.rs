//! Records: a batch says what was pushed, in order, under the names of that moment.

use std::collections::HashMap;

use giusto_core::id::{ClientId, SubscriptionId, TopicId};
use giusto_core::record::{Batch, CAPACITY_MAX, Column, Columns, ID_MAX, Names, Optional, Outcome, Record};
use proptest::collection::vec;
use proptest::prelude::*;

const ORDER: &str = "run node hop topic publisher subscriber sequence size_bytes priority t_intended_ns t_sent_ns \
    t_ingress_ns t_selected_ns t_egress_ns t_received_ns clock_error_ns min_sep_ns deadline_ns bound_ns price \
    penalty outcome subscription";

fn record(sequence: u64) -> Record {
    Record {
        run: 0,
        node: 0,
        hop: 1,
        topic: TopicId(0),
        publisher: ClientId(0),
        subscriber: Some(SubscriptionId(0)),
        subscription: Some(0),
        sequence,
        size_bytes: 128,
        priority: 7,
        t_intended_ns: None,
        t_sent_ns: 10,
        t_ingress_ns: 20,
        t_selected_ns: None,
        t_egress_ns: None,
        t_received_ns: None,
        clock_error_ns: 0,
        min_sep_ns: None,
        deadline_ns: None,
        bound_ns: None,
        price: None,
        penalty: None,
        outcome: Outcome::Lost,
    }
}

fn column<'a>(batch: &'a Batch, name: &str) -> &'a Column {
    batch.columns.iter().find_map(|(column, values)| (*column == name).then_some(values)).unwrap()
}

fn names(batch: &Batch, column_name: &str) -> Vec<Option<String>> {
    let Column::Name { keys, names } = column(batch, column_name) else { panic!("{column_name}") };
    (0..batch.rows).map(|row| keys.value(row).map(|key| names[key as usize].to_string())).collect()
}

fn optional(batch: &Batch, name: &str) -> Vec<Option<i64>> {
    let Column::OptionalInt64(values) = column(batch, name) else { panic!("{name}") };
    (0..batch.rows).map(|row| values.value(row)).collect()
}

fn sequences(batch: &Batch) -> Vec<i64> {
    let Column::Int64(values) = column(batch, "sequence") else { panic!("sequence") };
    values.clone()
}

#[derive(Clone, Debug)]
enum Step {
    Name(u32, u8),
    Clear(u32),
    Push(Option<u32>, Option<i64>),
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0u32..6, 0u8..4).prop_map(|(id, name)| Step::Name(id, name)),
        1 => (0u32..6).prop_map(Step::Clear),
        8 => (proptest::option::of(0u32..7), any::<Option<i64>>()).prop_map(|(id, t)| Step::Push(id, t)),
        1 => Just(Step::Drain),
    ]
}

proptest! {
    #[test]
    fn a_batch_says_what_was_pushed_under_the_names_of_that_moment(
        capacity in 1usize..40, steps in vec(step(), 0..200)
    ) {
        let mut columns = Columns::new(capacity).unwrap();
        let mut called: HashMap<u32, String> = HashMap::new();
        let (mut expected, mut pushed, mut dropped) = (Vec::new(), 0, 0);
        for step in steps.into_iter().chain([Step::Drain]) {
            match step {
                Step::Name(id, name) => {
                    called.insert(id, name.to_string());
                    columns.subscriber.set(id, &name.to_string()).unwrap();
                }
                Step::Clear(id) => {
                    called.remove(&id);
                    columns.subscriber.clear(id);
                }
                Step::Push(id, t_egress_ns) => {
                    let subscriber = id.map(SubscriptionId);
                    let kept = columns.push(&Record { subscriber, subscription: id, t_egress_ns, ..record(pushed) });
                    prop_assert_eq!(kept, expected.len() < capacity);
                    if kept {
                        let name = id.and_then(|id| called.get(&id).cloned());
                        expected.push((pushed as i64, name, id.map(i64::from), t_egress_ns));
                    } else {
                        dropped += 1;
                    }
                    pushed += 1;
                }
                Step::Drain => {
                    let batch = columns.drain();
                    let rows = sequences(&batch).into_iter().zip(names(&batch, "subscriber"));
                    let numbers = optional(&batch, "subscription").into_iter();
                    let seen: Vec<_> = rows
                        .zip(numbers.zip(optional(&batch, "t_egress_ns")))
                        .map(|((n, name), (id, t))| (n, name, id, t))
                        .collect();
                    prop_assert_eq!(&seen, &expected);
                    prop_assert_eq!((batch.rows, batch.dropped), (expected.len(), dropped));
                    (expected, dropped) = (Vec::new(), 0);
                }
            }
        }
        prop_assert_eq!(columns.len(), 0);
    }
}

#[test]
fn the_columns_have_the_order_of_the_schema_and_one_length() {
    let mut columns = Columns::new(10).unwrap();
    assert!(columns.push(&record(1)));
    let batch = columns.drain();
    let order: Vec<&str> = batch.columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(order, ORDER.split_whitespace().collect::<Vec<_>>());
    for (name, column) in &batch.columns {
        assert_eq!(rows(column), 1, "{name}");
    }
}

fn rows(column: &Column) -> usize {
    fn values<T: Copy + Default>(values: &Optional<T>) -> usize {
        values.clone().into_parts().0.len()
    }
    match column {
        Column::Name { keys, .. } => values(keys),
        Column::Outcome(values) => values.len(),
        Column::Int8(values) => values.len(),
        Column::Int32(values) => values.len(),
        Column::Int64(values) => values.len(),
        Column::OptionalInt64(optional) => values(optional),
        Column::OptionalFloat64(optional) => values(optional),
    }
}

#[test]
fn a_full_store_counts_what_it_refuses() {
    let mut columns = Columns::new(2).unwrap();
    assert_eq!([1, 2, 3, 4].map(|n| columns.push(&record(n))), [true, true, false, false]);
    let batch = columns.drain();
    assert_eq!((sequences(&batch), batch.dropped), (vec![1, 2], 2));
    assert!(columns.push(&record(5)));
    assert_eq!((columns.drain().dropped, columns.dropped()), (0, 2));
}

#[test]
fn names_that_went_out_of_use_leave_with_the_next_drain() {
    let mut columns = Columns::new(2).unwrap();
    for client in 0..1000 {
        columns.publisher.set(0, &format!("client {client}")).unwrap();
    }
    let dictionary = |batch: &Batch| {
        let Column::Name { names, .. } = column(batch, "publisher") else { panic!() };
        names.len()
    };
    assert_eq!(dictionary(&columns.drain()), 1000);
    assert_eq!(dictionary(&columns.drain()), 1);
    assert_eq!(columns.publisher.name(0), Some("client 999"));
}

#[test]
fn numbers_with_one_name_share_a_row() {
    let mut columns = Columns::new(2).unwrap();
    for id in 0..5 {
        columns.subscriber.set(id, "nurse").unwrap();
    }
    let Column::Name { names, .. } = column(&columns.drain(), "subscriber").clone() else { panic!() };
    assert_eq!(names.len(), 1);
}

#[test]
fn impossible_sizes_are_refused_by_name() {
    assert_eq!(Columns::new(0).unwrap_err().field, "capacity");
    assert_eq!(Columns::new(CAPACITY_MAX + 1).unwrap_err().field, "capacity");
    let mut names = Names::default();
    assert_eq!(names.set(ID_MAX + 1, "far").unwrap_err().field, "id");
    assert_eq!(names.name(u32::MAX), None);
}

#[test]
fn an_outcome_stands_at_the_place_of_its_number() {
    for (number, outcome) in Outcome::ALL.into_iter().enumerate() {
        assert_eq!(outcome as usize, number);
    }
}
