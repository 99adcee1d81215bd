//! How a client goes: it gets nothing more at once, and what it had is given back in portions.
//!
//! A client may have thousands of subscriptions, flows and messages. Whoever drives the engine chooses how much of them
//! ends at a time, so that no single action grows with the client.

use crate::effort::Effort;
use crate::engine::Engine;
use crate::error::ChangeError;
use crate::id::{ClientId, Nanos};
use crate::record::Outcome;

/// Units of the end of a flow.
pub const FLOW_UNITS: usize = 8;
/// Units of the end of a subscription, beside its topics and a unit for each comparison of its filter.
const SUBSCRIPTION: usize = 16;
/// Units of a message that is abandoned, beside the subscriptions that it is for.
const MESSAGE: usize = 4;

impl Engine {
    /// A client is gone: its subscriptions end, what waits for it is abandoned, and what it has
    /// published is still forwarded.
    pub fn disconnect(&mut self, id: ClientId) -> Result<(), ChangeError> {
        self.mute(id)?;
        self.disconnect_some(id, &mut Effort::ALL.clone())?;
        self.spread_some(&mut Effort::ALL.clone());
        Ok(())
    }

    /// Nothing more is queued for the client. What waits for it can still be taken, until it is disconnected.
    pub fn mute(&mut self, id: ClientId) -> Result<(), ChangeError> {
        let client = self.tables.client_mut(id).ok_or_else(|| ChangeError::unknown("client", id.0))?;
        client.muted = true;
        Ok(())
    }

    /// Ends flows and subscriptions of a muted client as far as the effort goes; whether all have ended.
    pub fn retire_some(&mut self, id: ClientId, effort: &mut Effort) -> Result<bool, ChangeError> {
        while !effort.is_spent() {
            let client = self.tables.client_mut(id).ok_or_else(|| ChangeError::unknown("client", id.0))?;
            if let Some((_, flow)) = client.flows.pop() {
                effort.spend(FLOW_UNITS);
                if self.queues.owner(flow).is_some() {
                    self.unadvertise(flow)?;
                }
            } else if let Some(subscription) = client.subscriptions.pop() {
                effort.spend(SUBSCRIPTION + self.matcher.comparisons(subscription));
                self.end_subscription(subscription)?;
            } else {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a muted client out as far as the effort goes; whether it is gone.
    pub fn disconnect_some(&mut self, id: ClientId, effort: &mut Effort) -> Result<bool, ChangeError> {
        if !self.retire_some(id, effort)? || !self.abandon_some(id, effort) {
            return Ok(false);
        }
        if let Some(client) = self.tables.clients.get_mut(id.0) {
            client.gone = true;
            self.tables.client_names.remove(&client.name);
        }
        self.overflowed.retain(|&client| client != id);
        self.ready.clients.retain(|&client| client != id);
        self.ready_guarded.clients.retain(|&client| client != id);
        self.tables.forget_client(id);
        Ok(true)
    }

    /// Abandons what waits for a client as far as the effort goes; whether nothing is left.
    fn abandon_some(&mut self, client: ClientId, effort: &mut Effort) -> bool {
        let mut lost = Vec::new();
        let mut is_left = true;
        while is_left && !effort.is_spent() {
            let entry = self.tables.clients.get_mut(client.0);
            let outgoing = entry.and_then(|entry| entry.pop(Nanos::MIN, &mut lost));
            is_left = outgoing.is_some();
            if let Some(outgoing) = outgoing {
                let delivery = self.deliveries.get(outgoing.token);
                effort
                    .spend(MESSAGE + delivery.map_or(0, |delivery| delivery.subscriptions.as_slice().len()));
                self.close(outgoing.token, Outcome::Lost);
            }
        }
        self.bury(&mut lost);
        !is_left
    }
}
