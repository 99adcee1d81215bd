//! A copy at a broker and on a link: delivered, split, queued, sent or lost.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{Outgoing, Reason};
use giusto_core::record::Outcome;

use super::agenda::Kind;
use super::directory::Group;
use super::flight::{Copy, Message};
use super::recorder::{Passage, link_node};
use super::world::World;

impl World<'_> {
    /// A copy has passed a broker: local subscriptions have it, each neighbour gets its part.
    #[inline]
    pub(super) fn forward(&mut self, now: Nanos, number: u32) -> Result<(), Invalid> {
        let copy = *self.copies.at(number);
        let Message { matched, publisher, .. } = *self.messages.at(copy.message);
        let tree = self.sources[publisher as usize].tree;
        let broker = self.trees[tree as usize].nodes[copy.node as usize].broker;
        self.brokers[broker as usize].forwarded += 1;
        let node_at = |world: &Self, at: u32| world.directory.set(matched).groups[at as usize].node;
        let mut from = copy.from;
        if node_at(self, from) == copy.node {
            self.deliver(now, &copy, from);
            from += 1;
        }
        let mut child = 0;
        while from < copy.to {
            let tree = &self.trees[tree as usize];
            let children = tree.children(copy.node);
            let node = node_at(self, from);
            child += children[child..].partition_point(|&child| tree.nodes[child as usize].end <= node);
            let child = children[child];
            let end = tree.nodes[child as usize].end;
            let groups = &self.directory.set(matched).groups[from as usize..copy.to as usize];
            let to = from + groups.partition_point(|group| group.node < end) as u32;
            let part = Copy { from, to, node: child, ..copy };
            self.enqueue(now, part)?;
            from = to;
        }
        self.copies.take(number);
        self.close(copy.message);
        Ok(())
    }

    /// The subscriptions of one group have the message.
    fn deliver(&mut self, now: Nanos, copy: &Copy, group: u32) {
        let message = self.messages.at(copy.message);
        let publisher = &self.scenario.publishers[message.publisher as usize];
        let timeout_ns = if publisher.timeout_ns == 0 { Nanos::MAX } else { publisher.timeout_ns };
        let matched = self.directory.set(message.matched);
        let Group { from, to, node } = matched.groups[group as usize];
        let node = &self.trees[self.sources[message.publisher as usize].tree as usize].nodes[node as usize];
        for &number in &matched.seekers[from as usize..to as usize] {
            let seeker = &self.directory.seekers[number as usize];
            let received_ns = now.saturating_add(seeker.delay_ns);
            let delay_ns = received_ns.saturating_sub(message.published_ns);
            let valid = delay_ns <= seeker.deadline_ns.min(timeout_ns);
            let outcome = if valid { Outcome::Delivered } else { Outcome::Late };
            self.totals[number as usize].arrive(outcome, delay_ns);
            if self.recorder.is_on() {
                let passage = Passage {
                    selected_ns: Some(copy.selected_ns),
                    egress_ns: Some(now),
                    received_ns: Some(received_ns),
                    ..Passage::only(node.broker, node.depth, copy.arrived_ns)
                };
                self.recorder.note(self.scenario, message, Some(seeker), passage, outcome);
            }
        }
    }

    /// Puts a copy into the queue of the link to its node.
    fn enqueue(&mut self, now: Nanos, copy: Copy) -> Result<(), Invalid> {
        let message = self.messages.at_mut(copy.message);
        message.open += 1;
        let publisher = &self.scenario.publishers[message.publisher as usize];
        let outgoing = Outgoing {
            token: self.copies.put(copy),
            size_bytes: message.size_bytes,
            priority: message.priority,
            published_ns: message.published_ns,
            timeout_ns: publisher.timeout_ns,
        };
        let tree = &self.trees[self.sources[message.publisher as usize].tree as usize];
        let number = tree.nodes[copy.node as usize].link;
        let link = &mut self.links[number as usize];
        let matched = self.directory.set(message.matched);
        let groups = &matched.groups[copy.from as usize..copy.to as usize];
        let here = tree.node_of[self.scenario.links[number as usize].source as usize];
        let view = (tree, &tree.nodes[here as usize]);
        link.needs.fill(&mut self.terms, view, matched, groups, &self.directory.seekers);
        link.queue.push(now, outgoing, &self.terms, &mut self.lost)?;
        link.counts.waiting_max = link.counts.waiting_max.max(link.queue.len());
        self.wake(now, number);
        self.lose(number);
        Ok(())
    }

    /// Lets a link choose as soon as it can: at the end of this instant, or when it is free.
    #[inline]
    fn wake(&mut self, now: Nanos, number: u32) {
        let link = &mut self.links[number as usize];
        if link.is_choosing || link.is_due {
            return;
        }
        if let Some(medium) = link.medium {
            self.request(medium, number);
        } else if link.busy_until_ns <= now {
            link.is_choosing = true;
            self.choosing.push(number);
        } else {
            link.is_due = true;
            self.agenda.push(link.busy_until_ns, Kind::Free, number);
        }
    }

    /// A link may choose again.
    pub(super) fn free(&mut self, number: u32) {
        let link = &mut self.links[number as usize];
        link.is_due = false;
        if !std::mem::replace(&mut link.is_choosing, true) {
            self.choosing.push(number);
        }
    }

    /// Every link that may choose does, in the order in which they became able to.
    pub(super) fn choose(&mut self, now: Nanos) {
        let mut choosing = std::mem::take(&mut self.choosing);
        for number in choosing.drain(..) {
            self.transmit(now, number);
        }
        // A transmission puts nothing into this list, so it is empty as before.
        self.choosing = choosing;
    }

    /// A free link sends what its queue chooses.
    #[inline]
    fn transmit(&mut self, now: Nanos, number: u32) {
        let link = &mut self.links[number as usize];
        link.is_choosing = false;
        if link.trouble.is_some() && self.is_down(now, number) {
            return;
        }
        let link = &mut self.links[number as usize];
        if let Some(outgoing) = link.queue.pop(now, &mut self.lost) {
            self.carry(now, number, &outgoing);
            let link = &mut self.links[number as usize];
            if !link.queue.is_empty() {
                link.is_due = true;
                self.agenda.push(link.busy_until_ns, Kind::Free, number);
            }
        }
        self.lose(number);
    }

    /// A link is busy with a message, which arrives at the next broker afterwards or is lost.
    #[inline]
    pub(super) fn carry(&mut self, now: Nanos, number: u32, outgoing: &Outgoing) {
        let link = &mut self.links[number as usize];
        let mut delay_ns = link.delay.draw(outgoing.size_bytes, &mut link.chance);
        let mut is_lost = false;
        if let Some(trouble) = &mut link.trouble {
            delay_ns = trouble.stretch(now, delay_ns);
            let breaks_ns = trouble.down.begins_ns(now, now.saturating_add(delay_ns));
            delay_ns = breaks_ns.map_or(delay_ns, |breaks_ns| breaks_ns - now);
            is_lost = breaks_ns.is_some() || trouble.loses(now);
        }
        link.busy_until_ns = now.saturating_add(delay_ns);
        link.counts.sent += 1;
        link.counts.busy_ns = link.counts.busy_ns.saturating_add(delay_ns);
        let arrived_ns = link.busy_until_ns.saturating_add(link.propagation_ns);
        if is_lost {
            link.counts.lost += 1;
            let copy = self.copies.at(outgoing.token);
            let passage = Passage { egress_ns: Some(now), ..self.waiting(number, copy) };
            self.drop_copy(outgoing.token, Outcome::Lost, passage);
            return;
        }
        if self.recorder.hops {
            self.note_hop(number, outgoing.token, now, arrived_ns);
        }
        let copy = self.copies.at_mut(outgoing.token);
        (copy.arrived_ns, copy.selected_ns) = (arrived_ns, arrived_ns);
        let tree = self.sources[self.messages.at(copy.message).publisher as usize].tree;
        let processing_ns = self.trees[tree as usize].nodes[copy.node as usize].processing_ns;
        self.agenda.push(arrived_ns.saturating_add(processing_ns), Kind::Ready, outgoing.token);
    }

    fn note_hop(&mut self, link: u32, copy: u32, egress_ns: Nanos, received_ns: Nanos) {
        let copy = self.copies.at(copy);
        let passage = Passage {
            node: link_node(self.scenario, link),
            egress_ns: Some(egress_ns),
            received_ns: Some(received_ns),
            ..self.waiting(link, copy)
        };
        let message = self.messages.at(copy.message);
        self.recorder.note(self.scenario, message, None, passage, Outcome::Delivered);
    }

    /// Where a copy is that waits for a link.
    pub(super) fn waiting(&self, link: u32, copy: &Copy) -> Passage {
        let depth = self.node_of(copy).depth;
        let passage = Passage::only(self.scenario.links[link as usize].source, depth - 1, copy.arrived_ns);
        Passage { selected_ns: Some(copy.selected_ns), ..passage }
    }

    /// Accounts for what the queue of a link has dropped.
    #[inline]
    pub(super) fn lose(&mut self, link: u32) {
        if self.lost.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.lost);
        for lost in all.drain(..) {
            let counts = &mut self.links[link as usize].counts;
            let (outcome, count) = match lost.reason {
                Reason::Expired => (Outcome::Expired, &mut counts.expired),
                Reason::Evicted | Reason::Refused => (Outcome::Overflow, &mut counts.overflow),
            };
            *count += 1;
            let passage = self.waiting(link, self.copies.at(lost.token));
            self.drop_copy(lost.token, outcome, passage);
        }
        self.lost = all;
    }

    /// A copy ends without having arrived, for all its subscriptions.
    pub(super) fn drop_copy(&mut self, number: u32, outcome: Outcome, passage: Passage) {
        let copy = self.copies.take(number);
        let message = self.messages.at(copy.message);
        let matched = self.directory.set(message.matched);
        for group in &matched.groups[copy.from as usize..copy.to as usize] {
            for &number in &matched.seekers[group.from as usize..group.to as usize] {
                self.totals[number as usize].end(outcome);
                let seeker = &self.directory.seekers[number as usize];
                self.recorder.note(self.scenario, message, Some(seeker), passage, outcome);
            }
        }
        self.close(copy.message);
    }

    /// One copy of a message is gone.
    #[inline]
    fn close(&mut self, number: u32) {
        let message = self.messages.at_mut(number);
        message.open -= 1;
        if message.open == 0 {
            self.directory.release(message.matched);
            self.messages.take(number);
        }
    }

    /// Deliveries that a copy stands for.
    pub(super) fn deliveries(&self, copy: &Copy) -> u64 {
        let matched = self.directory.set(self.messages.at(copy.message).matched);
        let groups = &matched.groups[copy.from as usize..copy.to as usize];
        groups.iter().map(|group| u64::from(group.to - group.from)).sum()
    }
}
