//! Which records a run keeps: columns of giusto-core, drained into batches, up to a limit.

use giusto_core::error::Invalid;
use giusto_core::id::{ClientId, Nanos, SubscriptionId, TopicId};
use giusto_core::output::NO_DEADLINE_NS;
use giusto_core::record::{Batch, Columns, Outcome, Record};

use super::directory::Seeker;
use super::flight::Message;
use super::scenario::{Records, Scenario};

/// Records of a batch, unless there are more names than that.
const BATCH: usize = 1 << 16;

/// Where a message was, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// A broker's number, or what [`link_node`] says of a link.
    pub(super) node: u32,
    pub(super) hop: u32,
    pub(super) ingress_ns: Nanos,
    pub(super) selected_ns: Option<Nanos>,
    pub(super) egress_ns: Option<Nanos>,
    pub(super) received_ns: Option<Nanos>,
}

impl Passage {
    /// Came to `broker` and no further.
    pub(super) fn only(broker: u32, hop: u32, ingress_ns: Nanos) -> Self {
        Self { node: broker, hop, ingress_ns, selected_ns: None, egress_ns: None, received_ns: None }
    }
}

/// The records of a run.
#[derive(Debug)]
pub(super) struct Recorder {
    columns: Option<Columns>,
    /// Whether copies on links are recorded.
    pub(super) hops: bool,
    left: usize,
    pub(super) dropped: u64,
    batches: Vec<Batch>,
}

impl Recorder {
    pub(super) fn new(scenario: &Scenario) -> Result<Self, Invalid> {
        let hops = scenario.records == Records::Hops;
        let left = scenario.record_capacity;
        let kept = scenario.records != Records::None && left > 0;
        let columns = kept.then(|| named_columns(scenario)).transpose()?;
        Ok(Self { columns, hops, left, dropped: 0, batches: Vec::new() })
    }

    /// Whether anything is recorded.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.columns.is_some()
    }

    /// What became of `message` for `seeker`, or of a copy of it on a link if there is none.
    pub(super) fn note(
        &mut self,
        scenario: &Scenario,
        message: &Message,
        seeker: Option<&Seeker>,
        passage: Passage,
        outcome: Outcome,
    ) {
        let Some(columns) = &mut self.columns else { return };
        if self.left == 0 {
            self.dropped += 1;
            return;
        }
        self.left -= 1;
        if columns.len() == columns.capacity() {
            self.batches.push(columns.drain());
        }
        columns.push(&record(scenario, message, seeker, passage, outcome));
    }

    pub(super) fn finish(mut self) -> Vec<Batch> {
        if let Some(columns) = &mut self.columns {
            if !columns.is_empty() || self.batches.is_empty() {
                self.batches.push(columns.drain());
            }
        }
        self.batches
    }
}

fn record(
    scenario: &Scenario,
    message: &Message,
    seeker: Option<&Seeker>,
    passage: Passage,
    outcome: Outcome,
) -> Record {
    let publisher = &scenario.publishers[message.publisher as usize];
    Record {
        run: 0,
        node: passage.node,
        hop: passage.hop.min(u16::MAX.into()) as u16,
        topic: TopicId(publisher.topic),
        publisher: ClientId(message.publisher),
        subscriber: seeker.map(|seeker| SubscriptionId(seeker.number)),
        subscription: seeker.map(|seeker| seeker.number),
        sequence: message.sequence,
        size_bytes: message.size_bytes,
        priority: message.priority,
        t_intended_ns: Some(message.intended_ns),
        t_sent_ns: message.published_ns,
        t_ingress_ns: passage.ingress_ns,
        t_selected_ns: passage.selected_ns,
        t_egress_ns: passage.egress_ns,
        t_received_ns: passage.received_ns,
        clock_error_ns: 0,
        min_sep_ns: publisher.limit.map(|limit| limit.period_ns / limit.count.max(1)),
        deadline_ns: seeker.map(|seeker| seeker.deadline_ns).filter(|&deadline| deadline < NO_DEADLINE_NS),
        bound_ns: None,
        price: seeker.map(|seeker| seeker.price),
        penalty: seeker.map(|seeker| seeker.penalty),
        outcome,
    }
}

/// What records of a link call its number: links come after the brokers, because a message may leave a broker on
/// several links at once, and the broker's name would not say which.
pub(super) fn link_node(scenario: &Scenario, link: u32) -> u32 {
    scenario.brokers.len() as u32 + link
}

fn named_columns(scenario: &Scenario) -> Result<Columns, Invalid> {
    let links = if scenario.records == Records::Hops { scenario.links.as_slice() } else { &[] };
    let nodes = scenario.brokers.len() + links.len();
    let names = scenario.subscribers.len().max(scenario.publishers.len()).max(nodes);
    let capacity = scenario.record_capacity.min(BATCH.max(names));
    let wrong = |fault: Invalid| Invalid { field: format!("record_{}", fault.field), ..fault };
    let mut columns = Columns::new(capacity).map_err(wrong)?;
    columns.run.set(0, &scenario.name)?;
    for (n, broker) in scenario.brokers.iter().enumerate() {
        columns.node.set(n as u32, &broker.name)?;
    }
    for (n, link) in links.iter().enumerate() {
        let name = |broker: u32| &scenario.brokers[broker as usize].name;
        let ends = format!("{}->{}", name(link.source), name(link.target));
        columns.node.set(link_node(scenario, n as u32), &ends)?;
    }
    for (n, topic) in scenario.topics.iter().enumerate() {
        columns.topic.set(n as u32, &topic.name)?;
    }
    for (n, publisher) in scenario.publishers.iter().enumerate() {
        columns.publisher.set(n as u32, &publisher.name)?;
    }
    for (n, subscriber) in scenario.subscribers.iter().enumerate() {
        columns.subscriber.set(n as u32, &subscriber.name)?;
    }
    Ok(columns)
}
