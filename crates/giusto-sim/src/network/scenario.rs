//! What is simulated: brokers, links, publishers and subscribers, as a description that nothing has run yet.

use giusto_core::id::Nanos;
use giusto_core::input::Share;
use giusto_core::matching::Filter;
use giusto_core::output::{Expiry, Overflow};
use giusto_core::policer::Limit;

use super::delay::Delay;
use super::fault::Fault;
use super::medium::Medium;
use super::policy::{InputPolicy, OutputPolicy};
use super::workload::{Window, Workload};

/// A network and everything that happens in it. Things refer to each other by their places in the lists.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// What the records call the run.
    pub name: String,
    /// Where every random stream begins.
    pub seed: u64,
    /// What forwards.
    pub brokers: Vec<Broker>,
    /// What messages are about.
    pub topics: Vec<Topic>,
    /// What connects brokers, each in one direction.
    pub links: Vec<Link>,
    /// Wires that links share.
    pub media: Vec<Medium>,
    /// Who sends.
    pub publishers: Vec<Publisher>,
    /// Who receives.
    pub subscribers: Vec<Subscriber>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What is written down.
    pub records: Records,
    /// The most records that are kept; more are counted and dropped.
    pub record_capacity: usize,
}

/// What a run writes down, beside the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// Nothing.
    None,
    /// One record per message and subscription, and one per policed message.
    #[default]
    Deliveries,
    /// These, and one without a subscriber for every copy that crosses a link.
    Hops,
}

impl Records {
    /// Every choice, by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("none", Self::None), ("deliveries", Self::Deliveries), ("hops", Self::Hops)];
}

/// A topic, and what a processor allots to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Unique.
    pub name: String,
    /// Its share of a processor.
    pub share: Share,
    /// How long a quantum of it lasts.
    pub service_ns: Nanos,
}

/// What forwards messages: each takes `processing_ns`, all in parallel (PD of S1), and then its turn on the
/// processor if there is one.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Unique.
    pub name: String,
    /// PD.
    pub processing_ns: Nanos,
    /// What serves one quantum at a time.
    pub processor: Option<Processor>,
}

/// A processor that an input stage shares among topics and clients. Its clients are the broker's publishers and the
/// links that lead to it.
#[derive(Clone, Debug)]
pub struct Processor {
    /// The input policy.
    pub input: InputPolicy,
    /// A message takes one quantum per started fragment.
    pub fragment_bytes: u32,
    /// How long it takes to find the message that a quantum is for; idle flows are not looked at.
    pub search_ns: Nanos,
    /// The most messages that wait in one flow.
    pub capacity: u32,
    /// Time-driven: period and budget of a polling server that begins at 0.
    pub pace: Option<(Nanos, Nanos)>,
}

/// What carries messages from one broker to another, one at a time.
#[derive(Clone, Debug)]
pub struct Link {
    /// The broker that sends.
    pub source: u32,
    /// The broker that receives.
    pub target: u32,
    /// How long a message occupies the link.
    pub delay: Delay,
    /// What schedulers and routes are told instead, if that is not the truth.
    pub estimate: Option<Delay>,
    /// From the end of a transmission to the arrival.
    pub propagation_ns: Nanos,
    /// The wire that it shares with other links.
    pub medium: Option<u32>,
    /// The output policy.
    pub policy: OutputPolicy,
    /// When a waiting message is dropped; the policy's own mode if not given.
    pub expiry: Option<Expiry>,
    /// ε of rule (14).
    pub epsilon: f64,
    /// The weight of the expected earning in (13).
    pub weight: f64,
    /// LMT; if not given, for the mean size of the publishers whose messages may cross the link.
    pub mean_transmission_ns: Option<Nanos>,
    /// The most messages that wait.
    pub capacity: usize,
    /// What happens to one more.
    pub overflow: Overflow,
}

impl Link {
    /// The delay that schedulers and routes reckon with.
    pub(super) fn believed(&self) -> &Delay {
        self.estimate.as_ref().unwrap_or(&self.delay)
    }
}

/// Who sends messages on one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Publisher {
    /// Unique.
    pub name: String,
    /// The broker that it is connected to.
    pub broker: u32,
    /// The topic.
    pub topic: u32,
    /// When it sends.
    pub workload: Workload,
    /// When it is there; always, if there are none.
    pub windows: Vec<Window>,
    /// Least and greatest size, drawn uniformly.
    pub size_bytes: (u32, u32),
    /// Least and greatest priority, drawn uniformly.
    pub priority: (u8, u8),
    /// After this age a message is worth nothing; 0 = never.
    pub timeout_ns: Nanos,
    /// From the publisher to its broker.
    pub delay_ns: Nanos,
    /// What each message says about itself.
    pub attributes: Vec<Attribute>,
    /// What it has offered; more is policed.
    pub limit: Option<Limit>,
}

/// A named number, drawn uniformly for each message.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// What filters call it.
    pub name: String,
    /// The least value.
    pub low: f64,
    /// Above every value, or equal to `low`.
    pub high: f64,
}

/// One subscription.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// What the records call it.
    pub name: String,
    /// The broker that it is connected to.
    pub broker: u32,
    /// The topics.
    pub pattern: String,
    /// The condition on attributes.
    pub filter: Option<Filter>,
    /// The age after which a delivery is worth nothing.
    pub deadline_ns: Option<Nanos>,
    /// What a delivery in time earns.
    pub price: f64,
    /// What a late or lost one costs.
    pub penalty: f64,
    /// From the broker to the subscriber: SBD.
    pub delay_ns: Nanos,
}
