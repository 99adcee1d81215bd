//! How subscriptions begin and end: topics are told one after the other, as far as an effort goes.

use crate::effort::Effort;
use crate::engine::primitives::bounded;
use crate::engine::tables::Subscription;
use crate::engine::{Engine, Need};
use crate::error::{ChangeError, Invalid};
use crate::frame::LIMIT_BYTES;
use crate::id::{ClientId, SubscriptionId};
use crate::matching::topic::check_pattern;
use crate::matching::{Errand, Filter};
use crate::output::TERMS_MAX;
use crate::record::Party;

/// Subscriptions of a client with terms at most: a message may match all of them and one without.
const WITH_TERMS_MAX: usize = TERMS_MAX - 1;

impl Engine {
    /// `client` receives what matches `pattern` and `filter` from now on.
    pub fn subscribe(
        &mut self,
        client: ClientId,
        pattern: &str,
        filter: Option<&Filter>,
        need: &Need,
    ) -> Result<SubscriptionId, ChangeError> {
        let id = self.begin_subscribe(client, pattern, filter, need)?;
        self.spread_some(&mut Effort::ALL.clone());
        Ok(id)
    }

    /// `client` receives what matches, from each topic when that has been told.
    pub fn begin_subscribe(
        &mut self,
        client: ClientId,
        pattern: &str,
        filter: Option<&Filter>,
        need: &Need,
    ) -> Result<SubscriptionId, ChangeError> {
        check_pattern(pattern)?;
        let entry = self.tables.client(client).ok_or_else(|| ChangeError::unknown("client", client.0))?;
        if let Some(terms) = &need.terms {
            terms.check(LIMIT_BYTES, &self.config.link)?;
            if entry.with_terms >= WITH_TERMS_MAX {
                let expected = format!("at most {WITH_TERMS_MAX} subscriptions of a client with terms");
                return Err(Invalid::new("terms", entry.with_terms + 1, expected).into());
            }
        }
        let id = SubscriptionId(bounded("subscriptions", self.tables.subscriptions.next())?);
        if let Some(records) = &mut self.records {
            records.describe(id.0, Party::new(&entry.name, id.0, need.terms, need.bound_ns))?;
        }
        let errand = self.matcher.begin_subscribe(id, pattern, filter)?;
        let (terms, pattern) = (need.terms, pattern.into());
        self.tables.subscriptions.insert(Subscription {
            client,
            pattern,
            terms,
            pending: 0,
            errands: 0,
            gone: false,
        });
        self.send_out(id, errand);
        if let Some(entry) = self.tables.client_mut(client) {
            entry.subscriptions.push(id);
            entry.with_terms += usize::from(terms.is_some());
        }
        Ok(id)
    }

    /// A subscription ends. What already waits for its client is still delivered.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> Result<(), ChangeError> {
        self.begin_unsubscribe(id)?;
        self.spread_some(&mut Effort::ALL.clone());
        Ok(())
    }

    /// A subscription ends at once, though not all topics have been told.
    pub fn begin_unsubscribe(&mut self, id: SubscriptionId) -> Result<(), ChangeError> {
        self.end_subscription(id)?;
        let client = self.tables.subscriptions.get(id.0).map(|entry| entry.client);
        if let Some(client) = client.and_then(|client| self.tables.clients.get_mut(client.0)) {
            client.subscriptions.retain(|&other| other != id);
        }
        Ok(())
    }

    /// The same, but for the list of its client.
    pub(super) fn end_subscription(&mut self, id: SubscriptionId) -> Result<(), ChangeError> {
        let errand = self.matcher.begin_unsubscribe(id)?;
        if let Some(entry) = self.tables.subscriptions.get_mut(id.0) {
            entry.gone = true;
            if let Some(client) = self.tables.clients.get_mut(entry.client.0) {
                client.with_terms -= usize::from(entry.terms.is_some());
            }
        }
        self.send_out(id, errand);
        Ok(())
    }

    fn send_out(&mut self, id: SubscriptionId, errand: Errand) {
        if let Some(entry) = self.tables.subscriptions.get_mut(id.0) {
            entry.errands += 1;
        }
        self.errands.push((id, errand));
    }

    /// Whether topics have to be told of subscriptions.
    #[inline]
    pub fn is_spreading(&self) -> bool {
        !self.errands.is_empty()
    }

    /// Whether all topics have been told of a subscription, or of its end.
    pub fn is_spread(&self, id: SubscriptionId) -> bool {
        self.tables.subscriptions.get(id.0).is_none_or(|entry| entry.errands == 0)
    }

    /// Tells topics of subscriptions, the latest first, as far as the effort goes.
    pub fn spread_some(&mut self, effort: &mut Effort) {
        while let Some((id, errand)) = self.errands.last_mut() {
            let id = *id;
            if !self.matcher.run(errand, effort) {
                return;
            }
            self.errands.pop();
            if let Some(entry) = self.tables.subscriptions.get_mut(id.0) {
                entry.errands -= 1;
            }
            self.tables.forget_subscription(id);
        }
    }

    /// The client that a subscription belongs to.
    pub fn subscriber(&self, id: SubscriptionId) -> Option<ClientId> {
        self.tables.subscriptions.get(id.0).filter(|entry| !entry.gone).map(|entry| entry.client)
    }
}
