//! A broker's processor at work: which message gets the next quantum, and when that begins.
//!
//! Time-driven it is a polling server: at the start of each period it serves until its budget is spent or nothing
//! waits, finishes the quantum that it has begun, and what comes later waits for the next period. If that quantum
//! ends in the next period, what is left of that one's budget is served at once.

use std::collections::HashMap;

use giusto_core::error::{ChangeError, Invalid};
use giusto_core::id::{ClientId, FlowId, Nanos, TopicId};
use giusto_core::input::InputStage;
use giusto_core::queue::{Bounds, Queues};

use super::scenario::{Processor, Scenario, Topic};

/// What a processor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A quantum that ends then.
    Quantum { end_ns: Nanos },
    /// Nothing before then, though something waits.
    Wait { until_ns: Nanos },
    /// Nothing until something arrives.
    Idle,
}

/// What a broker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerCounts {
    /// Copies that passed it.
    pub forwarded: u64,
    /// Quanta of its processor.
    pub quanta: u64,
    /// Time spent on them.
    pub busy_ns: Nanos,
    /// The most copies that ever waited for the processor.
    pub waiting_max: usize,
    /// Copies that found no room there.
    pub overflow: u64,
    /// Copies lost with the broker.
    pub lost: u64,
}

/// The quantum under way.
#[derive(Clone, Copy, Debug)]
struct Quantum {
    end_ns: Nanos,
    /// The copy, if this was its last quantum.
    done: Option<u32>,
}

/// A processor, its input stage and what waits for it.
#[derive(Debug)]
pub(super) struct ProcessorState {
    described: Processor,
    stage: Box<dyn InputStage>,
    queues: Queues,
    /// The flow of each client and topic.
    flows: HashMap<(u32, u32), FlowId>,
    topics: Vec<u32>,
    /// The copy that each message in the store is.
    copies: Vec<u32>,
    quantum: Option<Quantum>,
    /// Start of the last period that was served, and when its budget is spent.
    served_ns: Nanos,
    spent_ns: Nanos,
    /// Whether it found nothing when it looked last.
    idle: bool,
    /// Whether it is among those that choose at the end of this instant.
    pub(super) is_choosing: bool,
    /// Whether the agenda has an event that lets it choose again.
    pub(super) is_due: bool,
}

/// As the caller knows it.
fn wrong(fault: ChangeError) -> Invalid {
    match fault {
        ChangeError::Invalid(fault) => fault,
        other => Invalid::new("processor", "flows", other.to_string()),
    }
}

impl ProcessorState {
    /// An idle processor for the flows `(client, topic)`.
    pub(super) fn new(
        described: &Processor,
        topics: &[Topic],
        flows: &[(u32, u32)],
    ) -> Result<Self, Invalid> {
        let mut stage = described.input.stage()?;
        // Sizes are counted in fragments here: a byte of a queued frame stands for one.
        let mut queues = Queues::new(stage.lanes(), 1)?;
        for (n, topic) in topics.iter().enumerate() {
            stage.check(TopicId(n as u32), &topic.share)?;
            stage.allot(TopicId(n as u32), &topic.share);
        }
        let bounds = Bounds { capacity: described.capacity, limit_bytes: u32::MAX };
        for (n, &(client, topic)) in flows.iter().enumerate() {
            let flow = FlowId(n as u32);
            queues.open(flow, ClientId(client), TopicId(topic), bounds).map_err(wrong)?;
            stage.join(&mut queues, TopicId(topic), flow);
        }
        Ok(Self {
            described: described.clone(),
            stage,
            queues,
            flows: flows.iter().enumerate().map(|(n, &flow)| (flow, FlowId(n as u32))).collect(),
            topics: flows.iter().map(|&(_, topic)| topic).collect(),
            copies: Vec::new(),
            quantum: None,
            served_ns: Nanos::MIN,
            spent_ns: Nanos::MIN,
            idle: true,
            is_choosing: false,
            is_due: false,
        })
    }

    /// Takes a copy in, unless its flow is full.
    pub(super) fn push(
        &mut self,
        now: Nanos,
        (client, topic): (u32, u32),
        copy: u32,
        size: (u32, u8),
    ) -> bool {
        let (size_bytes, priority) = size;
        let Some(&flow) = self.flows.get(&(client, topic)) else { return false };
        let fragments = size_bytes.div_ceil(self.described.fragment_bytes).max(1);
        let pushed = match fragments {
            1 => self.queues.push(now, flow, priority, &[0]),
            _ => self.queues.push(now, flow, priority, &vec![0; fragments as usize]),
        };
        let Ok(pushed) = pushed else { return false };
        let place = pushed.message.0 as usize;
        if self.copies.len() <= place {
            self.copies.resize(place + 1, 0);
        }
        self.copies[place] = copy;
        if pushed.first {
            self.stage.arrived(&self.queues, TopicId(topic), flow);
        }
        true
    }

    /// Copies that wait, the one being served included until its last quantum.
    pub(super) fn waiting(&self) -> usize {
        self.queues.len()
    }

    /// Whether a quantum is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.quantum.is_some()
    }

    /// What to do at `now`, when no quantum is under way.
    pub(super) fn choose(&mut self, now: Nanos, topics: &[Topic]) -> Turn {
        if let Some((period_ns, budget_ns)) = self.described.pace {
            if let Some(until_ns) = self.hold(now, period_ns, budget_ns) {
                if !self.queues.is_empty() {
                    return Turn::Wait { until_ns };
                }
                // It will look when the next period begins: what comes after that waits for the one after.
                self.idle = true;
                return Turn::Idle;
            }
        }
        let Some(served) = self.stage.next(now, &mut self.queues) else {
            self.idle = true;
            self.spent_ns = now;
            return Turn::Idle;
        };
        self.idle = false;
        let service_ns = topics[self.topics[served.flow.index()] as usize].service_ns;
        let end_ns = now.saturating_add(service_ns).saturating_add(self.described.search_ns);
        let done = served.complete.then(|| {
            self.queues.store.release(served.message);
            self.copies[served.message.0 as usize]
        });
        self.quantum = Some(Quantum { end_ns, done });
        Turn::Quantum { end_ns }
    }

    /// If it may not serve at `now`, when it may.
    fn hold(&mut self, now: Nanos, period_ns: Nanos, budget_ns: Nanos) -> Option<Nanos> {
        let begun_ns = now.div_euclid(period_ns) * period_ns;
        if self.idle && begun_ns < now {
            // It looked when this period began, found nothing and waits for the next.
            self.served_ns = self.served_ns.max(begun_ns);
        } else if now < self.spent_ns {
            return None;
        }
        if self.served_ns < begun_ns && now < begun_ns.saturating_add(budget_ns) {
            (self.served_ns, self.spent_ns) = (begun_ns, begun_ns.saturating_add(budget_ns));
            return None;
        }
        Some(begun_ns.saturating_add(period_ns))
    }

    /// The copy that the quantum under way completes.
    pub(super) fn completing(&self) -> Option<u32> {
        self.quantum.and_then(|quantum| quantum.done)
    }

    /// The quantum that ends at `now`: whether there is one, and the copy that it completed.
    pub(super) fn end_quantum(&mut self, now: Nanos) -> Option<Option<u32>> {
        self.quantum.take_if(|quantum| quantum.end_ns == now).map(|quantum| quantum.done)
    }

    /// Empties it: every copy that waited or was being served.
    pub(super) fn drain(&mut self, now: Nanos) -> Vec<u32> {
        let mut lost: Vec<u32> = self.quantum.take().and_then(|quantum| quantum.done).into_iter().collect();
        while let Some(served) = self.stage.next(now, &mut self.queues) {
            if served.complete {
                self.queues.store.release(served.message);
                lost.push(self.copies[served.message.0 as usize]);
            }
        }
        self.idle = true;
        lost
    }
}

/// The processors of a scenario, by broker.
pub(super) fn processors(
    scenario: &Scenario,
    flows: &[Vec<(u32, u32)>],
) -> Result<Vec<Option<Box<ProcessorState>>>, Invalid> {
    let made = scenario.brokers.iter().zip(flows).enumerate().map(|(n, (broker, flows))| {
        let Some(processor) = &broker.processor else { return Ok(None) };
        let wrong = |fault: Invalid| Invalid { field: format!("brokers[{n}].{}", fault.field), ..fault };
        let state = ProcessorState::new(processor, &scenario.topics, flows).map_err(wrong)?;
        Ok(Some(Box::new(state)))
    });
    made.collect()
}
