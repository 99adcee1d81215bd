//! The VOQ matrix: one bounded queue per (client, topic), message priorities inside.
//!
//! A *flow* is what one client publishes on one topic. Its messages wait in a *lane*: a lane per
//! flow where the input stage polls clients in turn (`twrr`, `smooth`), a lane per topic where it
//! takes a topic's messages in the order of arrival (`fair`, `edf`). Either way the bound on
//! waiting messages is per flow, so that a client fills its own queue and nobody else's.
//!
//! An idle flow costs 32 bytes here.

use crate::error::{ChangeError, Invalid};
use crate::id::{ClientId, FlowId, Nanos, TopicId};
use crate::lane::{Blocks, Lane};
use crate::store::{Entry, MESSAGES_MAX, MessageId, QUANTA_MAX, Store};

/// Priorities inside a topic: 0 (normal) to 7 (most urgent).
pub const PRIORITIES: u8 = 8;
/// Waiting messages per flow at most.
pub const CAPACITY_MAX: u32 = 65_535;

/// What shares a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// Every flow has its own.
    PerFlow,
    /// All flows of a topic share one, in the order of arrival.
    PerTopic,
}

/// Why a message was not taken in. The queues are as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// No such flow, or it has been closed.
    #[error("unknown {0}")]
    UnknownFlow(FlowId),
    /// As many messages wait as the flow may have.
    #[error("{flow} is full: {capacity} messages wait")]
    Full {
        /// The flow.
        flow: FlowId,
        /// Its capacity in messages.
        capacity: u32,
    },
    /// Larger than the flow's offer.
    #[error("message of {size_bytes} bytes on {flow}: the offer allows {limit_bytes}")]
    TooLarge {
        /// The flow.
        flow: FlowId,
        /// Size of the frame.
        size_bytes: u32,
        /// What the offer allows.
        limit_bytes: u32,
    },
    /// As many messages are stored, for all flows together, as there may be.
    #[error("message on {flow}: {capacity} messages are stored, and no more can be")]
    StoreFull {
        /// The flow.
        flow: FlowId,
        /// Messages that can be stored.
        capacity: usize,
    },
    /// Priority above 7.
    #[error("priority {0}: expected 0 to 7")]
    Priority(u8),
}

#[derive(Clone, Debug)]
struct Flow {
    lane: Lane,
    client: ClientId,
    topic: TopicId,
    /// A number that the input stage keeps here.
    seat: u32,
    limit_bytes: u32,
    waiting: u16,
    /// 0: closed.
    capacity: u16,
}

/// How many bytes an idle flow costs in the queues.
pub const FLOW_BYTES: usize = size_of::<Flow>();

/// A message that was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Its number.
    pub message: MessageId,
    /// Its lane was empty before: the input stage is to be told.
    pub first: bool,
}

/// What one quantum of service did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The message it was spent on.
    pub message: MessageId,
    /// Whose message it is.
    pub flow: FlowId,
    /// The message is complete and has left its queue.
    pub complete: bool,
}

/// Bounds of one flow's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Waiting messages at most.
    pub capacity: u32,
    /// Size of one frame at most.
    pub limit_bytes: u32,
}

impl Bounds {
    fn checked_capacity(&self) -> Result<u16, Invalid> {
        if !(1..=CAPACITY_MAX).contains(&self.capacity) {
            return Err(Invalid::new("capacity", self.capacity, format!("1 to {CAPACITY_MAX} messages")));
        }
        Ok(self.capacity as u16)
    }
}

/// All input queues.
#[derive(Debug)]
pub struct Queues {
    lanes: Lanes,
    fragment_bytes: u32,
    header_bytes: u32,
    flows: Vec<Flow>,
    topics: Vec<Lane>,
    blocks: Blocks,
    waiting: usize,
    /// The messages themselves.
    pub store: Store,
}

impl Queues {
    /// No flow yet. A message takes one quantum per started `fragment_bytes`.
    pub fn new(lanes: Lanes, fragment_bytes: u32) -> Result<Self, Invalid> {
        if fragment_bytes == 0 {
            return Err(Invalid::new("fragment_bytes", fragment_bytes, "at least 1"));
        }
        Ok(Self {
            lanes,
            fragment_bytes,
            header_bytes: 0,
            flows: Vec::new(),
            topics: Vec::new(),
            blocks: Blocks::default(),
            waiting: 0,
            store: Store::default(),
        })
    }

    /// The first bytes of every frame do not count towards its fragments.
    pub fn with_header(self, header_bytes: u32) -> Self {
        Self { header_bytes, ..self }
    }

    /// So many flows and topics come without the others being moved.
    pub fn reserve(&mut self, count: usize) {
        self.flows.reserve(count);
        self.topics.reserve(count);
    }

    /// Opens the queue of `flow`; the caller numbers flows and topics densely from 0.
    pub fn open(
        &mut self,
        flow: FlowId,
        client: ClientId,
        topic: TopicId,
        bounds: Bounds,
    ) -> Result<(), ChangeError> {
        let capacity = bounds.checked_capacity()?;
        if self.flows.get(flow.index()).is_some_and(|there| there.capacity != 0 || there.waiting != 0) {
            return Err(ChangeError::duplicate("flow", flow));
        }
        let vacant =
            Flow { lane: Lane::EMPTY, client, topic, seat: 0, limit_bytes: 0, waiting: 0, capacity: 0 };
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, vacant.clone());
        }
        if topic.index() >= self.topics.len() {
            self.topics.resize(topic.index() + 1, Lane::EMPTY);
        }
        self.flows[flow.index()] = Flow { capacity, limit_bytes: self.limit_bytes(bounds), ..vacant };
        Ok(())
    }

    /// Opens a closed flow again, with other bounds; what waits in it counts against them.
    pub fn reopen(&mut self, flow: FlowId, bounds: Bounds) -> Result<(), ChangeError> {
        let (capacity, limit_bytes) = (bounds.checked_capacity()?, self.limit_bytes(bounds));
        match self.flows.get_mut(flow.index()) {
            Some(closed) if closed.capacity == 0 => {
                (closed.capacity, closed.limit_bytes) = (capacity, limit_bytes);
                Ok(())
            }
            Some(_) => Err(ChangeError::duplicate("flow", flow)),
            None => Err(ChangeError::unknown("flow", flow)),
        }
    }

    /// What the bounds allow, but no more than a message can have quanta.
    fn limit_bytes(&self, bounds: Bounds) -> u32 {
        bounds.limit_bytes.min(self.fragment_bytes.saturating_mul(QUANTA_MAX))
    }

    /// Closes a flow to new messages; those that wait are still served.
    pub fn close(&mut self, flow: FlowId) -> Result<(), ChangeError> {
        match self.flows.get_mut(flow.index()) {
            Some(open) if open.capacity != 0 => {
                open.capacity = 0;
                Ok(())
            }
            _ => Err(ChangeError::unknown("flow", flow)),
        }
    }

    /// Enters a message at the end of its flow's queue.
    #[inline]
    pub fn push(&mut self, now: Nanos, flow: FlowId, priority: u8, frame: &[u8]) -> Result<Pushed, Rejected> {
        let has_room = !self.store.is_full();
        self.enter(now, flow, priority, frame, has_room)
    }

    /// The same for a message that was promised its place: what others have stored does not keep it out.
    #[inline]
    pub fn push_promised(
        &mut self,
        now: Nanos,
        flow: FlowId,
        priority: u8,
        frame: &[u8],
    ) -> Result<Pushed, Rejected> {
        let has_room = self.store.len() < MESSAGES_MAX;
        self.enter(now, flow, priority, frame, has_room)
    }

    #[inline]
    fn enter(
        &mut self,
        now: Nanos,
        flow: FlowId,
        priority: u8,
        frame: &[u8],
        has_room: bool,
    ) -> Result<Pushed, Rejected> {
        let quanta = self.accept(flow, priority, frame, has_room)?;
        let id = self.store.insert(Entry { flow, priority, quanta, ingress_ns: now }, frame);
        self.flows[flow.index()].waiting += 1;
        self.waiting += 1;
        Ok(Pushed { message: id, first: self.append(flow, priority, id) })
    }

    /// The quanta that the message will take, if it may enter now.
    #[inline]
    fn accept(&self, flow: FlowId, priority: u8, frame: &[u8], has_room: bool) -> Result<u32, Rejected> {
        let size_bytes = self.check(flow, priority, frame)?;
        let entry = &self.flows[flow.index()];
        if entry.waiting >= entry.capacity {
            return Err(Rejected::Full { flow, capacity: u32::from(entry.capacity) });
        }
        if !has_room {
            return Err(Rejected::StoreFull { flow, capacity: self.store.capacity() });
        }
        let content_bytes = size_bytes.saturating_sub(self.header_bytes);
        Ok(if content_bytes <= self.fragment_bytes { 1 } else { content_bytes.div_ceil(self.fragment_bytes) })
    }

    /// The size of a message that may enter its flow, if there is room.
    #[inline]
    pub fn check(&self, flow: FlowId, priority: u8, frame: &[u8]) -> Result<u32, Rejected> {
        let Some(entry) = self.flows.get(flow.index()).filter(|entry| entry.capacity != 0) else {
            return Err(Rejected::UnknownFlow(flow));
        };
        if priority >= PRIORITIES {
            return Err(Rejected::Priority(priority));
        }
        let size_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        if size_bytes > entry.limit_bytes {
            return Err(Rejected::TooLarge { flow, size_bytes, limit_bytes: entry.limit_bytes });
        }
        Ok(size_bytes)
    }

    #[inline]
    fn append(&mut self, flow: FlowId, priority: u8, id: MessageId) -> bool {
        let lane = match self.lanes {
            Lanes::PerFlow => &mut self.flows[flow.index()].lane,
            Lanes::PerTopic => &mut self.topics[self.flows[flow.index()].topic.index()],
        };
        let was_empty = lane.is_empty();
        if let Some(before) = lane.append(&mut self.blocks, priority, id) {
            self.store.message_mut(before).next = id.0;
        }
        was_empty
    }

    #[inline]
    fn lane(&self, at: usize) -> &Lane {
        match self.lanes {
            Lanes::PerFlow => &self.flows[at].lane,
            Lanes::PerTopic => &self.topics[at],
        }
    }

    /// The message that the next quantum of a lane is spent on; lanes are numbered by flow or topic.
    #[inline]
    pub fn head(&self, lane: usize) -> Option<MessageId> {
        self.lane(lane).head(&self.blocks)
    }

    /// When the message of a lane that has waited longest came in, whatever its priority.
    #[inline]
    pub fn oldest_ns(&self, lane: usize) -> Option<Nanos> {
        let lane = self.lane(lane);
        let ingress_ns = |id| self.store.message(id).ingress_ns;
        if lane.has_urgent() {
            return lane.heads(&self.blocks).map(ingress_ns).min();
        }
        lane.head(&self.blocks).map(ingress_ns)
    }

    /// Whether a lane has no message.
    #[inline]
    pub fn is_lane_empty(&self, lane: usize) -> bool {
        self.lane(lane).is_empty()
    }

    /// Spends one quantum on the head of a lane.
    #[inline]
    pub fn serve(&mut self, now: Nanos, lane: usize) -> Option<Served> {
        let id = self.head(lane)?;
        let message = self.store.message_mut(id);
        let (flow, next, complete) = (message.flow, message.next, message.spend());
        if complete {
            message.selected_ns = now;
            self.unlink(lane, next);
            self.flows[flow.index()].waiting -= 1;
            self.waiting -= 1;
        }
        Some(Served { message: id, flow, complete })
    }

    /// Takes the head of a lane out; `next` follows it.
    #[inline]
    fn unlink(&mut self, lane: usize, next: u32) {
        let lane = match self.lanes {
            Lanes::PerFlow => &mut self.flows[lane].lane,
            Lanes::PerTopic => &mut self.topics[lane],
        };
        lane.unlink(&mut self.blocks, next);
    }

    /// Messages of a flow that wait.
    pub fn waiting(&self, flow: FlowId) -> u32 {
        self.flows.get(flow.index()).map_or(0, |entry| u32::from(entry.waiting))
    }

    /// Messages that wait in all queues together.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whose flow it is and on which topic, if it is open.
    #[inline]
    pub fn owner(&self, flow: FlowId) -> Option<(ClientId, TopicId)> {
        self.flows
            .get(flow.index())
            .filter(|entry| entry.capacity != 0)
            .map(|entry| (entry.client, entry.topic))
    }

    /// How many more messages a flow can take; 0 if it is not open. Asking for a batch of flows
    /// before pushing lets their memory arrive together.
    #[inline]
    pub fn room(&self, flow: FlowId) -> u32 {
        self.flows
            .get(flow.index())
            .map_or(0, |entry| u32::from(entry.capacity.saturating_sub(entry.waiting)))
    }

    /// Keeps a number of the input stage with the flow.
    pub(crate) fn set_seat(&mut self, flow: FlowId, seat: u32) {
        self.flows[flow.index()].seat = seat;
    }

    /// The number that the input stage keeps with the flow.
    #[inline]
    pub(crate) fn seat(&self, flow: FlowId) -> u32 {
        self.flows[flow.index()].seat
    }

    /// Topic of a flow that is or was open.
    #[inline]
    pub(crate) fn topic(&self, flow: FlowId) -> TopicId {
        self.flows[flow.index()].topic
    }

    /// Client of a flow that is or was open.
    #[inline]
    pub(crate) fn client(&self, flow: FlowId) -> ClientId {
        self.flows[flow.index()].client
    }

    /// Whether a flow is closed and has no message left, so that its number can be used again.
    pub fn is_drained(&self, flow: FlowId) -> bool {
        self.flows.get(flow.index()).is_none_or(|entry| entry.capacity == 0 && entry.waiting == 0)
    }

    /// What shares a lane.
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_would_have_no_number_is_refused() {
        let mut queues = Queues::new(Lanes::PerFlow, 64).unwrap();
        let bounds = Bounds { capacity: 9, limit_bytes: 64 };
        queues.open(FlowId(0), ClientId(0), TopicId(0), bounds).unwrap();
        queues.store.limit(1);
        queues.push(0, FlowId(0), 0, b"").unwrap();
        assert_eq!(
            queues.push(0, FlowId(0), 0, b""),
            Err(Rejected::StoreFull { flow: FlowId(0), capacity: 1 })
        );
        assert_eq!(queues.len(), 1);
    }
}
