//! Topics are told of subscriptions a few at a time: whoever is not concerned by a change receives everything meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use giusto_core::effort::Effort;
use giusto_core::engine::{Config, Engine, Need};
use giusto_core::frame::attributes::Attributes;
use giusto_core::id::{SubscriptionId, TopicId};
use giusto_core::input::Share;
use giusto_core::matching::topic::matches;
use giusto_core::matching::{Errand, Filter, Matcher};
use proptest::collection::vec;
use proptest::prelude::*;

const NAMES: [&str; 6] = ["a/b", "a/c", "b/c", "a", "b/c/d", "c"];
const PATTERNS: [&str; 7] = ["#", "a/+", "a/#", "+/c", "a/b", "b/#", "+"];

#[derive(Clone, Debug)]
enum Act {
    /// A topic comes, or goes.
    Topic(usize),
    Subscribe(usize, bool),
    Unsubscribe(usize),
    /// So many units of the errand at this place.
    Run(usize, usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..NAMES.len()).prop_map(Act::Topic),
        (0..PATTERNS.len(), any::<bool>()).prop_map(|(pattern, filtered)| Act::Subscribe(pattern, filtered)),
        (0..20usize).prop_map(Act::Unsubscribe),
        (0..20usize, 1..4usize).prop_map(|(place, units)| Act::Run(place, units)),
    ]
}

/// A matcher, and what is known of it.
#[derive(Default)]
struct Model {
    matcher: Matcher,
    topics: BTreeSet<usize>,
    /// Pattern and whether it has a filter.
    subscriptions: BTreeMap<SubscriptionId, (usize, bool)>,
    errands: Vec<(SubscriptionId, Errand)>,
}

impl Model {
    fn act(&mut self, act: &Act) {
        match *act {
            Act::Topic(name) if self.topics.remove(&name) => {
                self.matcher.remove_topic(TopicId(name as u32)).unwrap();
            }
            Act::Topic(name) => {
                self.matcher.add_topic(TopicId(name as u32), NAMES[name]).unwrap();
                self.topics.insert(name);
            }
            Act::Subscribe(pattern, filtered) => {
                // The lowest number that nobody has and no errand names.
                let taken = |id: &SubscriptionId| {
                    self.subscriptions.contains_key(id) || self.errands.iter().any(|(other, _)| other == id)
                };
                let id = (0..).map(SubscriptionId).find(|id| !taken(id)).unwrap();
                let filter: Filter = "x = 1".parse().unwrap();
                let filter = filtered.then_some(&filter);
                let errand = self.matcher.begin_subscribe(id, PATTERNS[pattern], filter).unwrap();
                self.subscriptions.insert(id, (pattern, filtered));
                self.errands.push((id, errand));
            }
            Act::Unsubscribe(place) => {
                let Some(&id) = self.subscriptions.keys().nth(place) else { return };
                self.subscriptions.remove(&id);
                self.errands.push((id, self.matcher.begin_unsubscribe(id).unwrap()));
            }
            Act::Run(place, units) => {
                let Some((_, errand)) = self.errands.get_mut(place) else { return };
                if self.matcher.run(errand, &mut Effort::units(units)) {
                    self.errands.remove(place);
                }
            }
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let unsettled: BTreeSet<_> = self.errands.iter().map(|(id, _)| *id).collect();
        for &name in &self.topics {
            let topic = TopicId(name as u32);
            let mut found = Vec::new();
            self.matcher.matching(topic, Attributes::default(), &mut found).unwrap();
            let mut expected: BTreeSet<SubscriptionId> = BTreeSet::new();
            for (&id, &(pattern, filtered)) in &self.subscriptions {
                if !filtered && matches(PATTERNS[pattern], NAMES[name]) {
                    expected.insert(id);
                }
            }
            prop_assert!(found.is_sorted());
            let found: BTreeSet<_> = found.into_iter().filter(|id| !unsettled.contains(id)).collect();
            expected.retain(|id| !unsettled.contains(id));
            prop_assert_eq!(found, expected);
            if unsettled.is_empty() {
                let is_filtered = |&(pattern, filtered): &(usize, bool)| {
                    filtered && matches(PATTERNS[pattern], NAMES[name])
                };
                let expected = self.subscriptions.values().any(is_filtered);
                prop_assert_eq!(self.matcher.is_filtered(topic), expected);
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn who_is_not_concerned_receives_everything_and_in_the_end_all_do(acts in vec(act(), 1..120)) {
        let mut model = Model::default();
        for act in &acts {
            model.act(act);
            model.check()?;
        }
        while !model.errands.is_empty() {
            model.act(&Act::Run(model.errands.len() / 2, 3));
            model.check()?;
        }
    }
}

fn declare(engine: &mut Engine, topics: usize, last: &str) {
    for n in 0..topics {
        engine.declare(&format!("a/{n}/{last}"), Share::default()).unwrap();
    }
}

/// How many portions of 256 units it takes until all topics know.
fn portions(engine: &mut Engine) -> usize {
    let portion = || engine.is_spreading().then(|| engine.spread_some(&mut Effort::units(256)));
    std::iter::from_fn(portion).count()
}

#[test]
fn the_portions_of_a_wildcard_subscription_are_as_many_as_there_are_topics() {
    for topics in [1_000, 8_000] {
        let mut engine = Engine::new(Config::default()).unwrap();
        declare(&mut engine, topics, "a");
        let client = engine.connect("client").unwrap();
        for pattern in ["#", "a/+/a", "#"] {
            let id = engine.begin_subscribe(client, pattern, None, &Need::default()).unwrap();
            assert!(!engine.is_spread(id));
            let portions = portions(&mut engine);
            assert!((topics / 256..=topics / 64).contains(&portions), "{portions} for {topics}");
            assert!(engine.is_spread(id));
        }
        engine.mute(client).unwrap();
        while !engine.disconnect_some(client, &mut Effort::units(256)).unwrap() {}
        let portions = portions(&mut engine);
        assert!((2 * topics / 256..=topics / 32).contains(&portions), "{portions} for {topics}");
    }
}

#[test]
fn a_subscription_to_few_topics_is_known_to_all_of_them_at_once() {
    let mut engine = Engine::new(Config::default()).unwrap();
    declare(&mut engine, 8_000, "b");
    let client = engine.connect("client").unwrap();
    for pattern in ["a/7/b", "a/7/+", "a/7/#", "b/#", "none"] {
        engine.begin_subscribe(client, pattern, None, &Need::default()).unwrap();
        assert_eq!(portions(&mut engine), 1);
    }
}
