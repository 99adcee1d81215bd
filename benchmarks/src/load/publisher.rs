//! Sends messages that were encoded before: stamps them where they lie and writes as many as may go.

use std::io;

use super::arguments::Arguments;
use crate::dialect::{Dialect, Piece, Template};
use crate::wire::Wire;

/// What is written at once: more does not make anybody faster.
const BATCH_BYTES: usize = 64 * 1024;
const INPUT_BYTES: usize = 16 * 1024;

/// A connection that publishes the same number of messages on each of its topics.
pub(super) struct Publisher {
    dialect: &'static dyn Dialect,
    wire: Wire,
    batch: Vec<u8>,
    form: Template,
    flows: usize,
    credits: Vec<Credit>,
    sent: u64,
}

/// How many messages of one flow may still be sent.
struct Credit {
    stream: u32,
    left: u64,
    granted: u64,
}

impl Publisher {
    /// Connects and advertises.
    pub(super) fn open(arguments: &Arguments, topics: &[String]) -> io::Result<Self> {
        let mut wire = Wire::connect(arguments.address, INPUT_BYTES)?;
        let forms = arguments.dialect.advertise(&mut wire, topics, arguments.shape)?;
        if forms.windows(2).any(|pair| pair[0].bytes.len() != pair[1].bytes.len()) {
            return Err(io::Error::other("topics of one connection need names of one length"));
        }
        let round: Vec<u8> = forms.iter().flat_map(|form| &form.bytes).copied().collect();
        let grants = forms.iter().filter_map(|form| form.grant);
        Ok(Self {
            dialect: arguments.dialect,
            wire,
            batch: round.repeat((BATCH_BYTES / round.len().max(1)).max(1)),
            flows: forms.len(),
            credits: grants.map(|(stream, left)| Credit { stream, left, granted: left }).collect(),
            form: forms.into_iter().next().ok_or_else(|| io::Error::other("no topic"))?,
            sent: 0,
        })
    }

    /// How many topics it publishes on.
    pub(super) fn flows(&self) -> usize {
        self.flows
    }

    /// Messages sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends up to `limit` messages, or a batch if that is less; waits until at least one may go.
    pub(super) fn publish(&mut self, limit: usize, t_intended_ns: i64) -> io::Result<()> {
        while self.publish_now(limit, t_intended_ns)? == 0 {
            self.wire.receive()?;
            self.collect_credits()?;
        }
        Ok(())
    }

    /// Sends what may go at once, up to `limit`, the same number for each flow; returns how many.
    pub(super) fn publish_now(&mut self, limit: usize, t_intended_ns: i64) -> io::Result<usize> {
        if self.credits.iter().any(|credit| credit.left <= credit.granted / 2) && self.wire.receive_now()? {
            self.collect_credits()?;
        }
        let per_flow = self.credits.iter().map(|credit| credit.left as usize).min().unwrap_or(usize::MAX);
        let most = limit.min(self.batch.len() / self.form.bytes.len());
        let count = (most / self.flows).min(per_flow) * self.flows;
        if count > 0 {
            self.stamp(count, t_intended_ns);
            self.wire.send(&self.batch[..count * self.form.bytes.len()])?;
            self.sent += count as u64;
            let spent = (count / self.flows) as u64;
            self.credits.iter_mut().for_each(|credit| credit.left -= spent);
        }
        Ok(count)
    }

    fn stamp(&mut self, count: usize, t_intended_ns: i64) {
        let payload_at = self.form.payload_at;
        let messages = self.batch.chunks_exact_mut(self.form.bytes.len()).take(count);
        for (sequence, message) in (self.sent..).zip(messages) {
            message[payload_at..payload_at + 8].copy_from_slice(&t_intended_ns.to_le_bytes());
            message[payload_at + 8..payload_at + 16].copy_from_slice(&sequence.to_le_bytes());
            if let Some(at) = self.form.sequence_at {
                message[at..at + 8].copy_from_slice(&(sequence / self.flows as u64).to_le_bytes());
            }
        }
    }

    fn collect_credits(&mut self) -> io::Result<()> {
        loop {
            let length = match self.dialect.piece(self.wire.unread())? {
                Piece::Partial => return Ok(()),
                Piece::Credit { stream, amount, length } => {
                    let known = self.credits.iter_mut().find(|credit| credit.stream == stream);
                    known.into_iter().for_each(|credit| credit.left += amount);
                    length
                }
                Piece::Message { length, .. } | Piece::Other { length } => length,
            };
            self.wire.consume(length);
        }
    }
}
