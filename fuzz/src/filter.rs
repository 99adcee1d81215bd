//! Whether any text that parses as a filter prints as a filter with the same meaning.
//!
//! The input is a text, a zero byte and an attribute block to try the filter on.

use giusto_core::frame::attributes::Attributes;
use giusto_core::id::{SubscriptionId, TopicId};
use giusto_core::matching::{Filter, Matcher};

/// Panics if parsing, printing and the two ways of matching do not agree.
pub fn check(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let Ok(text) = std::str::from_utf8(&input[..end]) else { return };
    match text.parse::<Filter>() {
        Ok(filter) => check_filter(&filter, input.get(end + 1..).unwrap_or_default()),
        Err(refusal) => assert!(refusal.position <= text.chars().count()),
    }
}

fn check_filter(filter: &Filter, block: &[u8]) {
    let again: Filter = filter.canonical().parse().expect("what is printed can be read");
    assert_eq!(again.canonical(), filter.canonical());
    if let Ok(attributes) = Attributes::decode(block) {
        let expected = filter.matches(attributes);
        assert_eq!(again.matches(attributes), expected);
        assert_eq!(is_matched(filter, attributes), expected);
    }
}

/// The same question, through the index of a broker.
fn is_matched(filter: &Filter, attributes: Attributes<'_>) -> bool {
    let (topic, subscription) = (TopicId(0), SubscriptionId(0));
    let mut matcher = Matcher::new();
    let mut found = Vec::new();
    matcher.add_topic(topic, "t").expect("a new topic");
    matcher.subscribe(subscription, "t", Some(filter)).expect("a new subscription");
    matcher.matching(topic, attributes, &mut found).expect("a known topic");
    assert_eq!(matcher.would_match(subscription, topic, attributes).ok(), Some(!found.is_empty()));
    matcher.unsubscribe(subscription).expect("a known subscription");
    !found.is_empty()
}
