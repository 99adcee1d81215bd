//! Who may send on a wire that several senders share.
//!
//! A sender is a broker: the links that leave it on one medium take turns on its interface, in the order in which
//! they got something to send. Propagation on the wire takes no time, so senders collide only if they begin at one
//! instant.

use std::collections::{HashMap, VecDeque};

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{Outgoing, SPAN_NS_MAX};

use super::chance::Chance;
use super::scenario::Scenario;

/// A wire that links share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Unique.
    pub name: String,
    /// Who may send.
    pub kind: MediumKind,
}

/// Rules by which senders share a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumKind {
    /// CSMA/CD, 1-persistent: who waits for the wire sends as soon as it is free. Senders that begin together lose a
    /// slot and each waits up to 2ⁿ - 1 more after its n-th collision in a row (n up to 10).
    Ethernet {
        /// How long a collision lasts, and the unit of waiting.
        slot_ns: Nanos,
        /// Between two transmissions.
        gap_ns: Nanos,
        /// Collisions in a row after which a message is given up.
        attempts: u32,
    },
    /// CSMA/AMP: the message with the highest priority wins, of equal ones that on the link with the smallest
    /// number. What is being sent is not interrupted, and a message that was offered stays offered.
    Can,
    /// Full duplex to a switch: only the links of one sender share a cable.
    Switched,
}

impl Medium {
    /// Refuses what is no medium, with the name of the field.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let MediumKind::Ethernet { slot_ns, gap_ns, attempts } = self.kind else { return Ok(()) };
        if !(1..=SPAN_NS_MAX >> 11).contains(&slot_ns) {
            return Err(Invalid::new("slot_ns", slot_ns, format!("1 to {}", SPAN_NS_MAX >> 11)));
        }
        if !(0..=SPAN_NS_MAX).contains(&gap_ns) {
            return Err(Invalid::new("gap_ns", gap_ns, format!("0 to {SPAN_NS_MAX}")));
        }
        if attempts == 0 {
            return Err(Invalid::new("attempts", attempts, "at least 1"));
        }
        Ok(())
    }
}

/// What a medium did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumCounts {
    /// Transmissions.
    pub sent: u64,
    /// Instants at which several senders began.
    pub collisions: u64,
    /// Messages given up after too many collisions.
    pub lost: u64,
}

/// One sender.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) broker: u32,
    /// Links with something to send.
    pub(super) wants: VecDeque<u32>,
    /// The message that it offers, and its link.
    pub(super) held: Option<(u32, Outgoing)>,
    /// It offers nothing before then.
    pub(super) ready_ns: Nanos,
    /// If all its links with something to send are down, when the first is up.
    pub(super) retry_ns: Nanos,
    /// Collisions in a row.
    attempts: u32,
    chance: Chance,
}

/// What the senders that offer something at one instant get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These send.
    Send(Vec<usize>),
    /// All have collided; these give their message up.
    Collision { given_up: Vec<usize> },
}

/// A medium and its senders.
#[derive(Debug)]
pub(super) struct MediumState {
    kind: MediumKind,
    pub(super) stations: Vec<Station>,
    places: HashMap<u32, usize>,
    /// When nobody sends any more.
    pub(super) free_ns: Nanos,
    /// The next look that the agenda has.
    pub(super) look_ns: Option<Nanos>,
    /// Whether it is among those that are looked at at the end of this instant.
    pub(super) is_sharing: bool,
    pub(super) counts: MediumCounts,
}

impl MediumState {
    fn new(kind: MediumKind) -> Self {
        Self {
            kind,
            stations: Vec::new(),
            places: HashMap::new(),
            free_ns: Nanos::MIN,
            look_ns: None,
            is_sharing: false,
            counts: MediumCounts::default(),
        }
    }

    fn add(&mut self, broker: u32, chance: impl FnOnce() -> Chance) {
        self.places.entry(broker).or_insert_with(|| {
            let (wants, ready_ns) = (VecDeque::new(), Nanos::MIN);
            self.stations.push(Station {
                broker,
                wants,
                held: None,
                ready_ns,
                retry_ns: Nanos::MIN,
                attempts: 0,
                chance: chance(),
            });
            self.stations.len() - 1
        });
    }

    /// `link`, which leaves `broker`, has something to send.
    pub(super) fn request(&mut self, broker: u32, link: u32) {
        if let Some(&place) = self.places.get(&broker) {
            self.stations[place].wants.push_back(link);
            self.stations[place].retry_ns = Nanos::MIN;
        }
    }

    /// Whether senders have to wait for each other.
    pub(super) fn is_shared(&self) -> bool {
        self.kind != MediumKind::Switched
    }

    /// Decides between the senders that offer something at `now`, when nobody sends.
    pub(super) fn decide(&mut self, now: Nanos) -> Verdict {
        let offers = |station: &Station| station.held.is_some() && station.ready_ns <= now;
        let offering: Vec<usize> =
            self.stations.iter().enumerate().filter(|(_, station)| offers(station)).map(|(n, _)| n).collect();
        match self.kind {
            MediumKind::Switched => Verdict::Send(offering),
            MediumKind::Can => {
                let rank = |&place: &usize| {
                    let held = self.stations[place].held.as_ref();
                    held.map(|(link, message)| (std::cmp::Reverse(message.priority), *link))
                };
                Verdict::Send(offering.iter().copied().min_by_key(rank).into_iter().collect())
            }
            MediumKind::Ethernet { slot_ns, attempts, .. } if offering.len() > 1 => {
                self.collide(now, slot_ns, attempts, &offering)
            }
            MediumKind::Ethernet { .. } => Verdict::Send(offering),
        }
    }

    fn collide(&mut self, now: Nanos, slot_ns: Nanos, attempts: u32, offering: &[usize]) -> Verdict {
        self.counts.collisions += 1;
        self.free_ns = now.saturating_add(slot_ns);
        let mut given_up = Vec::new();
        for &place in offering {
            let station = &mut self.stations[place];
            station.attempts += 1;
            if station.attempts >= attempts {
                station.attempts = 0;
                station.ready_ns = self.free_ns;
                given_up.push(place);
                continue;
            }
            let slots = station.chance.between(0, (1 << station.attempts.min(10)) - 1);
            station.ready_ns = self.free_ns.saturating_add(slots * slot_ns);
        }
        self.counts.lost += given_up.len() as u64;
        Verdict::Collision { given_up }
    }

    /// The sender at `place` is busy until `end_ns`.
    pub(super) fn sent(&mut self, place: usize, end_ns: Nanos) {
        self.counts.sent += 1;
        self.stations[place].attempts = 0;
        self.stations[place].ready_ns = end_ns;
        match self.kind {
            MediumKind::Switched => {}
            MediumKind::Can => self.free_ns = end_ns,
            MediumKind::Ethernet { gap_ns, .. } => self.free_ns = end_ns.saturating_add(gap_ns),
        }
    }

    /// When somebody who has something to send may offer it.
    pub(super) fn next_ns(&self) -> Option<Nanos> {
        let next_ns = |station: &Station| match (&station.held, station.wants.is_empty()) {
            (Some(_), _) => Some(station.ready_ns),
            (None, false) => Some(station.ready_ns.max(station.retry_ns)),
            (None, true) => None,
        };
        self.stations.iter().filter_map(next_ns).map(|next_ns| next_ns.max(self.free_ns)).min()
    }
}

/// The media of a scenario.
pub(super) fn media(scenario: &Scenario) -> Vec<MediumState> {
    let mut media: Vec<MediumState> =
        scenario.media.iter().map(|medium| MediumState::new(medium.kind)).collect();
    for link in &scenario.links {
        let Some(number) = link.medium else { continue };
        let names = [&scenario.media[number as usize].name, &scenario.brokers[link.source as usize].name];
        let chance = || Chance::new(scenario.seed, &["station", names[0], names[1]]);
        media[number as usize].add(link.source, chance);
    }
    media
}
