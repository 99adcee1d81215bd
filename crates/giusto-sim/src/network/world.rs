//! The network at work: what each event changes, and what it causes.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{Lost, Terms};
use giusto_core::record::Outcome;

use super::agenda::{Agenda, Event, Kind};
use super::directory::Directory;
use super::fault::{Downtime, Troubles};
use super::flight::{Copy, Message, Pool};
use super::link::{LinkState, links};
use super::medium::{MediumState, media};
use super::plan::Plan;
use super::processor::{BrokerCounts, ProcessorState, processors};
use super::recorder::{Passage, Recorder};
use super::routes::Tree;
use super::scenario::Scenario;
use super::source::Source;
use super::tally::{Counters, Total};

/// All state of a run.
pub(super) struct World<'a> {
    pub(super) scenario: &'a Scenario,
    until_ns: Nanos,
    pub(super) trees: Vec<Tree>,
    pub(super) directory: Directory,
    pub(super) links: Vec<LinkState>,
    pub(super) sources: Vec<Source>,
    pub(super) messages: Pool<Message>,
    pub(super) copies: Pool<Copy>,
    pub(super) agenda: Agenda,
    /// Links that choose what to send when all else of this instant has happened.
    pub(super) choosing: Vec<u32>,
    pub(super) media: Vec<MediumState>,
    /// Media that are looked at then.
    pub(super) sharing: Vec<u32>,
    /// By broker.
    pub(super) processors: Vec<Option<Box<ProcessorState>>>,
    /// Brokers whose processors choose then.
    pub(super) serving: Vec<u32>,
    /// By broker.
    pub(super) brokers: Vec<BrokerCounts>,
    /// No broker has a processor or ever goes down.
    pub(super) is_plain: bool,
    /// By broker; empty if none ever goes down.
    pub(super) downtimes: Vec<Downtime>,
    pub(super) recorder: Recorder,
    pub(super) counters: Counters,
    /// By the directory's numbers.
    pub(super) totals: Vec<Total>,
    /// Between two calls these are empty.
    pub(super) lost: Vec<Lost>,
    pub(super) terms: Vec<Terms>,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario, until_ns: Nanos) -> Result<Self, Invalid> {
        scenario.check(until_ns)?;
        let plan = Plan::new(scenario);
        let troubles = Troubles::new(scenario);
        let mut links = links(scenario, &plan)?;
        for (link, trouble) in links.iter_mut().zip(troubles.links) {
            link.trouble = trouble;
        }
        plan.check(scenario, &links)?;
        let processors = processors(scenario, &plan.flows(scenario))?;
        let source = |publisher: usize| {
            let tree = plan.tree_of[scenario.publishers[publisher].broker as usize];
            let wrong = |fault: Invalid| Invalid {
                field: format!("publishers[{publisher}].{}", fault.field),
                ..fault
            };
            Source::new(scenario, &scenario.publishers[publisher], tree).map_err(wrong)
        };
        let directory = Directory::new(scenario)?;
        let mut world = Self {
            scenario,
            until_ns,
            links,
            sources: (0..scenario.publishers.len()).map(source).collect::<Result<_, _>>()?,
            totals: vec![Total::default(); directory.seekers.len()],
            trees: plan.trees,
            directory,
            messages: Pool::new(),
            copies: Pool::new(),
            agenda: Agenda::default(),
            choosing: Vec::new(),
            media: media(scenario),
            sharing: Vec::new(),
            is_plain: troubles.brokers.is_empty() && processors.iter().all(Option::is_none),
            processors,
            serving: Vec::new(),
            brokers: vec![BrokerCounts::default(); scenario.brokers.len()],
            downtimes: troubles.brokers,
            recorder: Recorder::new(scenario)?,
            counters: Counters::default(),
            lost: Vec::new(),
            terms: Vec::new(),
        };
        for publisher in 0..world.sources.len() {
            world.await_next(publisher as u32);
        }
        for (broker, downtime) in world.downtimes.iter().enumerate() {
            downtime.starts_ns().for_each(|at_ns| world.agenda.push(at_ns, Kind::Down, broker as u32));
        }
        Ok(world)
    }

    /// Whether a link, processor or medium has yet to choose at this instant.
    #[inline]
    pub(super) fn is_choosing(&self) -> bool {
        !(self.choosing.is_empty() && self.serving.is_empty() && self.sharing.is_empty())
    }

    /// Lets one event happen, or what follows from those of the instant `now`; when, if there was anything.
    #[inline]
    pub(super) fn step(&mut self, now: Nanos) -> Result<Option<Nanos>, Invalid> {
        if self.is_choosing() && self.agenda.next_ns() != Some(now) {
            self.choose_quanta(now);
            self.choose(now);
            self.share_media(now);
            return Ok(Some(now));
        }
        let Some(event) = self.agenda.pop() else { return Ok(None) };
        self.counters.events += 1;
        let Event { at_ns: now, kind, subject } = event;
        match kind {
            Kind::Down => self.go_down(now, subject),
            Kind::Free => self.free(subject),
            Kind::Look => self.look_again(now, subject),
            Kind::Ready => self.ready(now, subject)?,
            Kind::Publish => self.publish(now, subject),
            Kind::Serve => self.serve(now, subject)?,
        }
        Ok(Some(now))
    }

    /// Puts the next message of a publisher on the agenda.
    fn await_next(&mut self, publisher: u32) {
        if let Some(at_ns) = self.sources[publisher as usize].advance(self.until_ns) {
            self.agenda.push(at_ns, Kind::Publish, publisher);
        }
    }

    /// A publisher sends: its message is policed and matched, and goes to its broker.
    fn publish(&mut self, now: Nanos, number: u32) {
        let publisher = &self.scenario.publishers[number as usize];
        let source = &mut self.sources[number as usize];
        if source.is_away() {
            self.await_next(number);
            return;
        }
        let arrived_ns = now.saturating_add(publisher.delay_ns);
        let mut message = source.draw(number, publisher, now);
        self.counters.published += 1;
        if source.keeps_offer(arrived_ns) {
            let tree = &self.trees[source.tree as usize];
            message.matched = self.directory.matched(source.tree, tree, publisher.topic, source.block());
            self.send(message, arrived_ns);
        } else {
            self.counters.policed += 1;
            let passage = Passage::only(publisher.broker, 0, arrived_ns);
            self.recorder.note(self.scenario, &message, None, passage, Outcome::Policed);
        }
        self.await_next(number);
    }

    /// A matched message goes to its broker as one copy, if it is for anyone.
    fn send(&mut self, mut message: Message, arrived_ns: Nanos) {
        let matched = self.directory.set(message.matched);
        let groups = matched.groups.len() as u32;
        if groups == 0 {
            self.directory.release(message.matched);
            return;
        }
        for &seeker in &matched.seekers {
            self.totals[seeker as usize].ideal += 1;
        }
        message.open = 1;
        let tree = self.sources[message.publisher as usize].tree;
        let ready_ns = arrived_ns.saturating_add(self.trees[tree as usize].nodes[0].processing_ns);
        let message = self.messages.put(message);
        let copy = self.copies.put(Copy {
            message,
            from: 0,
            to: groups,
            node: 0,
            arrived_ns,
            selected_ns: arrived_ns,
        });
        self.agenda.push(ready_ns, Kind::Ready, copy);
    }

    /// The totals in the order of the scenario, and everything that is left to count.
    pub(super) fn finish(mut self) -> (Self, Vec<Total>) {
        self.counters.unfinished = self.copies.iter().map(|copy| self.deliveries(copy)).sum();
        let mut totals = vec![Total::default(); self.totals.len()];
        for (seeker, total) in self.directory.seekers.iter().zip(&self.totals) {
            totals[seeker.number as usize] = *total;
        }
        self.counters.sum(&totals);
        self.counters.hops = self.links.iter().map(|link| link.counts.sent).sum();
        self.counters.records_dropped = self.recorder.dropped;
        (self, totals)
    }
}
