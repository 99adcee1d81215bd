//! The plain way: every compiled filter is tried for every event. What the index is compared with.

use std::sync::Arc;

use super::comparison::Test;
use super::event::{Check, Event, Names};
use super::filter::Filter;
use crate::frame::attributes::Attributes;
use crate::id::SubscriptionId;

/// Filters as flat lists of checks, tried one after the other.
#[derive(Debug, Default)]
pub struct Scan {
    names: Names,
    conjunctions: Vec<Conjunction>,
    checks: Vec<Check>,
    event: Event<'static>,
}

#[derive(Clone, Copy, Debug)]
struct Conjunction {
    subscription: SubscriptionId,
    start: u32,
    end: u32,
}

impl Scan {
    /// No filter yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a filter to the list.
    pub fn subscribe(&mut self, subscription: SubscriptionId, filter: &Filter) {
        for predicates in filter.conjunctions() {
            let start = self.checks.len() as u32;
            for predicate in predicates {
                let attribute = self.names.acquire(&predicate.name);
                self.checks.push(Check { attribute, test: copied(&predicate.test) });
            }
            self.conjunctions.push(Conjunction { subscription, start, end: self.checks.len() as u32 });
        }
    }

    /// Takes a filter out; its checks stay allocated.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        self.conjunctions.retain(|conjunction| conjunction.subscription != subscription);
    }

    /// The subscriptions whose filter the event satisfies, ascending, in place of what `found` held.
    pub fn matching(&mut self, attributes: Attributes<'_>, found: &mut Vec<SubscriptionId>) {
        let mut event: Event<'_> = std::mem::take(&mut self.event);
        event.load(&self.names, attributes);
        found.clear();
        for conjunction in &self.conjunctions {
            let checks = self.checks.get(conjunction.start as usize..conjunction.end as usize);
            if checks.is_some_and(|checks| event.satisfies_all(checks)) {
                found.push(conjunction.subscription);
            }
        }
        self.event = event.unload();
        found.sort_unstable();
        found.dedup();
    }
}

/// A copy with a text of its own: texts then lie in the order in which they are tried.
fn copied(test: &Test) -> Test {
    match test {
        Test::Text(relation, text) => Test::Text(*relation, Arc::from(&**text)),
        Test::Prefix(sense, part) => Test::Prefix(*sense, Arc::from(&**part)),
        Test::Suffix(sense, part) => Test::Suffix(*sense, Arc::from(&**part)),
        other => other.clone(),
    }
}
