//! Links on a shared wire: who offers what, who sends, who collides.

use giusto_core::id::Nanos;
use giusto_core::record::Outcome;

use super::agenda::Kind;
use super::medium::Verdict;
use super::world::World;

impl World<'_> {
    /// A link on a medium has something to send: it is looked at when all else of this instant has happened.
    pub(super) fn request(&mut self, medium: u32, link: u32) {
        self.links[link as usize].is_due = true;
        let broker = self.scenario.links[link as usize].source;
        self.media[medium as usize].request(broker, link);
        self.look(medium);
    }

    /// A medium is looked at at the end of this instant.
    fn look(&mut self, medium: u32) {
        if !std::mem::replace(&mut self.media[medium as usize].is_sharing, true) {
            self.sharing.push(medium);
        }
    }

    /// Every medium on which something may begin is looked at.
    pub(super) fn share_media(&mut self, now: Nanos) {
        let mut sharing = std::mem::take(&mut self.sharing);
        for medium in sharing.drain(..) {
            self.share(now, medium);
        }
        self.sharing.append(&mut sharing);
    }

    fn share(&mut self, now: Nanos, number: u32) {
        self.media[number as usize].is_sharing = false;
        let medium = &self.media[number as usize];
        if !medium.is_shared() || medium.free_ns <= now {
            for place in 0..self.media[number as usize].stations.len() {
                self.offer(now, number, place);
            }
            match self.media[number as usize].decide(now) {
                Verdict::Send(places) => places.into_iter().for_each(|place| self.seize(now, number, place)),
                Verdict::Collision { given_up } => {
                    given_up.into_iter().for_each(|place| self.give_up(number, place));
                }
            }
        }
        self.await_medium(now, number);
    }

    /// A sender that is ready takes a message from the first of its links that is up and has one.
    fn offer(&mut self, now: Nanos, number: u32, place: usize) {
        let station = &self.media[number as usize].stations[place];
        if let Some((link, _)) = station.held {
            if self.up_ns(now, link).is_some() {
                self.give_up(number, place);
            }
        }
        self.media[number as usize].stations[place].retry_ns = Nanos::MIN;
        let mut up_ns = Nanos::MAX;
        for _ in 0..self.media[number as usize].stations[place].wants.len() {
            let station = &mut self.media[number as usize].stations[place];
            if station.held.is_some() || station.ready_ns > now {
                return;
            }
            let Some(link) = station.wants.pop_front() else { return };
            if let Some(link_up_ns) = self.up_ns(now, link) {
                up_ns = up_ns.min(link_up_ns);
                self.media[number as usize].stations[place].wants.push_back(link);
                continue;
            }
            let message = self.links[link as usize].queue.pop(now, &mut self.lost);
            self.links[link as usize].is_due = message.is_some();
            self.lose(link);
            self.media[number as usize].stations[place].held = message.map(|message| (link, message));
        }
        let station = &mut self.media[number as usize].stations[place];
        station.retry_ns =
            if station.held.is_none() && !station.wants.is_empty() { up_ns } else { Nanos::MIN };
    }

    /// If a link is down, until when.
    fn up_ns(&self, now: Nanos, link: u32) -> Option<Nanos> {
        self.links[link as usize].trouble.as_ref().and_then(|trouble| trouble.down.until_ns(now))
    }

    /// A sender has the wire.
    fn seize(&mut self, now: Nanos, number: u32, place: usize) {
        let Some((link, message)) = self.media[number as usize].stations[place].held.take() else { return };
        self.carry(now, link, &message);
        let end_ns = self.links[link as usize].busy_until_ns;
        self.media[number as usize].sent(place, end_ns);
        self.release(number, link);
    }

    /// Too many collisions, or a link that went down: the message is lost.
    fn give_up(&mut self, number: u32, place: usize) {
        let Some((link, message)) = self.media[number as usize].stations[place].held.take() else { return };
        self.links[link as usize].counts.lost += 1;
        let passage = self.waiting(link, self.copies.at(message.token));
        self.drop_copy(message.token, Outcome::Lost, passage);
        self.release(number, link);
    }

    /// A link no longer offers a message, and asks again if it has more.
    fn release(&mut self, number: u32, link: u32) {
        self.links[link as usize].is_due = false;
        if !self.links[link as usize].queue.is_empty() {
            self.links[link as usize].is_due = true;
            let broker = self.scenario.links[link as usize].source;
            self.media[number as usize].request(broker, link);
        }
    }

    /// Puts the next look at a medium on the agenda, unless an earlier one is there.
    fn await_medium(&mut self, now: Nanos, number: u32) {
        let medium = &mut self.media[number as usize];
        let Some(next_ns) = medium.next_ns().filter(|&next_ns| next_ns < Nanos::MAX) else { return };
        let next_ns = next_ns.max(now);
        if medium.look_ns.is_none_or(|look_ns| next_ns < look_ns) {
            medium.look_ns = Some(next_ns);
            self.agenda.push(next_ns, Kind::Look, number);
        }
    }

    /// A look that was on the agenda.
    pub(super) fn look_again(&mut self, now: Nanos, number: u32) {
        self.media[number as usize].look_ns.take_if(|look_ns| *look_ns <= now);
        self.look(number);
    }

    /// What a broker that goes down has offered on its media is lost.
    pub(super) fn silence(&mut self, broker: u32) {
        for number in 0..self.media.len() {
            let station = self.media[number].stations.iter_mut().find(|station| station.broker == broker);
            let Some(station) = station else { continue };
            let links = std::mem::take(&mut station.wants);
            let held = station.held.take();
            links.iter().for_each(|&link| self.links[link as usize].is_due = false);
            if let Some((link, message)) = held {
                self.links[link as usize].is_due = false;
                self.links[link as usize].counts.lost += 1;
                let passage = self.waiting(link, self.copies.at(message.token));
                self.drop_copy(message.token, Outcome::Lost, passage);
            }
        }
    }
}
