//! A queue of messages with priorities inside: first the most urgent, first come of equals.
//!
//! A lane is a list for priority 0, which nearly every message has, and borrows a block of lists
//! for priorities 1 to 7 only while it has such messages: an empty lane is 12 bytes. The links of
//! the lists lie in the messages; a lane only says where they begin and end.

use crate::store::{MessageId, NONE};

/// Where the lists of one lane begin and end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    head: u32,
    tail: u32,
    /// Block of lists for priorities 1 to 7, if any.
    urgent: u32,
}

/// Lists for priorities 1 to 7 of one lane.
#[derive(Clone, Debug)]
struct Block {
    head: [u32; 7],
    tail: [u32; 7],
    occupied: u8,
}

impl Block {
    const EMPTY: Self = Self { head: [NONE; 7], tail: [NONE; 7], occupied: 0 };

    #[inline]
    fn most_urgent(&self) -> usize {
        7 - self.occupied.leading_zeros() as usize
    }
}

/// The blocks that lanes borrow.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
}

impl Blocks {
    fn borrow(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block::EMPTY);
            self.blocks.len() as u32 - 1
        })
    }
}

impl Lane {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE, urgent: NONE };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE && self.urgent == NONE
    }

    /// Whether a message of priority 1 or more waits.
    #[inline]
    pub(crate) fn has_urgent(&self) -> bool {
        self.urgent != NONE
    }

    /// The message whose turn it is.
    #[inline]
    pub(crate) fn head(&self, blocks: &Blocks) -> Option<MessageId> {
        let head = if self.urgent == NONE {
            self.head
        } else {
            let block = &blocks.blocks[self.urgent as usize];
            block.head[block.most_urgent()]
        };
        (head != NONE).then_some(MessageId(head))
    }

    /// The first message of each priority.
    pub(crate) fn heads(&self, blocks: &Blocks) -> impl Iterator<Item = MessageId> {
        let urgent = blocks.blocks.get(self.urgent as usize).map_or([NONE; 7], |block| block.head);
        urgent.into_iter().chain([self.head]).filter(|&id| id != NONE).map(MessageId)
    }

    /// Appends a message and returns the one before it in its list, which must be linked to it.
    #[inline]
    pub(crate) fn append(&mut self, blocks: &mut Blocks, priority: u8, id: MessageId) -> Option<MessageId> {
        let tail = if priority == 0 {
            let tail = std::mem::replace(&mut self.tail, id.0);
            if tail == NONE {
                self.head = id.0;
            }
            tail
        } else {
            self.append_urgent(blocks, usize::from(priority) - 1, id)
        };
        (tail != NONE).then_some(MessageId(tail))
    }

    fn append_urgent(&mut self, blocks: &mut Blocks, level: usize, id: MessageId) -> u32 {
        if self.urgent == NONE {
            self.urgent = blocks.borrow();
        }
        let block = &mut blocks.blocks[self.urgent as usize];
        let tail = std::mem::replace(&mut block.tail[level], id.0);
        if tail == NONE {
            block.head[level] = id.0;
            block.occupied |= 1 << level;
        }
        tail
    }

    /// Takes the message out whose turn it was; `next` is linked to it.
    #[inline]
    pub(crate) fn unlink(&mut self, blocks: &mut Blocks, next: u32) {
        if self.urgent != NONE {
            self.unlink_urgent(blocks, next);
            return;
        }
        self.head = next;
        if next == NONE {
            self.tail = NONE;
        }
    }

    /// The block goes back with its last message.
    fn unlink_urgent(&mut self, blocks: &mut Blocks, next: u32) {
        let block = &mut blocks.blocks[self.urgent as usize];
        let level = block.most_urgent();
        block.head[level] = next;
        if next == NONE {
            block.tail[level] = NONE;
            block.occupied &= !(1 << level);
        }
        if block.occupied == 0 {
            blocks.free.push(self.urgent);
            self.urgent = NONE;
        }
    }
}
