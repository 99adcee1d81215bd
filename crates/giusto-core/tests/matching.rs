//! The matcher finds what trying every filter finds, whatever was subscribed and unsubscribed before.

mod generate;

use std::collections::BTreeMap;

use generate::{event, filter_text};
use giusto_core::error::ChangeError;
use giusto_core::frame::attributes::Attributes;
use giusto_core::id::{SubscriptionId, TopicId};
use giusto_core::matching::{Filter, Matcher, Scan, topic};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const TOPICS: &[&str] = &["ward", "ward/3", "ward/3/alarm", "ward/4/alarm", "stock"];
const PATTERNS: &[&str] = &["#", "ward/#", "ward/+/alarm", "ward/3/alarm", "+", "stock"];

#[derive(Clone, Debug)]
enum Step {
    Subscribe { id: u32, pattern: &'static str, filter: Option<String> },
    Unsubscribe { id: u32 },
    AddTopic(usize),
    RemoveTopic(usize),
    Publish { topic: usize, block: Vec<u8> },
}

fn step() -> impl Strategy<Value = Step> {
    let filter = proptest::option::weighted(0.8, filter_text());
    prop_oneof![
        4 => (0u32..16, select(PATTERNS), filter)
            .prop_map(|(id, pattern, filter)| Step::Subscribe { id, pattern, filter }),
        2 => (0u32..16).prop_map(|id| Step::Unsubscribe { id }),
        2 => (0..TOPICS.len()).prop_map(Step::AddTopic),
        1 => (0..TOPICS.len()).prop_map(Step::RemoveTopic),
        6 => (0..TOPICS.len(), event()).prop_map(|(topic, block)| Step::Publish { topic, block }),
    ]
}

/// What the matcher should do, in the most obvious way.
#[derive(Default)]
struct Model {
    topics: BTreeMap<u32, &'static str>,
    subscriptions: BTreeMap<u32, (&'static str, Option<Filter>)>,
}

impl Model {
    fn matching(&self, name: &str, event: Attributes<'_>) -> Vec<SubscriptionId> {
        let wanted = |(_, (pattern, filter)): &(&u32, &(&'static str, Option<Filter>))| {
            topic::matches(pattern, name) && filter.as_ref().is_none_or(|filter| filter.matches(event))
        };
        self.subscriptions.iter().filter(wanted).map(|(&id, _)| SubscriptionId(id)).collect()
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut matcher, mut model, mut found) = (Matcher::new(), Model::default(), Vec::new());
    for step in steps {
        match step {
            Step::Subscribe { id, pattern, filter } => {
                let filter: Option<Filter> = filter.map(|text| text.parse().unwrap());
                let result = matcher.subscribe(SubscriptionId(id), pattern, filter.as_ref());
                let fresh = !model.subscriptions.contains_key(&id);
                prop_assert_eq!(result.is_ok(), fresh);
                model.subscriptions.entry(id).or_insert((pattern, filter));
            }
            Step::Unsubscribe { id } => {
                let known = model.subscriptions.remove(&id).is_some();
                prop_assert_eq!(matcher.unsubscribe(SubscriptionId(id)).is_ok(), known);
            }
            Step::AddTopic(i) => {
                let fresh = model.topics.insert(i as u32, TOPICS[i]).is_none();
                prop_assert_eq!(matcher.add_topic(TopicId(i as u32), TOPICS[i]).is_ok(), fresh);
            }
            Step::RemoveTopic(i) => {
                let known = model.topics.remove(&(i as u32)).is_some();
                prop_assert_eq!(matcher.remove_topic(TopicId(i as u32)).is_ok(), known);
            }
            Step::Publish { topic, block } => {
                let event = Attributes::decode(&block).unwrap();
                let id = TopicId(topic as u32);
                let result = matcher.matching(id, event, &mut found);
                let Some(name) = model.topics.get(&id.0) else {
                    prop_assert!(result.is_err());
                    continue;
                };
                let expected = model.matching(name, event);
                prop_assert_eq!(&found, &expected);
                for &subscription in model.subscriptions.keys() {
                    let subscription = SubscriptionId(subscription);
                    let would = matcher.would_match(subscription, id, event).unwrap();
                    prop_assert_eq!(would, expected.contains(&subscription));
                }
                if !matcher.is_filtered(id) {
                    prop_assert_eq!(matcher.unfiltered(id), Some(expected.as_slice()));
                }
            }
        }
    }
    prop_assert_eq!(matcher.len(), model.subscriptions.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn the_matcher_does_what_the_model_does(steps in vec(step(), 1..40)) {
        run(steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    #[test]
    fn the_index_finds_what_a_scan_finds(
        filters in vec(filter_text(), 1..80),
        removed in vec(any::<prop::sample::Index>(), 0..40),
        events in vec(event(), 1..20),
    ) {
        let (mut matcher, mut scan) = (Matcher::new(), Scan::new());
        matcher.add_topic(TopicId(0), "stock").unwrap();
        for (i, text) in filters.iter().enumerate() {
            let filter: Filter = text.parse().unwrap();
            matcher.subscribe(SubscriptionId(i as u32), "stock", Some(&filter)).unwrap();
            scan.subscribe(SubscriptionId(i as u32), &filter);
        }
        for index in removed {
            let id = SubscriptionId(index.index(filters.len()) as u32);
            let _ = matcher.unsubscribe(id);
            scan.unsubscribe(id);
        }
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for block in &events {
            let event = Attributes::decode(block).unwrap();
            matcher.matching(TopicId(0), event, &mut found).unwrap();
            scan.matching(event, &mut expected);
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn crowded_lists_and_trees_find_the_same_as_a_scan() {
    // More than a list or an interval may hold before other paths are preferred.
    let (mut matcher, mut scan) = (Matcher::new(), Scan::new());
    matcher.add_topic(TopicId(0), "stock").unwrap();
    for i in 0..1500i64 {
        let text = match i % 3 {
            0 => format!("kind = 1 and price > {} and price <= {}", i / 30, i / 30 + 2),
            1 => format!("kind = 1 and price < {}", i % 50),
            _ => format!("price >= {} and price < {} and kind != 3", i % 7, i % 50),
        };
        let filter: Filter = text.parse().unwrap();
        matcher.subscribe(SubscriptionId(i as u32), "stock", Some(&filter)).unwrap();
        scan.subscribe(SubscriptionId(i as u32), &filter);
    }
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for price in -1..52 {
        for kind in 0..4 {
            let values = [("price", price), ("kind", kind)];
            let values = values
                .map(|(name, value)| (name.to_owned(), giusto_core::frame::attributes::Value::Int(value)));
            let mut block = Vec::new();
            giusto_core::frame::attributes::encode(&values.into_iter().collect(), &mut block).unwrap();
            let event = Attributes::decode(&block).unwrap();
            matcher.matching(TopicId(0), event, &mut found).unwrap();
            scan.matching(event, &mut expected);
            assert_eq!(found, expected, "price {price}, kind {kind}");
        }
    }
    for id in 0..1500 {
        matcher.unsubscribe(SubscriptionId(id)).unwrap();
    }
    assert!(matcher.is_empty() && !matcher.is_filtered(TopicId(0)));
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut matcher = Matcher::new();
    matcher.add_topic(TopicId(1), "ward/3").unwrap();
    matcher.subscribe(SubscriptionId(1), "ward/+", None).unwrap();
    assert!(matches!(matcher.subscribe(SubscriptionId(2), "ward/+/", None), Err(ChangeError::Invalid(_))));
    assert!(matches!(matcher.subscribe(SubscriptionId(1), "#", None), Err(ChangeError::Duplicate { .. })));
    assert!(matches!(matcher.add_topic(TopicId(2), "ward/3"), Err(ChangeError::Duplicate { .. })));
    assert!(matches!(matcher.add_topic(TopicId(1), "ward/4"), Err(ChangeError::Duplicate { .. })));
    assert!(matches!(matcher.add_topic(TopicId(2), "ward/+"), Err(ChangeError::Invalid(_))));
    assert!(matches!(matcher.unsubscribe(SubscriptionId(9)), Err(ChangeError::Unknown { .. })));
    assert!(matches!(matcher.remove_topic(TopicId(9)), Err(ChangeError::Unknown { .. })));
    assert_eq!(matcher.unfiltered(TopicId(1)), Some([SubscriptionId(1)].as_slice()));
    assert_eq!(matcher.len(), 1);
}
