//! How rows become columns again, away from the thread that forwards: portions in, batches out, in the same order.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{Batch, Column};
use super::column::Optional;
use super::ring::{Party, Portion};
use super::roster::NO_ROW;
use super::row::{PLANNED, PROMISED, Plan, RECEIVED, Row, Rows, SELECTED, SENT_ON};
use crate::id::Nanos;

/// Rows that go into all columns before the next ones do: they stay in the processor's cache meanwhile.
const AT_ONCE: usize = 256;

/// What the numbers of one portion stand for.
#[derive(Clone, Debug)]
pub struct Known {
    run: Arc<str>,
    node: Arc<str>,
    hop: u16,
    topics: Vec<Arc<str>>,
    publishers: Vec<Arc<str>>,
    parties: Vec<Party>,
}

/// What the numbers of the portions so far stand for.
#[derive(Clone, Debug)]
pub struct Unfolding {
    known: Arc<Known>,
}

impl Unfolding {
    /// For the portions of one ring, whose records are of this run, node and hop.
    pub fn new(run: &str, node: &str, hop: u16) -> Self {
        let (run, node) = (run.into(), node.into());
        let known = Known { run, node, hop, topics: Vec::new(), publishers: Vec::new(), parties: Vec::new() };
        Self { known: Arc::new(known) }
    }

    /// Takes in what a portion tells; portions come in the order in which they were handed over.
    pub fn learn(&mut self, portion: &mut Portion) -> Arc<Known> {
        if portion.has_news() {
            Arc::make_mut(&mut self.known).learn(portion);
        }
        Arc::clone(&self.known)
    }
}

impl Known {
    fn learn(&mut self, portion: &mut Portion) {
        if let Some((run, node)) = portion.place.take() {
            (self.run, self.node) = (run, node);
        }
        learn(&mut self.topics, &mut portion.topics, &"".into());
        learn(&mut self.publishers, &mut portion.publishers, &"".into());
        learn(&mut self.parties, &mut portion.parties, &Party::named(""));
    }

    /// The records of the portion.
    pub fn batch(&self, portion: &Portion) -> Batch {
        let columns = self.columns(&portion.rows);
        Batch { columns, rows: portion.rows.rows.len(), dropped: portion.dropped, skipped: portion.skipped }
    }

    /// The run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Brokers passed before this one.
    pub const fn hop(&self) -> u16 {
        self.hop
    }

    /// The name of a row's topic, if it has one.
    pub fn topic(&self, number: u32) -> Option<&str> {
        self.topics.get(number as usize).map(AsRef::as_ref)
    }

    /// The name of a row's publisher, if it has one.
    pub fn publisher(&self, number: u32) -> Option<&str> {
        self.publishers.get(number as usize).map(AsRef::as_ref)
    }

    /// The subscription of a row, if it is for one.
    pub fn party(&self, number: u32) -> Option<&Party> {
        self.parties.get(number as usize)
    }

    /// In the order of the schema.
    fn columns(&self, rows: &Rows) -> Vec<(&'static str, Column)> {
        let mut parts = self.parts(rows);
        for some in rows.rows.chunks(AT_ONCE) {
            parts.iter_mut().for_each(|(_, part)| part.extend(some));
        }
        parts.into_iter().map(|(name, part)| (name, part.finish())).collect()
    }

    fn parts<'a>(&'a self, rows: &'a Rows) -> Vec<(&'static str, Box<dyn Part + 'a>)> {
        let count = rows.rows.len();
        let party = |row: &Row| self.parties.get(row.party as usize);
        let worth = move |row: &Row| party(row).and_then(|party| party.worth);
        let bound = move |row: &Row| {
            party(row).filter(|_| row.marks & PROMISED != 0).and_then(|party| party.bound_ns)
        };
        let (mut intended, mut separated) = (plans(rows), plans(rows));
        let intended = move |row: &Row| Some(intended(row).map_or(row.t_sent_ns, |plan| plan.t_intended_ns));
        let separated = move |row: &Row| Some(separated(row)?.min_sep_ns).filter(|&span| span > 0);
        let marked = |row: &Row, mark: u8, at_ns: Nanos| (row.marks & mark != 0).then_some(at_ns);
        vec![
            ("run", one_name(count, &self.run)),
            ("node", one_name(count, &self.node)),
            ("hop", whole(Column::Int32(vec![self.hop.into(); count]))),
            ("topic", names(count, |row| row.topic, |row| self.topics.get(row))),
            ("publisher", names(count, |row| row.publisher, |row| self.publishers.get(row))),
            ("subscriber", names(count, |row| row.party, |row| Some(&self.parties.get(row)?.subscriber))),
            ("sequence", plain(count, |row| row.sequence as i64, Column::Int64)),
            ("size_bytes", plain(count, |row| row.size_bytes.into(), Column::Int64)),
            ("priority", plain(count, |row| row.priority as i8, Column::Int8)),
            ("t_intended_ns", optional(count, intended)),
            ("t_sent_ns", plain(count, |row| row.t_sent_ns, Column::Int64)),
            ("t_ingress_ns", plain(count, |row| row.t_ingress_ns, Column::Int64)),
            ("t_selected_ns", optional(count, move |row| marked(row, SELECTED, row.t_selected_ns))),
            ("t_egress_ns", optional(count, move |row| marked(row, SENT_ON, row.t_egress_ns))),
            ("t_received_ns", optional(count, move |row| marked(row, RECEIVED, row.t_ingress_ns))),
            ("clock_error_ns", whole(Column::Int64(vec![0; count]))),
            ("min_sep_ns", optional(count, separated)),
            ("deadline_ns", optional(count, move |row| party(row)?.deadline_ns)),
            ("bound_ns", optional(count, bound)),
            ("price", amount(count, move |row| Some(worth(row)?.0))),
            ("penalty", amount(count, move |row| Some(worth(row)?.1))),
            ("outcome", plain(count, |row| row.outcome, Column::Outcome)),
            ("subscription", optional(count, move |row| Some(party(row)?.number?.into()))),
        ]
    }
}

/// The plan of each row that it is asked for, in the order of the rows.
fn plans(rows: &Rows) -> impl FnMut(&Row) -> Option<Plan> {
    let mut plans = rows.plans.iter();
    move |row| (row.marks & PLANNED != 0).then(|| plans.next().copied())?
}

/// A column that is being filled.
trait Part {
    fn extend(&mut self, rows: &[Row]);
    fn finish(self: Box<Self>) -> Column;
}

/// Values of type `C`, each what `of` finds in a row.
struct Filling<C, F, M> {
    values: C,
    of: F,
    column: M,
}

impl<C, T, F, M> Part for Filling<C, F, M>
where
    C: Extend<T>,
    F: FnMut(&Row) -> T,
    M: FnOnce(C) -> Column,
{
    fn extend(&mut self, rows: &[Row]) {
        self.values.extend(rows.iter().map(&mut self.of));
    }

    fn finish(self: Box<Self>) -> Column {
        (self.column)(self.values)
    }
}

/// A column that does not depend on the rows.
struct Whole(Column);

impl Part for Whole {
    fn extend(&mut self, _: &[Row]) {}

    fn finish(self: Box<Self>) -> Column {
        self.0
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

fn plain<'a, T: 'a>(
    count: usize,
    of: impl FnMut(&Row) -> T + 'a,
    column: fn(Vec<T>) -> Column,
) -> Box<dyn Part + 'a> {
    Box::new(Filling { values: Vec::with_capacity(count), of, column })
}

fn optional<'a>(count: usize, of: impl FnMut(&Row) -> Option<Nanos> + 'a) -> Box<dyn Part + 'a> {
    Box::new(Filling { values: Optional::with_capacity(count), of, column: Column::OptionalInt64 })
}

fn amount<'a>(count: usize, of: impl FnMut(&Row) -> Option<f64> + 'a) -> Box<dyn Part + 'a> {
    Box::new(Filling { values: Optional::with_capacity(count), of, column: Column::OptionalFloat64 })
}

fn whole<'a>(column: Column) -> Box<dyn Part + 'a> {
    Box::new(Whole(column))
}

/// A column of one name; its dictionary is empty if the column is.
fn one_name<'a>(count: usize, name: &Arc<str>) -> Box<dyn Part + 'a> {
    let names = (count > 0).then(|| Arc::clone(name)).into_iter().collect();
    whole(Column::Name { keys: Optional::all(0, count), names })
}

/// A column of names: its dictionary has those that are used, each once.
fn names<'a>(
    count: usize,
    key: impl Fn(&Row) -> u32 + 'a,
    name: impl Fn(usize) -> Option<&'a Arc<str>> + 'a,
) -> Box<dyn Part + 'a> {
    Box::new(Naming { keys: Optional::with_capacity(count), used: Used::default(), key, name })
}

struct Naming<K, N> {
    keys: Optional<u32>,
    used: Used,
    key: K,
    name: N,
}

impl<'a, K: Fn(&Row) -> u32, N: Fn(usize) -> Option<&'a Arc<str>>> Part for Naming<K, N> {
    fn extend(&mut self, rows: &[Row]) {
        let Self { keys, used, key, name } = self;
        keys.extend(rows.iter().map(|row| used.key(key(row), name)));
    }

    fn finish(self: Box<Self>) -> Column {
        Column::Name { keys: self.keys, names: self.used.names }
    }
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
