//! What goes wrong, and when: links and brokers that are down, slower links, links that lose messages.
//!
//! All of it is known before the run, so that most questions are about a window of time: is the link down now,
//! does it break before this transmission ends. Only what waits in a broker that goes down needs an event.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::SPAN_NS_MAX;

use super::chance::Chance;
use super::link::streams;
use super::scenario::Scenario;
use super::workload::Window;

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// From the first instant to before the second.
    pub window: Window,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Nothing is sent, and what is being sent when it begins is lost.
    LinkDown {
        /// The link.
        link: u32,
    },
    /// What waits in the broker or arrives there is lost, and its links are down.
    BrokerDown {
        /// The broker.
        broker: u32,
    },
    /// Transmissions that begin in the window take `factor` times as long, and `extra_ns` more.
    Spike {
        /// The link.
        link: u32,
        /// 1 changes nothing.
        factor: f64,
        /// 0 changes nothing.
        extra_ns: Nanos,
    },
    /// Transmissions that begin in the window are lost, each with this probability.
    Loss {
        /// The link.
        link: u32,
        /// 0 to 1.
        probability: f64,
    },
}

/// The largest factor of a spike.
const FACTOR_MAX: f64 = 1e9;

impl Fault {
    /// Refuses what cannot happen, with the name of the field.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), Invalid> {
        let (from_ns, to_ns) = self.window;
        if !(0..=SPAN_NS_MAX).contains(&from_ns) {
            return Err(Invalid::new("from_ns", from_ns, format!("0 to {SPAN_NS_MAX}")));
        }
        if to_ns <= from_ns {
            return Err(Invalid::new("to_ns", to_ns, format!("more than from_ns, which is {from_ns}")));
        }
        let known = |field: &str, number: u32, count: usize| {
            let expected = || format!("the number of a {field}: less than {count}");
            if (number as usize) < count { Ok(()) } else { Err(Invalid::new(field, number, expected())) }
        };
        match self.kind {
            FaultKind::LinkDown { link } => known("link", link, scenario.links.len()),
            FaultKind::BrokerDown { broker } => known("broker", broker, scenario.brokers.len()),
            FaultKind::Spike { link, factor, extra_ns } => {
                known("link", link, scenario.links.len())?;
                if !(0.0..=FACTOR_MAX).contains(&factor) {
                    return Err(Invalid::new("factor", factor, format!("0 to {FACTOR_MAX:e}")));
                }
                if !(0..=SPAN_NS_MAX).contains(&extra_ns) {
                    return Err(Invalid::new("extra_ns", extra_ns, format!("0 to {SPAN_NS_MAX}")));
                }
                Ok(())
            }
            FaultKind::Loss { link, probability } => {
                known("link", link, scenario.links.len())?;
                if !(0.0..=1.0).contains(&probability) {
                    return Err(Invalid::new("probability", probability, "0 to 1"));
                }
                Ok(())
            }
        }
    }
}

/// Instants during which something is down, apart and in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Downtime {
    windows: Vec<Window>,
}

impl Downtime {
    fn add(&mut self, window: Window) {
        self.windows.push(window);
        self.windows.sort_unstable();
        let mut merged: Vec<Window> = Vec::new();
        for &(from_ns, to_ns) in &self.windows {
            match merged.last_mut() {
                Some(last) if from_ns <= last.1 => last.1 = last.1.max(to_ns),
                _ => merged.push((from_ns, to_ns)),
            }
        }
        self.windows = merged;
    }

    /// If it is down at `now`, until when.
    pub(super) fn until_ns(&self, now: Nanos) -> Option<Nanos> {
        self.windows.iter().find(|window| (window.0..window.1).contains(&now)).map(|window| window.1)
    }

    /// When it goes down after `from_ns`, not later than `to_ns`.
    pub(super) fn begins_ns(&self, from_ns: Nanos, to_ns: Nanos) -> Option<Nanos> {
        self.starts_ns().find(|&begin_ns| from_ns < begin_ns && begin_ns <= to_ns)
    }

    /// Whether it is down at any instant from `from_ns` to `to_ns`.
    pub(super) fn touches(&self, from_ns: Nanos, to_ns: Nanos) -> bool {
        self.windows.iter().any(|window| window.0 <= to_ns && from_ns < window.1)
    }

    /// The instants at which it goes down.
    pub(super) fn starts_ns(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.windows.iter().map(|window| window.0)
    }
}

/// What goes wrong with one link.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) down: Downtime,
    spikes: Vec<(Window, f64, Nanos)>,
    losses: Vec<(Window, f64)>,
    chance: Chance,
}

impl Trouble {
    pub(super) fn new(chance: Chance) -> Self {
        Self { down: Downtime::default(), spikes: Vec::new(), losses: Vec::new(), chance }
    }

    /// How long a transmission takes that begins at `now` and would take `delay_ns`.
    pub(super) fn stretch(&self, now: Nanos, delay_ns: Nanos) -> Nanos {
        let here = |window: &Window| (window.0..window.1).contains(&now);
        let stretched = |delay_ns: Nanos, (_, factor, extra_ns): &(Window, f64, Nanos)| {
            ((delay_ns as f64 * factor).round() as Nanos).saturating_add(*extra_ns)
        };
        self.spikes.iter().filter(|(window, ..)| here(window)).fold(delay_ns, stretched)
    }

    /// Whether a transmission that begins at `now` is lost by chance.
    pub(super) fn loses(&mut self, now: Nanos) -> bool {
        let here = |window: &Window| (window.0..window.1).contains(&now);
        let chance = &mut self.chance;
        let mut losses = self.losses.iter().filter(|(window, _)| here(window));
        losses.any(|(_, probability)| chance.unit() < *probability)
    }
}

/// Everything that goes wrong in a scenario.
#[derive(Debug)]
pub(super) struct Troubles {
    /// By link.
    pub(super) links: Vec<Option<Box<Trouble>>>,
    /// By broker; empty if no broker ever goes down.
    pub(super) brokers: Vec<Downtime>,
}

impl Troubles {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut troubles = Self { links: Vec::new(), brokers: Vec::new() };
        troubles.links.resize_with(scenario.links.len(), || None);
        if scenario.faults.is_empty() {
            return troubles;
        }
        let streams: Vec<Chance> = streams(scenario, "loss").collect();
        for fault in &scenario.faults {
            troubles.add(scenario, &streams, fault);
        }
        troubles
    }

    fn add(&mut self, scenario: &Scenario, streams: &[Chance], fault: &Fault) {
        match fault.kind {
            FaultKind::LinkDown { link } => self.link(streams, link).down.add(fault.window),
            FaultKind::Spike { link, factor, extra_ns } => {
                self.link(streams, link).spikes.push((fault.window, factor, extra_ns));
            }
            FaultKind::Loss { link, probability } => {
                self.link(streams, link).losses.push((fault.window, probability));
            }
            FaultKind::BrokerDown { broker } => {
                self.brokers.resize_with(scenario.brokers.len(), Downtime::default);
                self.brokers[broker as usize].add(fault.window);
                let leaves = |link: &u32| scenario.links[*link as usize].source == broker;
                for link in (0..scenario.links.len() as u32).filter(leaves) {
                    self.link(streams, link).down.add(fault.window);
                }
            }
        }
    }

    fn link(&mut self, streams: &[Chance], link: u32) -> &mut Trouble {
        let calm = || Box::new(Trouble::new(streams[link as usize].clone()));
        self.links[link as usize].get_or_insert_with(calm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downtimes_that_meet_are_one() {
        let mut down = Downtime::default();
        [(10, 20), (30, 40), (20, 25), (5, 12)].into_iter().for_each(|window| down.add(window));
        assert_eq!(down.windows, [(5, 25), (30, 40)]);
        assert_eq!(
            [4, 5, 24, 25, 39].map(|now| down.until_ns(now)),
            [None, Some(25), Some(25), None, Some(40)]
        );
        assert_eq!([29, 30].map(|to_ns| down.begins_ns(5, to_ns)), [None, Some(30)]);
        assert!(down.touches(25, 30) && !down.touches(25, 29) && down.touches(24, 24));
    }

    #[test]
    fn spikes_add_up_in_the_order_in_which_they_were_given() {
        let mut trouble = Trouble::new(Chance::new(1, &["loss"]));
        trouble.spikes = vec![((0, 10), 3.0, 5), ((5, 10), 2.0, 0)];
        assert_eq!([0, 5, 10].map(|now| trouble.stretch(now, 100)), [305, 610, 100]);
    }
}
