//! What a client records of the messages that come to it, if it does: one row for each subscription that gets one.

use std::collections::BTreeMap;

use giusto_core::error::Invalid;
use giusto_core::frame::{DataHeader, PROMISED};
use giusto_core::id::{ClientId, Nanos, SubscriptionId, TopicId};
use giusto_core::record::{Outcome, Party, Portion, Ring, Rows, Seen};

use super::Session;

/// Rows, and what is known of the subscriptions that they are of.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) ring: Ring,
    subscriber: String,
    parties: BTreeMap<u32, Party>,
}

impl Recording {
    fn describe(&mut self, key: u32, party: Party) -> Result<(), Invalid> {
        let party = Party { subscriber: self.subscriber.as_str().into(), ..party };
        self.ring.describe(key, party.clone())?;
        self.parties.insert(key, party);
        Ok(())
    }

    /// A subscription is open; the broker has not answered yet.
    pub(super) fn open(&mut self, key: u32) -> Result<(), Invalid> {
        self.describe(key, Party::named(""))
    }

    /// Keeps that a message with slots in its header has come for a subscription.
    #[inline]
    pub(super) fn note(&mut self, key: u32, now: Nanos, header: &DataHeader, size: usize) {
        let deadline_ns = self.parties.get(&key).and_then(|party| party.deadline_ns);
        let is_late = deadline_ns.is_some_and(|span| now.saturating_sub(header.t_sent_ns) > span);
        self.ring.push(&Seen {
            topic: TopicId(header.stream),
            publisher: ClientId(header.source),
            subscription: Some(SubscriptionId(key)),
            sequence: header.sequence,
            size_bytes: u32::try_from(size).unwrap_or(u32::MAX),
            priority: header.priority,
            t_intended_ns: header.t_intended_ns,
            t_sent_ns: header.t_sent_ns,
            t_ingress_ns: now,
            t_selected_ns: None,
            t_egress_ns: None,
            min_sep_ns: 0,
            is_promised: header.flags & PROMISED != 0,
            is_received: true,
            outcome: if is_late { Outcome::Late } else { Outcome::Delivered },
        });
    }
}

impl Session {
    /// Records of what comes in are kept from now on, at most `capacity` between two drains. Called before anything
    /// has come.
    pub fn record(&mut self, capacity: usize, one_of: u32) -> Result<(), Invalid> {
        let ring = Ring::new(capacity, one_of)?;
        self.recording = Some(Recording { ring, subscriber: String::new(), parties: BTreeMap::new() });
        Ok(())
    }

    /// The client has this name, and its broker is in this run. Returns what was recorded under another.
    pub fn identify(&mut self, run: &str, name: &str) -> Result<Option<Portion>, Invalid> {
        let Some(recording) = &mut self.recording else { return Ok(None) };
        let before = recording.ring.swap(Rows::default());
        recording.ring.place(run, name);
        recording.subscriber = name.to_owned();
        for (key, party) in recording.parties.clone() {
            recording.describe(key, party)?;
        }
        Ok(Some(before))
    }

    /// What is known of a subscription, for the records: it is the broker's number `party.number`.
    pub fn describe(&mut self, key: u32, party: Party) -> Result<(), Invalid> {
        let is_open = self.mailboxes.contains_key(&key);
        match &mut self.recording {
            Some(recording) if is_open => recording.describe(key, party),
            _ => Ok(()),
        }
    }

    pub(super) fn forget_party(&mut self, key: u32) {
        if let Some(recording) = &mut self.recording {
            recording.parties.remove(&key);
            recording.ring.forget_party(key);
        }
    }

    /// What was recorded since the last time, if records are kept; goes on with `rows` (see [`Ring::swap`]).
    pub fn swap_records(&mut self, rows: Rows) -> Option<Portion> {
        self.recording.as_mut().map(|recording| recording.ring.swap(rows))
    }
}
