//! One processor that serves the input stage in virtual time: which message completes when.
//!
//! The loop is that of a broker whose every quantum lasts what the topic's entry says: take in what
//! has arrived, ask the stage for a quantum, let the time pass, repeat; when nothing waits, jump to
//! the next arrival. What happens at one instant is ordered by [`Ties`], so that a worst case can
//! be tried from both sides.

use giusto_core::error::{ChangeError, Invalid};
use giusto_core::frame::LIMIT_BYTES;
use giusto_core::id::{ClientId, FlowId, Nanos, TopicId};
use giusto_core::input::{InputStage, Share, policy};
use giusto_core::queue::{Bounds, Queues, Rejected};
use giusto_core::store::MessageId;

/// A message on its way in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrives.
    pub at_ns: Nanos,
    /// Index of its flow.
    pub flow: u32,
    /// 0 (normal) to 7 (most urgent).
    pub priority: u8,
    /// Size, which decides how many quanta it takes; at most [`LIMIT_BYTES`].
    pub size_bytes: u32,
}

/// A new share for a topic.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// When it is asked for.
    pub at_ns: Nanos,
    /// Index of the topic.
    pub topic: u32,
    /// The new share.
    pub share: Share,
}

/// One client's stream on one topic.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The client that publishes.
    pub client: u32,
    /// Index of the topic.
    pub topic: u32,
    /// Waiting messages at most.
    pub capacity: u32,
}

/// What comes first at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// An arrival at the instant at which a quantum begins can still be chosen for it.
    ArrivalFirst,
    /// It has just missed that quantum.
    ServiceFirst,
}

/// What is to be served, and how.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name of the input policy.
    pub policy: String,
    /// A share for every topic.
    pub shares: Vec<Share>,
    /// How long a quantum of each topic lasts.
    pub service_ns: Vec<Nanos>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Bytes per quantum.
    pub fragment_bytes: u32,
    /// Order at one instant.
    pub ties: Ties,
}

/// A message that was served to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Index of its arrival.
    pub arrival: u32,
    /// When its last quantum began.
    pub selected_ns: Nanos,
    /// When its last quantum ended.
    pub completed_ns: Nanos,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// In the order of completion.
    pub completions: Vec<Completion>,
    /// Arrivals that found their queue full.
    pub overflow: Vec<u32>,
    /// Time during which something waited or was served.
    pub busy_ns: Nanos,
}

struct State<'a> {
    server: &'a Server,
    stage: Box<dyn InputStage>,
    queues: Queues,
    arrivals: &'a [Arrival],
    changes: &'a [Change],
    run: Run,
    taken: usize,
    changed: usize,
    /// Index of the arrival that each message in the store was.
    arrival_of: Vec<u32>,
    /// Bytes for a message of any size.
    frame: Vec<u8>,
}

impl Server {
    /// Serves `arrivals` until nothing is left. They and `changes` come in the order of time.
    pub fn run(&self, arrivals: &[Arrival], changes: &[Change]) -> Result<Run, ChangeError> {
        self.run_with(policy(&self.policy)?, arrivals, changes)
    }

    /// The same with a stage that the caller has made, whatever the policy is called.
    pub fn run_with(
        &self,
        stage: Box<dyn InputStage>,
        arrivals: &[Arrival],
        changes: &[Change],
    ) -> Result<Run, ChangeError> {
        self.check(arrivals, changes)?;
        let mut state = self.start(stage, arrivals, changes)?;
        let mut now = arrivals.first().map_or(0, |arrival| arrival.at_ns);
        while let Some(end_ns) = state.quantum(now)? {
            now = end_ns;
        }
        Ok(state.run)
    }

    fn check(&self, arrivals: &[Arrival], changes: &[Change]) -> Result<(), Invalid> {
        if self.service_ns.len() != self.shares.len() {
            return Err(Invalid::new("service_ns", self.service_ns.len(), "one entry per topic"));
        }
        if let Some((n, service)) = self.service_ns.iter().enumerate().find(|&(_, &service)| service < 1) {
            return Err(Invalid::new(format!("service_ns[{n}]"), service, "at least 1 ns"));
        }
        let ordered = arrivals.windows(2).position(|pair| pair[0].at_ns > pair[1].at_ns);
        if let Some(n) = ordered {
            let at_ns = arrivals[n + 1].at_ns;
            return Err(Invalid::new(
                format!("arrivals[{}].at_ns", n + 1),
                at_ns,
                "arrivals in the order of time",
            ));
        }
        for (n, arrival) in arrivals.iter().enumerate() {
            self.check_arrival(n, arrival)?;
        }
        if let Some(n) = changes.windows(2).position(|pair| pair[0].at_ns > pair[1].at_ns) {
            let field = format!("changes[{}].at_ns", n + 1);
            return Err(Invalid::new(field, changes[n + 1].at_ns, "changes in the order of time"));
        }
        match changes.iter().position(|change| change.topic as usize >= self.shares.len()) {
            Some(n) => {
                Err(Invalid::new(format!("changes[{n}].topic"), changes[n].topic, "an index of a topic"))
            }
            None => Ok(()),
        }
    }

    fn check_arrival(&self, n: usize, arrival: &Arrival) -> Result<(), Invalid> {
        if arrival.flow as usize >= self.flows.len() {
            return Err(Invalid::new(format!("arrivals[{n}].flow"), arrival.flow, "an index of a flow"));
        }
        if arrival.size_bytes > LIMIT_BYTES {
            let (field, expected) = (format!("arrivals[{n}].size_bytes"), format!("at most {LIMIT_BYTES}"));
            return Err(Invalid::new(field, arrival.size_bytes, expected));
        }
        if arrival.priority > 7 {
            return Err(Invalid::new(format!("arrivals[{n}].priority"), arrival.priority, "0 to 7"));
        }
        Ok(())
    }

    fn start<'a>(
        &'a self,
        mut stage: Box<dyn InputStage>,
        arrivals: &'a [Arrival],
        changes: &'a [Change],
    ) -> Result<State<'a>, ChangeError> {
        let mut queues = Queues::new(stage.lanes(), self.fragment_bytes)?;
        for (topic, share) in self.shares.iter().enumerate() {
            stage.check(TopicId(topic as u32), share)?;
            stage.allot(TopicId(topic as u32), share);
        }
        for (n, flow) in self.flows.iter().enumerate() {
            if flow.topic as usize >= self.shares.len() {
                return Err(
                    Invalid::new(format!("flows[{n}].topic"), flow.topic, "an index of a topic").into()
                );
            }
            let bounds = Bounds { capacity: flow.capacity, limit_bytes: u32::MAX };
            queues.open(FlowId(n as u32), ClientId(flow.client), TopicId(flow.topic), bounds)?;
            stage.join(&mut queues, TopicId(flow.topic), FlowId(n as u32));
        }
        let run = Run { completions: Vec::with_capacity(arrivals.len()), ..Run::default() };
        Ok(State {
            server: self,
            stage,
            queues,
            arrivals,
            changes,
            run,
            taken: 0,
            changed: 0,
            arrival_of: Vec::new(),
            frame: Vec::new(),
        })
    }
}

impl State<'_> {
    /// Takes in what has arrived, spends one quantum, and returns when it ends; `None` when the policy has
    /// nothing to serve and nothing more will come.
    fn quantum(&mut self, now: Nanos) -> Result<Option<Nanos>, ChangeError> {
        self.admit(now, self.server.ties == Ties::ServiceFirst && !self.queues.is_empty())?;
        let Some(served) = self.stage.next(now, &mut self.queues) else {
            return Ok(self.arrivals.get(self.taken).map(|arrival| arrival.at_ns.max(now)));
        };
        let topic = self.server.flows[served.flow.index()].topic as usize;
        let service_ns = self.server.service_ns[topic];
        let (end_ns, busy_ns) = (now.checked_add(service_ns), self.run.busy_ns.checked_add(service_ns));
        let (Some(end_ns), Some(busy_ns)) = (end_ns, busy_ns) else {
            let expected = "a run that ends before time does, at 2^63 ns";
            return Err(Invalid::new(format!("service_ns[{topic}]"), service_ns, expected).into());
        };
        self.run.busy_ns = busy_ns;
        if served.complete {
            let arrival = self.arrival_of[served.message.0 as usize];
            self.run.completions.push(Completion { arrival, selected_ns: now, completed_ns: end_ns });
            self.queues.store.release(served.message);
        }
        Ok(Some(end_ns))
    }

    /// Takes in what has arrived by `now`, or before it.
    fn admit(&mut self, now: Nanos, only_before: bool) -> Result<(), ChangeError> {
        let due = |at_ns: Nanos| at_ns < now || (at_ns == now && !only_before);
        loop {
            let arrival = self.arrivals.get(self.taken).filter(|arrival| due(arrival.at_ns));
            let change = self.changes.get(self.changed).filter(|change| due(change.at_ns));
            match (arrival, change) {
                (Some(arrival), Some(change)) if arrival.at_ns < change.at_ns => self.arrive(*arrival),
                (_, Some(change)) => self.allot(*change)?,
                (Some(arrival), None) => self.arrive(*arrival),
                (None, None) => return Ok(()),
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let index = self.taken as u32;
        self.taken += 1;
        let (flow, size) = (FlowId(arrival.flow), arrival.size_bytes as usize);
        self.frame.resize(self.frame.len().max(size), 0);
        match self.queues.push(arrival.at_ns, flow, arrival.priority, &self.frame[..size]) {
            Ok(pushed) => {
                self.remember(pushed.message, index);
                if pushed.first {
                    let topic = TopicId(self.server.flows[flow.index()].topic);
                    self.stage.arrived(&self.queues, topic, flow);
                }
            }
            Err(
                Rejected::Full { .. }
                | Rejected::StoreFull { .. }
                | Rejected::UnknownFlow(_)
                | Rejected::TooLarge { .. }
                | Rejected::Priority(_),
            ) => {
                self.run.overflow.push(index);
            }
        }
    }

    fn remember(&mut self, message: MessageId, arrival: u32) {
        let place = message.0 as usize;
        self.arrival_of.resize(self.arrival_of.len().max(place + 1), 0);
        self.arrival_of[place] = arrival;
    }

    fn allot(&mut self, change: Change) -> Result<(), ChangeError> {
        self.changed += 1;
        self.stage.check(TopicId(change.topic), &change.share)?;
        self.stage.allot(TopicId(change.topic), &change.share);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(policy: &str, shares: &[Share], backlog: usize) -> Vec<u32> {
        let flows = (0..shares.len() as u32).map(|topic| Flow { client: 0, topic, capacity: 100 });
        let server = Server {
            policy: policy.into(),
            shares: shares.to_vec(),
            service_ns: vec![1; shares.len()],
            flows: flows.collect(),
            fragment_bytes: 1024,
            ties: Ties::ArrivalFirst,
        };
        let topics = shares.len() as u32;
        let arrivals: Vec<Arrival> = (0..topics * backlog as u32)
            .map(|n| Arrival { at_ns: 0, flow: n % topics, priority: 0, size_bytes: 4 })
            .collect();
        let run = server.run(&arrivals, &[]).unwrap();
        run.completions.iter().map(|done| done.arrival % topics).collect()
    }

    fn weights(weights: &[u32]) -> Vec<Share> {
        weights.iter().map(|&weight| Share { weight, rate: weight, ..Share::default() }).collect()
    }

    #[test]
    fn twrr_serves_in_the_order_of_figure_3() {
        assert_eq!(order("twrr", &weights(&[4, 3, 2]), 20)[..9], [0, 0, 1, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn fair_serves_in_the_order_of_tempo_figure_5a() {
        assert_eq!(order("fair", &weights(&[2, 3]), 20)[..7], [1, 0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn fair_serves_in_the_order_of_tempo_figure_5b() {
        let mut shares = weights(&[2, 3]);
        shares[0].virtual_deadline = Some(giusto_core::input::TICKS / 12);
        assert_eq!(order("fair", &shares, 20)[..7], [0, 1, 0, 1, 1, 0, 1]);
    }
}
