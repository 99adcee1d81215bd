//! A publisher at work: when it sends next, and what the message is like.

use std::collections::BTreeMap;

use giusto_core::error::Invalid;
use giusto_core::frame::attributes::{Value, encode};
use giusto_core::id::Nanos;
use giusto_core::policer::Policer;

use super::chance::Chance;
use super::flight::Message;
use super::routes::NONE;
use super::scenario::{Attribute, Publisher, Scenario};
use super::workload::{Clockwork, Sending};

/// Where the value of an attribute stands in a block.
type Place = (usize, Attribute);

/// A publisher. What it draws for times, sizes, priorities and attributes comes from streams of their own.
#[derive(Debug)]
pub(super) struct Source {
    clockwork: Clockwork,
    /// The message that the agenda waits for.
    next: Option<Sending>,
    policer: Option<Policer>,
    /// Number of its tree.
    pub(super) tree: u32,
    sequence: u64,
    size: Chance,
    priority: Chance,
    value: Chance,
    /// The attribute block, with the place of each drawn value.
    block: Vec<u8>,
    places: Vec<Place>,
}

impl Source {
    pub(super) fn new(scenario: &Scenario, publisher: &Publisher, tree: u32) -> Result<Self, Invalid> {
        let chance = |what: &str| Chance::new(scenario.seed, &["publisher", &publisher.name, what]);
        let (block, places) = block(&publisher.attributes)?;
        let windows = publisher.windows.clone();
        Ok(Self {
            clockwork: Clockwork::new(publisher.workload.clone(), windows, chance("times")),
            next: None,
            policer: publisher.limit.map(Policer::new).transpose()?,
            tree,
            sequence: 0,
            size: chance("size"),
            priority: chance("priority"),
            value: chance("attributes"),
            block,
            places,
        })
    }

    /// Goes on to the next message; its instant, if it comes before `until_ns`.
    pub(super) fn advance(&mut self, until_ns: Nanos) -> Option<Nanos> {
        self.next = self.clockwork.next(until_ns);
        self.next.map(|sending| sending.sent_ns)
    }

    /// Whether the message that the agenda waits for is left out.
    pub(super) fn is_away(&self) -> bool {
        self.next.is_some_and(|sending| sending.is_left_out)
    }

    /// The message that is sent now, which is not matched yet; its attributes are in [`Self::block`].
    pub(super) fn draw(&mut self, number: u32, publisher: &Publisher, now: Nanos) -> Message {
        let sequence = self.sequence;
        self.sequence += 1;
        for (place, Attribute { low, high, .. }) in &self.places {
            let value = low + (high - low) * self.value.unit();
            self.block[*place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        let (small, large) = publisher.size_bytes;
        let (low, high) = publisher.priority;
        Message {
            publisher: number,
            matched: NONE,
            size_bytes: between(&mut self.size, small.into(), large.into()) as u32,
            priority: between(&mut self.priority, low.into(), high.into()) as u8,
            sequence,
            intended_ns: self.next.map_or(now, |sending| sending.intended_ns),
            published_ns: now,
            open: 0,
        }
    }

    /// The attribute block of the message drawn last.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Whether a message that arrives at `now` keeps the offer.
    pub(super) fn keeps_offer(&mut self, now: Nanos) -> bool {
        self.policer.as_mut().is_none_or(|policer| policer.conforms(now))
    }
}

/// Draws nothing if there is no choice.
fn between(chance: &mut Chance, low: i64, high: i64) -> i64 {
    if low == high { low } else { chance.between(low, high) }
}

/// The block of these attributes, and where each value is in it.
fn block(attributes: &[Attribute]) -> Result<(Vec<u8>, Vec<Place>), Invalid> {
    if attributes.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let values: BTreeMap<String, Value> =
        attributes.iter().map(|attribute| (attribute.name.clone(), Value::Double(0.0))).collect();
    let mut block = Vec::new();
    encode(&values, &mut block)?;
    let mut sorted = attributes.to_vec();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut at = 1;
    let place = |attribute: Attribute| {
        // Length, name and tag come before the value.
        let value = at + 1 + attribute.name.len() + 1;
        at = value + 8;
        (value, attribute)
    };
    Ok((block, sorted.into_iter().map(place).collect()))
}

#[cfg(test)]
mod tests {
    use giusto_core::frame::attributes::{Attributes, ValueRef};

    use super::*;

    #[test]
    fn drawn_values_stand_where_readers_look_for_them() {
        let attribute = |name: &str, low: f64| Attribute { name: name.into(), low, high: low + 1.0 };
        let attributes = vec![attribute("width", 10.0), attribute("a", 20.0), attribute("height", 30.0)];
        let (mut block, places) = block(&attributes).unwrap();
        for (place, attribute) in &places {
            block[*place..place + 8].copy_from_slice(&attribute.low.to_le_bytes());
        }
        let read = Attributes::decode(&block).unwrap();
        for Attribute { name, low, .. } in attributes {
            assert_eq!(read.find(&name), Some(ValueRef::Double(low)));
        }
    }
}
