//! A network of brokers in virtual time: which message reaches whom, and when.
//!
//! ```text
//! publisher ─▶ police ─▶ match once ─▶ broker ─▶ split ─▶ output queue ─▶ link ─▶ broker ─▶ … ─▶ subscriber
//!  workload    policer    Matcher       PD       ranges     OutputQueue    delay
//! ```
//!
//! Policers, matching and queues are those of giusto-core. What is random is drawn from one stream per
//! component, events are ordered by (time, kind, order of entry), and time is a whole number of nanoseconds:
//! a scenario and its seed give the same records on every machine.
//!
//! At one instant brokers go down first, then links become free, then copies arrive, then
//! publishers send; a link chooses what it sends next when all of that has happened.

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
mod plan;
mod recorder;
mod routes;
mod run;
mod scenario;
mod source;
mod tally;
mod workload;
mod world;

pub use chance::Chance;
pub use delay::Delay;
pub use fault::{Fault, FaultKind};
pub use link::LinkCounts;
pub use run::{Error, Run};
pub use scenario::{Attribute, Broker, Link, Publisher, Records, Scenario, Subscriber};
pub use tally::{Counters, Earning, Total};
pub use workload::{Window, Workload};
