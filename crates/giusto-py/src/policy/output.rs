//! An output policy written in Python: it ranks, the adapter keeps the messages and drops the expired.

use std::collections::{BTreeMap, BTreeSet};

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{Arrival, Outgoing, OutputStage};
use pyo3::prelude::*;

use super::{Complaint, Object};
use crate::errors::Raise;
use crate::output::{PyOutgoing, PyTerms};

/// Calls `push(number, message, terms)`, `choose(now_ns)`, which returns a number, and `remove(number)`.
#[derive(Debug)]
pub(crate) struct PythonOutput {
    object: Object,
    /// By the order of arrival: the message, and the last instant at which it is worth sending.
    waiting: BTreeMap<u64, (Outgoing, Nanos)>,
    expiries: BTreeSet<(Nanos, u64)>,
    arrivals: u64,
}

impl PythonOutput {
    pub(crate) fn new(factory: &Py<PyAny>, complaint: Complaint) -> Self {
        let object = Object::new(factory, complaint);
        Self { object, waiting: BTreeMap::new(), expiries: BTreeSet::new(), arrivals: 0 }
    }

    fn take(&mut self, number: u64) -> Option<Outgoing> {
        let (message, alive_until_ns) = self.waiting.remove(&number)?;
        self.expiries.remove(&(alive_until_ns, number));
        self.object.with(|object| object.call_method1("remove", (number,)).map(drop));
        Some(message)
    }
}

impl OutputStage for PythonOutput {
    fn push(&mut self, arrival: &Arrival<'_>) {
        let number = self.arrivals;
        self.arrivals += 1;
        self.waiting.insert(number, (*arrival.message, arrival.alive_until_ns));
        if arrival.alive_until_ns < Nanos::MAX {
            self.expiries.insert((arrival.alive_until_ns, number));
        }
        self.object.with(|object| {
            let terms: Vec<PyTerms> = arrival.terms.iter().copied().map(PyTerms).collect();
            object.call_method1("push", (number, PyOutgoing(*arrival.message), terms)).map(drop)
        });
    }

    fn pop(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) -> Option<Outgoing> {
        self.expire(now, expired);
        if self.waiting.is_empty() {
            return None;
        }
        let waiting = &self.waiting;
        let number = self.object.with(|object| {
            let chosen = object.call_method1("choose", (now,))?;
            let known = chosen.extract().ok().filter(|number| waiting.contains_key(number));
            known.ok_or_else(|| Invalid::new("choose", chosen, "the number of a message that waits").raise())
        });
        self.take(number?)
    }

    fn expire(&mut self, now: Nanos, expired: &mut Vec<Outgoing>) {
        while let Some(&(alive_until_ns, number)) = self.expiries.first() {
            if now <= alive_until_ns {
                return;
            }
            expired.extend(self.take(number));
        }
    }

    fn evict_oldest(&mut self) -> Option<Outgoing> {
        let oldest = self.waiting.keys().next().copied();
        oldest.and_then(|number| self.take(number))
    }

    fn extract(&mut self, is_chosen: &dyn Fn(u32) -> bool) -> Vec<Outgoing> {
        let is_taken = |(_, (message, _)): &(&u64, &(Outgoing, Nanos))| is_chosen(message.token);
        let numbers: Vec<u64> = self.waiting.iter().filter(is_taken).map(|(number, _)| *number).collect();
        numbers.into_iter().filter_map(|number| self.take(number)).collect()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
