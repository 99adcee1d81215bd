//! Copies at a broker with a processor: they wait for their quanta before they are forwarded.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::record::Outcome;

use super::agenda::Kind;
use super::flight::Copy;
use super::processor::{ProcessorState, Turn};
use super::recorder::Passage;
use super::routes::{NONE, Node};
use super::world::World;

impl World<'_> {
    /// A copy is ready at a broker: it waits for the processor, or is forwarded if there is none.
    #[inline]
    pub(super) fn ready(&mut self, now: Nanos, number: u32) -> Result<(), Invalid> {
        if self.is_plain {
            return self.forward(now, number);
        }
        let copy = *self.copies.at(number);
        let node = *self.node_of(&copy);
        if !self.downtimes.is_empty() && self.is_lost_in_broker(now, number, &copy, &node) {
            return Ok(());
        }
        if self.processors[node.broker as usize].is_none() {
            return self.forward(now, number);
        }
        self.admit(now, number, &copy, &node);
        Ok(())
    }

    /// The node that a copy goes to, or is at.
    pub(super) fn node_of(&self, copy: &Copy) -> &Node {
        let tree = self.sources[self.messages.at(copy.message).publisher as usize].tree;
        &self.trees[tree as usize].nodes[copy.node as usize]
    }

    fn admit(&mut self, now: Nanos, number: u32, copy: &Copy, node: &Node) {
        let message = self.messages.at(copy.message);
        let topic = self.scenario.publishers[message.publisher as usize].topic;
        let client = client(self.links.len(), node.link, message.publisher);
        let size = (message.size_bytes, message.priority);
        let counts = &mut self.brokers[node.broker as usize];
        let Some(processor) = &mut self.processors[node.broker as usize] else { return };
        if processor.push(now, (client, topic), number, size) {
            counts.waiting_max = counts.waiting_max.max(processor.waiting());
            call(processor, &mut self.serving, node.broker);
        } else {
            counts.overflow += 1;
            let passage = Passage::only(node.broker, node.depth, copy.arrived_ns);
            self.drop_copy(number, Outcome::Overflow, passage);
        }
    }

    /// A processor may look at its queues again, or a quantum has ended.
    pub(super) fn serve(&mut self, now: Nanos, broker: u32) -> Result<(), Invalid> {
        let Some(processor) = &mut self.processors[broker as usize] else { return Ok(()) };
        if let Some(done) = processor.end_quantum(now) {
            call(processor, &mut self.serving, broker);
            return done.map_or(Ok(()), |copy| self.forward(now, copy));
        }
        processor.is_due = false;
        call(processor, &mut self.serving, broker);
        Ok(())
    }

    /// Every processor that may choose does, in the order in which they became able to.
    pub(super) fn choose_quanta(&mut self, now: Nanos) {
        let mut serving = std::mem::take(&mut self.serving);
        for broker in serving.drain(..) {
            self.begin_quantum(now, broker);
        }
        self.serving = serving;
    }

    fn begin_quantum(&mut self, now: Nanos, broker: u32) {
        let Some(processor) = &mut self.processors[broker as usize] else { return };
        processor.is_choosing = false;
        match processor.choose(now, &self.scenario.topics) {
            Turn::Idle => {}
            Turn::Wait { until_ns } => {
                if !std::mem::replace(&mut processor.is_due, true) {
                    self.agenda.push(until_ns, Kind::Serve, broker);
                }
            }
            Turn::Quantum { end_ns } => {
                let counts = &mut self.brokers[broker as usize];
                counts.quanta += 1;
                counts.busy_ns = counts.busy_ns.saturating_add(end_ns - now);
                if let Some(copy) = processor.completing() {
                    self.copies.at_mut(copy).selected_ns = now;
                }
                self.agenda.push(end_ns, Kind::Serve, broker);
            }
        }
    }
}

/// Lets an idle processor choose at the end of this instant.
fn call(processor: &mut ProcessorState, serving: &mut Vec<u32>, broker: u32) {
    if !processor.is_busy() && !std::mem::replace(&mut processor.is_choosing, true) {
        serving.push(broker);
    }
}

/// The number of the link or, at the first broker, the publisher that a copy comes from.
pub(super) fn client(links: usize, link: u32, publisher: u32) -> u32 {
    if link == NONE { links as u32 + publisher } else { link }
}
