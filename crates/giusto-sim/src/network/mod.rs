//! A network of brokers in virtual time: which message reaches whom, and when.
//!
//! ```text
//! publisher ─▶ police ─▶ match once ─▶ broker ─▶ split ─▶ output queue ─▶ link ─▶ broker ─▶ … ─▶ subscriber
//!  workload    policer    Matcher     PD, input  ranges     OutputQueue    delay
//!                                       stage
//! ```
//!
//! Policers, matching and queues are those of giusto-core. What is random is drawn from one stream per
//! component, events are ordered by (time, kind, order of entry), and time is a whole number of nanoseconds:
//! a scenario and its seed give the same records on every machine.
//!
//! At one instant brokers go down first, then links become free, then copies arrive, then
//! publishers send, then quanta end; processors, links and shared media choose what is next, in this order,
//! when all of that has happened.

mod agenda;
mod chance;
mod check;
mod delay;
mod directory;
mod failing;
mod fault;
mod flight;
mod forwarding;
mod link;
mod medium;
mod plan;
mod policy;
mod processor;
mod recorder;
mod routes;
mod run;
mod scenario;
mod service;
mod sharing;
mod source;
mod tally;
mod workload;
mod world;

pub use chance::Chance;
pub use delay::Delay;
pub use fault::{Fault, FaultKind};
pub use link::LinkCounts;
pub use medium::{Medium, MediumCounts, MediumKind};
pub use policy::{InputPolicy, OutputPolicy, Policy};
pub use processor::BrokerCounts;
pub use run::{Error, Run};
pub use scenario::{Attribute, Broker, Link, Processor, Publisher, Records, Scenario, Subscriber, Topic};
pub use tally::{Counters, Earning, Total};
pub use workload::{Window, Workload};
