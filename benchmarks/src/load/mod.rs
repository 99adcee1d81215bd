//! One load for all peers: what is sent when, what is counted, and what a run reports.

mod arguments;
mod clock;
mod flood;
mod latency;
mod many;
mod outcome;
mod publisher;
mod stalled;
mod subscriber;
mod throughput;
mod timeline;
mod witness;

pub use arguments::Arguments;
pub use outcome::Outcome;

use std::io;

/// Runs the mode that the arguments name, beside a witness of the machine's own stalls.
pub fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let witness = witness::Witness::start();
    let mut outcome = match arguments.mode.as_str() {
        "throughput" => throughput::run(arguments),
        "latency" => latency::run(arguments),
        "flood" => flood::run(arguments),
        "stalled" => stalled::run(arguments),
        "many" => many::run(arguments),
        other => Err(io::Error::other(format!(
            "no mode {other}; there are throughput, latency, flood, stalled, many"
        ))),
    }?;
    witness.stop().report(&mut outcome);
    Ok(outcome)
}
