//! Which scenarios can run: the first thing that is wrong, with its path.

use std::collections::HashSet;

use giusto_core::error::Invalid;
use giusto_core::frame::attributes::ATTRIBUTES_MAX;
use giusto_core::id::{Nanos, TopicId};
use giusto_core::matching::topic;
use giusto_core::output::{self, MONEY_MAX, Overflow, PRIORITY_MAX, SPAN_NS_MAX};
use giusto_core::policer::Rule;
use giusto_core::queue;
use giusto_core::record::ID_MAX;
use giusto_core::store::QUANTA_MAX;

use super::policy::Policy;
use super::scenario::{Attribute, Broker, Link, Processor, Publisher, Scenario, Subscriber, Topic};
use super::workload::check_windows;

/// Puts `path` in front of the field that an error names.
fn under(path: impl Fn() -> String) -> impl Fn(Invalid) -> Invalid {
    move |fault| Invalid { field: format!("{}.{}", path(), fault.field), ..fault }
}

fn span(field: &str, value: Nanos) -> Result<(), Invalid> {
    if (0..=SPAN_NS_MAX).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, value, format!("0 to {SPAN_NS_MAX}")))
}

fn money(field: &str, value: f64) -> Result<(), Invalid> {
    if (0.0..=MONEY_MAX).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, value, format!("0 to {MONEY_MAX:e}")))
}

fn place(field: &str, value: u32, count: usize, what: &str) -> Result<(), Invalid> {
    if (value as usize) < count {
        return Ok(());
    }
    Err(Invalid::new(field, value, format!("the number of a {what}: less than {count}")))
}

/// Refuses a name that occurs twice in a list.
fn unique<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    for (n, name) in names.enumerate() {
        if !seen.insert(name) {
            return Err(Invalid::new(format!("{list}[{n}].name"), name, "a name that no other has"));
        }
    }
    Ok(())
}

impl Scenario {
    /// Whether it can run. Routes are looked at when they are made.
    pub(super) fn check(&self, until_ns: Nanos) -> Result<(), Invalid> {
        if !(1..=SPAN_NS_MAX).contains(&until_ns) {
            return Err(Invalid::new("until_ns", until_ns, format!("1 to {SPAN_NS_MAX}")));
        }
        self.check_names()?;
        for (n, broker) in self.brokers.iter().enumerate() {
            self.check_broker(broker).map_err(under(|| format!("brokers[{n}]")))?;
        }
        unique("media", self.media.iter().map(|medium| medium.name.as_str()))?;
        for (n, medium) in self.media.iter().enumerate() {
            medium.check().map_err(under(|| format!("media[{n}]")))?;
        }
        for (n, link) in self.links.iter().enumerate() {
            self.check_link(link).map_err(under(|| format!("links[{n}]")))?;
        }
        for (n, publisher) in self.publishers.iter().enumerate() {
            self.check_publisher(publisher).map_err(under(|| format!("publishers[{n}]")))?;
        }
        for (n, subscriber) in self.subscribers.iter().enumerate() {
            self.check_subscriber(subscriber).map_err(under(|| format!("subscribers[{n}]")))?;
        }
        for (n, fault) in self.faults.iter().enumerate() {
            fault.check(self).map_err(under(|| format!("faults[{n}]")))?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Invalid> {
        let lists = [
            ("brokers", self.brokers.len()),
            ("topics", self.topics.len()),
            ("links", self.links.len()),
            ("publishers", self.publishers.len()),
            ("subscribers", self.subscribers.len()),
        ];
        if let Some((list, count)) = lists.iter().find(|(_, count)| *count > ID_MAX as usize) {
            return Err(Invalid::new(*list, count, format!("at most {ID_MAX}")));
        }
        for (n, topic) in self.topics.iter().enumerate() {
            topic::check_name(&topic.name)
                .map_err(|fault| Invalid { field: format!("topics[{n}].name"), ..fault })?;
        }
        let served = self.brokers.iter().any(|broker| broker.processor.is_some());
        let lasts = |topic: &Topic| (1..=SPAN_NS_MAX).contains(&topic.service_ns);
        if let Some((n, topic)) = self.topics.iter().enumerate().find(|(_, topic)| served && !lasts(topic)) {
            let expected = format!("1 to {SPAN_NS_MAX}, since a broker has a processor");
            return Err(Invalid::new(format!("topics[{n}].service_ns"), topic.service_ns, expected));
        }
        unique("topics", self.topics.iter().map(|topic| topic.name.as_str()))?;
        unique("brokers", self.brokers.iter().map(|broker| broker.name.as_str()))?;
        unique("publishers", self.publishers.iter().map(|publisher| publisher.name.as_str()))
    }

    fn check_broker(&self, broker: &Broker) -> Result<(), Invalid> {
        span("processing_ns", broker.processing_ns)?;
        let Some(processor) = &broker.processor else { return Ok(()) };
        // A stage of the caller says what it thinks of the shares when the run makes it.
        let stage = match &processor.input {
            Policy::Named(_) => processor.input.stage()?,
            Policy::Made(_) => return self.check_processor(processor),
        };
        for (n, topic) in self.topics.iter().enumerate() {
            stage.check(TopicId(n as u32), &topic.share).map_err(|fault| {
                let expected =
                    format!("{}, for {:?} at broker {:?}", fault.expected, topic.name, broker.name);
                Invalid { expected, ..fault }
            })?;
        }
        self.check_processor(processor)
    }

    fn check_processor(&self, processor: &Processor) -> Result<(), Invalid> {
        processor.check()?;
        let largest = self.publishers.iter().map(|publisher| publisher.size_bytes.1).max().unwrap_or(0);
        if largest.div_ceil(processor.fragment_bytes) > QUANTA_MAX {
            let expected = format!("more: a message of {largest} bytes may take {QUANTA_MAX} quanta at most");
            return Err(Invalid::new("fragment_bytes", processor.fragment_bytes, expected));
        }
        Ok(())
    }

    fn check_link(&self, link: &Link) -> Result<(), Invalid> {
        place("source", link.source, self.brokers.len(), "broker")?;
        place("target", link.target, self.brokers.len(), "broker")?;
        if link.source == link.target {
            return Err(Invalid::new("target", link.target, "another broker than the source"));
        }
        if let Some(medium) = link.medium {
            place("medium", medium, self.media.len(), "medium")?;
        }
        link.delay.check()?;
        if let Some(estimate) = &link.estimate {
            let wrong = |fault: Invalid| Invalid { field: format!("estimate.{}", fault.field), ..fault };
            estimate.check().map_err(wrong)?;
        }
        span("propagation_ns", link.propagation_ns)?;
        span("mean_transmission_ns", link.mean_transmission_ns.unwrap_or(0))?;
        if link.overflow == Overflow::Disconnect {
            let expected = "drop_oldest or drop_new: no subscriber could be disconnected from a link";
            return Err(Invalid::new("overflow", "disconnect", expected));
        }
        let parameters =
            output::Link { epsilon: link.epsilon, weight: link.weight, ..output::Link::default() };
        let named = match &link.policy {
            Policy::Named(name) => name,
            Policy::Made(_) => "fifo",
        };
        output::policy(named)?.queue(link.capacity, link.overflow, link.expiry, parameters)?;
        Ok(())
    }

    fn check_publisher(&self, publisher: &Publisher) -> Result<(), Invalid> {
        place("broker", publisher.broker, self.brokers.len(), "broker")?;
        place("topic", publisher.topic, self.topics.len(), "topic")?;
        publisher.workload.check()?;
        check_windows(&publisher.windows)?;
        span("timeout_ns", publisher.timeout_ns)?;
        span("delay_ns", publisher.delay_ns)?;
        let (low, high) = publisher.size_bytes;
        if low > high {
            return Err(Invalid::new("size_bytes", format!("({low}, {high})"), "the lesser size first"));
        }
        let (low, high) = publisher.priority;
        if low > high || high > PRIORITY_MAX {
            let expected = format!("0 to {PRIORITY_MAX}, the lesser first");
            return Err(Invalid::new("priority", format!("({low}, {high})"), expected));
        }
        if let Some(limit) = publisher.limit {
            Rule::new(limit).map_err(under(|| "limit".to_owned()))?;
        }
        check_attributes(&publisher.attributes)
    }

    fn check_subscriber(&self, subscriber: &Subscriber) -> Result<(), Invalid> {
        place("broker", subscriber.broker, self.brokers.len(), "broker")?;
        topic::check_pattern(&subscriber.pattern)?;
        if let Some(deadline_ns) = subscriber.deadline_ns {
            if !(1..=SPAN_NS_MAX).contains(&deadline_ns) {
                return Err(Invalid::new("deadline_ns", deadline_ns, format!("1 to {SPAN_NS_MAX}")));
            }
        }
        money("price", subscriber.price)?;
        money("penalty", subscriber.penalty)?;
        span("delay_ns", subscriber.delay_ns)
    }
}

impl Processor {
    fn check(&self) -> Result<(), Invalid> {
        if self.fragment_bytes == 0 {
            return Err(Invalid::new("fragment_bytes", 0, "at least 1"));
        }
        if !(1..=queue::CAPACITY_MAX).contains(&self.capacity) {
            let expected = format!("1 to {} messages", queue::CAPACITY_MAX);
            return Err(Invalid::new("capacity", self.capacity, expected));
        }
        span("search_ns", self.search_ns)?;
        let Some((period_ns, budget_ns)) = self.pace else { return Ok(()) };
        if !(1..=SPAN_NS_MAX).contains(&period_ns) {
            return Err(Invalid::new("period_ns", period_ns, format!("1 to {SPAN_NS_MAX}")));
        }
        if !(1..=period_ns).contains(&budget_ns) {
            return Err(Invalid::new("budget_ns", budget_ns, format!("1 to the period, {period_ns}")));
        }
        Ok(())
    }
}

fn check_attributes(attributes: &[Attribute]) -> Result<(), Invalid> {
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(Invalid::new("attributes", attributes.len(), format!("at most {ATTRIBUTES_MAX}")));
    }
    unique("attributes", attributes.iter().map(|attribute| attribute.name.as_str()))?;
    for (n, Attribute { name, low, high }) in attributes.iter().enumerate() {
        if !(1..=255).contains(&name.len()) {
            return Err(Invalid::new(format!("attributes[{n}].name"), name, "1 to 255 bytes"));
        }
        let valid = low.is_finite() && high.is_finite() && low <= high && (high - low).is_finite();
        if !valid {
            let expected = "finite numbers, the lesser first";
            return Err(Invalid::new(format!("attributes[{n}]"), format!("({low}, {high})"), expected));
        }
    }
    Ok(())
}
