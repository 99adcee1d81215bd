//! How rows become columns again, away from the thread that forwards: portions in, batches out, in the same order.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{Batch, Column};
use super::column::Optional;
use super::ring::{PROMISED, Party, Portion, RECEIVED, Row, SELECTED, SENT_ON};
use super::roster::NO_ROW;
use crate::id::Nanos;

/// What the rows of the portions so far stand for.
#[derive(Clone, Debug)]
pub struct Unfolding {
    run: Arc<str>,
    node: Arc<str>,
    hop: u16,
    topics: Vec<Arc<str>>,
    publishers: Vec<Arc<str>>,
    parties: Vec<Party>,
}

impl Unfolding {
    /// For the portions of one ring, whose records are of this run, node and hop.
    pub fn new(run: &str, node: &str, hop: u16) -> Self {
        Self {
            run: run.into(),
            node: node.into(),
            hop,
            topics: Vec::new(),
            publishers: Vec::new(),
            parties: Vec::new(),
        }
    }

    /// The records of a portion; portions come in the order in which they were handed over.
    pub fn batch(&mut self, portion: &mut Portion) -> Batch {
        learn(&mut self.topics, &mut portion.topics, &"".into());
        learn(&mut self.publishers, &mut portion.publishers, &"".into());
        learn(&mut self.parties, &mut portion.parties, &Party::new("", 0, None, None));
        let columns = self.columns(&portion.rows);
        Batch { columns, rows: portion.rows.len(), dropped: portion.dropped, skipped: portion.skipped }
    }

    /// In the order of the schema.
    fn columns(&self, rows: &[Row]) -> Vec<(&'static str, Column)> {
        let int64 = |of: fn(&Row) -> i64| Column::Int64(rows.iter().map(of).collect());
        let marked = |mark: u8, of: fn(&Row) -> i64| {
            optional(rows, move |row| (row.marks & mark != 0).then(|| of(row)))
        };
        let party = |row: &Row| self.parties.get(row.party as usize);
        let worth = |row: &Row| party(row).and_then(|party| party.worth);
        let bound =
            |row: &Row| party(row).filter(|_| row.marks & PROMISED != 0).and_then(|party| party.bound_ns);
        vec![
            ("run", constant(rows, &self.run)),
            ("node", constant(rows, &self.node)),
            ("hop", Column::Int32(vec![self.hop.into(); rows.len()])),
            ("topic", names(rows, |row| row.topic, |row| self.topics.get(row))),
            ("publisher", names(rows, |row| row.publisher, |row| self.publishers.get(row))),
            ("subscriber", names(rows, |row| row.party, |row| Some(&self.parties.get(row)?.subscriber))),
            ("sequence", int64(|row| row.sequence as i64)),
            ("size_bytes", int64(|row| row.size_bytes.into())),
            ("priority", Column::Int8(rows.iter().map(|row| row.priority as i8).collect())),
            ("t_intended_ns", optional(rows, |row| Some(row.t_intended_ns))),
            ("t_sent_ns", int64(|row| row.t_sent_ns)),
            ("t_ingress_ns", int64(|row| row.t_ingress_ns)),
            ("t_selected_ns", marked(SELECTED, |row| row.t_selected_ns)),
            ("t_egress_ns", marked(SENT_ON, |row| row.t_egress_ns)),
            ("t_received_ns", marked(RECEIVED, |row| row.t_ingress_ns)),
            ("clock_error_ns", Column::Int64(vec![0; rows.len()])),
            ("min_sep_ns", optional(rows, |row| (row.min_sep_ns > 0).then_some(row.min_sep_ns))),
            ("deadline_ns", optional(rows, |row| party(row)?.deadline_ns)),
            ("bound_ns", optional(rows, bound)),
            ("price", amounts(rows, |row| Some(worth(row)?.0))),
            ("penalty", amounts(rows, |row| Some(worth(row)?.1))),
            ("outcome", Column::Outcome(rows.iter().map(|row| row.outcome).collect())),
            ("subscription", optional(rows, |row| Some(party(row)?.number?.into()))),
        ]
    }
}

/// Takes in what rows of a dictionary stand for from now on.
fn learn<T: Clone>(known: &mut Vec<T>, news: &mut Vec<(u32, T)>, nothing: &T) {
    for (row, value) in news.drain(..) {
        let index = row as usize;
        if known.len() <= index {
            known.resize(index + 1, nothing.clone());
        }
        known[index] = value;
    }
}

fn optional(rows: &[Row], of: impl Fn(&Row) -> Option<Nanos>) -> Column {
    Column::OptionalInt64(rows.iter().map(of).collect())
}

fn amounts(rows: &[Row], of: impl Fn(&Row) -> Option<f64>) -> Column {
    Column::OptionalFloat64(rows.iter().map(of).collect())
}

fn constant(rows: &[Row], name: &Arc<str>) -> Column {
    Column::Name { keys: rows.iter().map(|_| Some(0)).collect(), names: vec![Arc::clone(name)] }
}

/// A column of names: its dictionary has those that are used, each once.
fn names<'a>(
    rows: &[Row],
    key: impl Fn(&Row) -> u32,
    name: impl Fn(usize) -> Option<&'a Arc<str>>,
) -> Column {
    let mut dictionary = Used::default();
    let keys: Optional<u32> = rows.iter().map(|row| dictionary.key(key(row), &name)).collect();
    Column::Name { keys, names: dictionary.names }
}

/// The names of one batch.
#[derive(Default)]
struct Used {
    names: Vec<Arc<str>>,
    key_by_name: HashMap<Arc<str>, u32>,
    key_by_row: Vec<u32>,
}

impl Used {
    #[inline]
    fn key<'a>(&mut self, row: u32, name: &impl Fn(usize) -> Option<&'a Arc<str>>) -> Option<u32> {
        match self.key_by_row.get(row as usize) {
            Some(&key) if key != NO_ROW => Some(key),
            _ => self.add(row, name(row as usize)?),
        }
    }

    #[cold]
    fn add(&mut self, row: u32, name: &Arc<str>) -> Option<u32> {
        let next = self.names.len() as u32;
        let key = *self.key_by_name.entry(Arc::clone(name)).or_insert(next);
        if key == next {
            self.names.push(Arc::clone(name));
        }
        let length = self.key_by_row.len().max(row as usize + 1);
        self.key_by_row.resize(length, NO_ROW);
        self.key_by_row[row as usize] = key;
        Some(key)
    }
}
