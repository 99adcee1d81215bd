//! The matrices of [Li11] as they are now: W, MatrixIN and MatrixOUT.

use crate::engine::Engine;
use crate::id::{ClientId, TopicId};
use crate::input::Share;
use crate::matching::topic::matches;

/// Who publishes and receives what. Rows are clients and columns topics, both in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    /// Numbers and names of the rows.
    pub clients: Vec<(ClientId, String)>,
    /// Numbers and names of the columns.
    pub topics: Vec<(TopicId, String)>,
    /// W and what else is allotted, per topic.
    pub shares: Vec<Share>,
    /// Whether a client publishes on a topic.
    pub matrix_in: Vec<Vec<bool>>,
    /// Whether a client has a subscription whose pattern covers a topic.
    pub matrix_out: Vec<Vec<bool>>,
}

impl Engine {
    /// All matrices at this moment. Costs as much as they have entries, times the subscriptions of a client.
    pub fn views(&self) -> Views {
        let topics: Vec<_> = self.tables.topics.iter().filter(|(_, topic)| !topic.gone).collect();
        let clients: Vec<_> = self.tables.clients.iter().filter(|(_, client)| !client.gone).collect();
        let publishes = |client: u32, topic: u32| {
            let flow = self.tables.client(ClientId(client)).and_then(|entry| entry.flow(TopicId(topic)));
            flow.is_some_and(|flow| self.queues.owner(flow).is_some())
        };
        let rows = |entry: &dyn Fn(u32, u32) -> bool| -> Vec<Vec<bool>> {
            let row = |client: u32| topics.iter().map(|&(topic, _)| entry(client, topic)).collect();
            clients.iter().map(|&(client, _)| row(client)).collect()
        };
        Views {
            matrix_in: rows(&publishes),
            matrix_out: rows(&|client, topic| self.receives(client, topic)),
            shares: topics.iter().map(|(_, topic)| topic.share).collect(),
            clients: clients.iter().map(|(id, client)| (ClientId(*id), client.name.to_string())).collect(),
            topics: topics.iter().map(|(id, topic)| (TopicId(*id), topic.name.to_string())).collect(),
        }
    }

    fn receives(&self, client: u32, topic: u32) -> bool {
        let Some(topic) = self.tables.topics.get(topic) else { return false };
        let covers = |pattern: &str| matches(pattern, &topic.name);
        self.tables.client(ClientId(client)).is_some_and(|entry| {
            let mut own = entry.subscriptions.iter().filter_map(|id| self.tables.subscriptions.get(id.0));
            own.any(|subscription| covers(&subscription.pattern))
        })
    }
}
