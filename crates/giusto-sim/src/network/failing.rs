//! A network in which something is down: what is lost, and who waits.

use giusto_core::id::Nanos;
use giusto_core::record::Outcome;

use super::agenda::Kind;
use super::flight::Copy;
use super::recorder::Passage;
use super::routes::Node;
use super::world::World;

impl World<'_> {
    /// A broker goes down: what waits for its processor and its links is lost.
    pub(super) fn go_down(&mut self, now: Nanos, broker: u32) {
        let waiting = self.processors[broker as usize].as_mut().map(|processor| processor.drain(now));
        for number in waiting.unwrap_or_default() {
            let copy = *self.copies.at(number);
            let node = *self.node_of(&copy);
            self.lose_in_broker(number, &copy, &node);
        }
        self.silence(broker);
        let leaves = |link: &u32| self.scenario.links[*link as usize].source == broker;
        let links: Vec<u32> = (0..self.links.len() as u32).filter(leaves).collect();
        for number in links {
            for outgoing in self.links[number as usize].queue.extract(&|_| true) {
                self.links[number as usize].counts.lost += 1;
                let passage = self.waiting(number, self.copies.at(outgoing.token));
                self.drop_copy(outgoing.token, Outcome::Lost, passage);
            }
        }
    }

    /// If the broker where a copy is ready was down since it arrived, the copy is lost.
    pub(super) fn is_lost_in_broker(&mut self, now: Nanos, number: u32, copy: &Copy, node: &Node) -> bool {
        let is_lost = self.downtimes[node.broker as usize].touches(copy.arrived_ns, now);
        if is_lost {
            self.lose_in_broker(number, copy, node);
        }
        is_lost
    }

    fn lose_in_broker(&mut self, number: u32, copy: &Copy, node: &Node) {
        self.brokers[node.broker as usize].lost += 1;
        let passage = Passage::only(node.broker, node.depth, copy.arrived_ns);
        self.drop_copy(number, Outcome::Lost, passage);
    }

    /// If a link is down, lets it choose again when it is up.
    pub(super) fn is_down(&mut self, now: Nanos, number: u32) -> bool {
        let link = &mut self.links[number as usize];
        let until_ns = link.trouble.as_ref().and_then(|trouble| trouble.down.until_ns(now));
        let Some(until_ns) = until_ns else { return false };
        link.is_due = true;
        // What is down for ever gets no event: it leaves what waits unfinished.
        if until_ns < Nanos::MAX {
            self.agenda.push(until_ns, Kind::Free, number);
        }
        true
    }
}
