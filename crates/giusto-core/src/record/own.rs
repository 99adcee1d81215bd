//! Which messages are the bus's own and leave no record: whoever reads records through the bus would make more of them.

use crate::id::{ClientId, TopicId};

/// Topics of the bus itself: requests to it, models, verdicts.
const OWN: &str = "$giusto/";
/// Topics that replies come on.
const REPLY: &str = "_reply/";
/// Clients that are a part of the broker's process.
const STEWARD: &str = "$steward/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Others,
    Reply,
    Own,
}

/// What is known of topics and publishers, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    topics: Vec<Kind>,
    stewards: Vec<bool>,
}

impl Own {
    /// The topic `id` has this name from now on.
    pub(super) fn name_topic(&mut self, id: u32, name: &str) {
        let kind = match name {
            _ if name.starts_with(OWN) => Kind::Own,
            _ if name.starts_with(REPLY) => Kind::Reply,
            _ => Kind::Others,
        };
        put(&mut self.topics, id, kind, Kind::Others);
    }

    /// The publisher `id` has this name from now on.
    pub(super) fn name_publisher(&mut self, id: u32, name: &str) {
        put(&mut self.stewards, id, name.starts_with(STEWARD), false);
    }

    /// Whether a message on this topic of this publisher is one of the bus itself.
    #[inline]
    pub(super) fn has(&self, topic: TopicId, publisher: ClientId) -> bool {
        match self.topics.get(topic.0 as usize) {
            None | Some(Kind::Others) => false,
            Some(Kind::Own) => true,
            Some(Kind::Reply) => self.stewards.get(publisher.0 as usize).copied().unwrap_or(false),
        }
    }
}

/// Sets a value by number; most are `usual`, and the end of them is not kept.
fn put<T: Copy + PartialEq>(values: &mut Vec<T>, id: u32, value: T, usual: T) {
    let index = id as usize;
    if values.len() <= index {
        if value == usual {
            return;
        }
        values.resize(index + 1, usual);
    }
    values[index] = value;
}
