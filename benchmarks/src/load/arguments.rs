//! What the command line of `load` may say, with a default for everything but the peer.

use std::net::SocketAddr;
use std::time::Duration;

use crate::dialect::{self, Dialect, PAYLOAD_BYTES, Shape};

/// How to use it.
const USAGE: &str = "usage: load MODE DIALECT ADDRESS [--option value]…
  MODE     throughput | latency | flood | stalled | many
  DIALECT  relay | nats | redis | mqtt | giusto
  options  --seconds 2         how long is measured (flood, stalled: before and again while disturbed)
           --rate 1000         messages per second that are measured (latency, flood, stalled)
           --size 128          bytes of a payload
           --queue 8192        messages that giusto is asked to hold for each flow
           --subscribers 1     connections that get each message (stalled: without the one that stops)
           --connections 1000  half of them publish, half subscribe (many)
           --topics 10000      (many)
           --nice 10           how much the flood gives way to the connections that are measured
           --pid               process of the broker, whose memory is read (many)";

/// What one run is to do.
pub struct Arguments {
    /// Which measurement.
    pub mode: String,
    /// The peer's name.
    pub name: String,
    /// How to speak to it.
    pub dialect: &'static dyn Dialect,
    /// Where it listens.
    pub address: SocketAddr,
    /// Length of a window in which something is measured.
    pub window: Duration,
    /// Messages per second that are measured.
    pub rate: u64,
    /// What the messages are like.
    pub shape: Shape,
    /// Connections that get each message.
    pub subscribers: usize,
    /// Connections of `many`.
    pub connections: usize,
    /// Topics of `many`.
    pub topics: usize,
    /// How much the flood gives way.
    pub nice: i32,
    /// Process of the broker.
    pub pid: Option<u32>,
}

impl Arguments {
    /// Reads a command line without the program's name; says what is wrong with it.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let mut word = |what| words.next().ok_or(format!("{what} is missing\n{USAGE}"));
        let (mode, name, address) = (word("MODE")?, word("DIALECT")?, word("ADDRESS")?);
        let dialect = dialect::named(&name).ok_or(format!("no dialect {name}\n{USAGE}"))?;
        let address = address.parse().map_err(|_| format!("{address}: expected 127.0.0.1:PORT"))?;
        let mut arguments = Self {
            mode,
            name,
            dialect,
            address,
            window: Duration::from_secs(2),
            rate: 1000,
            shape: Shape { payload_bytes: PAYLOAD_BYTES, queue: 8192 },
            subscribers: 1,
            connections: 1000,
            topics: 10_000,
            nice: 10,
            pid: None,
        };
        while let Some(option) = words.next() {
            let value = words.next().ok_or(format!("{option} needs a value"))?;
            arguments.set(&option, &value)?;
        }
        Ok(arguments)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let problem = || format!("{option} {value}: not a number of the right size");
        match option {
            "--seconds" => {
                let seconds = value.parse().map_err(|_| problem())?;
                self.window = Duration::try_from_secs_f64(seconds).map_err(|_| problem())?;
            }
            "--rate" => self.rate = number(value, 1).ok_or_else(problem)?,
            "--size" => self.shape.payload_bytes = number(value, 16).ok_or_else(problem)?,
            "--queue" => self.shape.queue = number(value, 1).ok_or_else(problem)?,
            "--subscribers" => self.subscribers = number(value, 1).ok_or_else(problem)?,
            "--connections" => self.connections = number(value, 2).ok_or_else(problem)?,
            "--topics" => self.topics = number(value, 1).ok_or_else(problem)?,
            "--nice" => self.nice = number(value, 0).ok_or_else(problem)?,
            "--pid" => self.pid = Some(number(value, 1).ok_or_else(problem)?),
            _ => return Err(format!("no option {option}\n{USAGE}")),
        }
        Ok(())
    }
}

fn number<N: std::str::FromStr + PartialOrd>(value: &str, least: N) -> Option<N> {
    value.parse().ok().filter(|number| *number >= least)
}
