//! How the rows that a ring has kept go into the columns of a file, without columns in between.
//!
//! Some rows at a time go into all columns, so that they stay in the processor's cache meanwhile. Where a run of rows has the
//! same value, as where nothing was planned, a column costs one look at each row or none.

use std::slice::Iter;

use giusto_core::record::{Known, Outcome, PLANNED, PROMISED, Plan, RECEIVED, Row, Rows, SELECTED, SENT_ON};

use super::column::{Column, NO_KEY};
use super::layout::At;

/// Rows that go into all columns before the next ones do.
const AT_ONCE: usize = 128;

/// What the numbers of one portion come to in the dictionaries of the columns.
#[derive(Default)]
pub(super) struct Keys {
    topics: Vec<u32>,
    publishers: Vec<u32>,
    outcomes: Vec<u32>,
    parties: Vec<Terms>,
}

/// The keys of what the records say of a subscription; the bound is of those that it holds for.
#[derive(Clone, Copy)]
struct Terms {
    subscriber: u32,
    subscription: u32,
    deadline: u32,
    bound: u32,
    price: u32,
    penalty: u32,
}

impl Terms {
    const NONE: Self = Self {
        subscriber: NO_KEY,
        subscription: NO_KEY,
        deadline: NO_KEY,
        bound: NO_KEY,
        price: NO_KEY,
        penalty: NO_KEY,
    };
}

/// In which bits some rows differ from the first of them, by field, and which marks any of them has.
#[derive(Clone, Copy, Default)]
struct Differing {
    topic: u32,
    publisher: u32,
    party: u32,
    size_bytes: u32,
    priority: u8,
    outcome: u8,
    marks: u8,
    marked: u8,
}

impl Differing {
    /// One look at each row says which columns need another.
    fn among(rows: &[Row]) -> Self {
        let Some(first) = rows.first() else { return Self::default() };
        let mut differ = Self::default();
        for row in rows {
            differ.topic |= row.topic ^ first.topic;
            differ.publisher |= row.publisher ^ first.publisher;
            differ.party |= row.party ^ first.party;
            differ.size_bytes |= row.size_bytes ^ first.size_bytes;
            differ.priority |= row.priority ^ first.priority;
            differ.outcome |= row.outcome ^ first.outcome;
            differ.marks |= row.marks ^ first.marks;
            differ.marked |= row.marks;
        }
        differ
    }
}

/// The columns of a group, and one portion that goes into them.
pub(super) struct Filling<'a> {
    pub(super) columns: &'a mut [Column],
    pub(super) keys: &'a mut Keys,
    pub(super) known: &'a Known,
    /// Whether the instants that were intended are not just those of sending.
    pub(super) is_planned: &'a mut bool,
}

impl Filling<'_> {
    pub(super) fn add(&mut self, rows: &Rows) {
        let count = rows.rows().len();
        if count == 0 {
            return;
        }
        *self.keys = Keys::default();
        let known = self.known;
        self.at(At::Run).named(known.run(), count);
        self.at(At::Node).named(known.node(), count);
        self.at(At::Hop).number(known.hop().into(), count);
        self.at(At::ClockError).number(0, count);
        let mut plans = rows.plans().iter();
        for some in rows.rows().chunks(AT_ONCE) {
            let differ = Differing::among(some);
            self.add_plans(some, &mut plans, differ.marked);
            self.add_instants(some, differ);
            self.add_names(some, differ);
            self.add_parties(some, differ);
        }
    }

    fn at(&mut self, place: At) -> &mut Column {
        &mut self.columns[place as usize]
    }

    /// Before the instants of the same rows: the first plan of a group goes on from where these are.
    fn add_plans(&mut self, rows: &[Row], plans: &mut Iter<'_, Plan>, marked: u8) {
        let is_planned = marked & PLANNED != 0;
        if is_planned && !*self.is_planned {
            follow_sent(self.columns);
            *self.is_planned = true;
        }
        if !is_planned {
            self.at(At::MinSep).none(rows.len());
            if *self.is_planned {
                self.at(At::Intended).rise(rows.iter().map(|row| row.t_sent_ns));
            }
            return;
        }
        for row in rows {
            let plan = if row.marks & PLANNED == 0 { None } else { plans.next() };
            self.at(At::Intended).rise_or_not(Some(plan.map_or(row.t_sent_ns, |plan| plan.t_intended_ns)));
            match plan.map(|plan| plan.min_sep_ns).filter(|&span_ns| span_ns > 0) {
                Some(span_ns) => self.at(At::MinSep).number(span_ns as u64, 1),
                None => self.at(At::MinSep).none(1),
            }
        }
    }

    fn add_instants(&mut self, rows: &[Row], differ: Differing) {
        self.at(At::Sequence).rise(rows.iter().map(|row| row.sequence as i64));
        self.at(At::Sent).rise(rows.iter().map(|row| row.t_sent_ns));
        self.at(At::Ingress).rise(rows.iter().map(|row| row.t_ingress_ns));
        self.add_marked(At::Selected, rows, differ, (SELECTED, |row| row.t_selected_ns));
        self.add_marked(At::Egress, rows, differ, (SENT_ON, |row| row.t_egress_ns));
        self.add_marked(At::Received, rows, differ, (RECEIVED, |row| row.t_ingress_ns));
    }

    /// Instants that only marked rows have.
    #[inline]
    fn add_marked(
        &mut self,
        place: At,
        rows: &[Row],
        differ: Differing,
        (mark, of): (u8, impl Fn(&Row) -> i64),
    ) {
        let column = self.at(place);
        if differ.marked & mark == 0 {
            column.none(rows.len());
        } else if differ.marks & mark == 0 {
            column.rise(rows.iter().map(of));
        } else {
            let value = |row: &Row| (row.marks & mark != 0).then(|| of(row));
            rows.iter().for_each(|row| column.rise_or_not(value(row)));
        }
    }

    fn add_names(&mut self, rows: &[Row], differ: Differing) {
        let Self { columns, keys, known, .. } = self;
        add_keys(&mut columns[At::Topic as usize], rows, differ.topic, |column, row| {
            key(&mut keys.topics, row.topic, || Some(column.dictionary.name(known.topic(row.topic)?)))
        });
        add_keys(&mut columns[At::Publisher as usize], rows, differ.publisher, |column, row| {
            let find = || Some(column.dictionary.name(known.publisher(row.publisher)?));
            key(&mut keys.publishers, row.publisher, find)
        });
        add_keys(&mut columns[At::Outcome as usize], rows, differ.outcome.into(), |column, row| {
            let find = || Outcome::ALL.get(usize::from(row.outcome)).map(|outcome| outcome.name());
            key(&mut keys.outcomes, row.outcome.into(), || Some(column.dictionary.name(find()?)))
        });
        add_keys(&mut columns[At::SizeBytes as usize], rows, differ.size_bytes, |column, row| {
            column.key(row.size_bytes.into())
        });
        add_keys(&mut columns[At::Priority as usize], rows, differ.priority.into(), |column, row| {
            column.key(row.priority.into())
        });
    }

    fn add_parties(&mut self, rows: &[Row], differ: Differing) {
        if differ.party == 0 && differ.marks & PROMISED == 0 {
            let terms = rows.first().map_or(Terms::NONE, |row| self.terms(row));
            return self.each_term(|column, of| column.keyed(of(&terms), rows.len()));
        }
        let mut found = [Terms::NONE; AT_ONCE];
        found.iter_mut().zip(rows).for_each(|(place, row)| *place = self.terms(row));
        self.each_term(|column, of| {
            let keys: [u32; AT_ONCE] = std::array::from_fn(|row| of(&found[row]));
            column.keyed_each(&keys[..rows.len()]);
        });
    }

    /// Does something for each column that depends on the subscription.
    fn each_term(&mut self, act: impl Fn(&mut Column, fn(&Terms) -> u32)) {
        act(self.at(At::Subscriber), |terms| terms.subscriber);
        act(self.at(At::Subscription), |terms| terms.subscription);
        act(self.at(At::Deadline), |terms| terms.deadline);
        act(self.at(At::Bound), |terms| terms.bound);
        act(self.at(At::Price), |terms| terms.price);
        act(self.at(At::Penalty), |terms| terms.penalty);
    }

    #[inline]
    fn terms(&mut self, row: &Row) -> Terms {
        let terms = match self.keys.parties.get(row.party as usize) {
            Some(&terms) if terms.subscriber != NO_KEY => terms,
            _ => self.describe(row.party),
        };
        Terms { bound: if row.marks & PROMISED == 0 { NO_KEY } else { terms.bound }, ..terms }
    }

    #[cold]
    fn describe(&mut self, number: u32) -> Terms {
        let Some(party) = self.known.party(number) else { return Terms::NONE };
        let mut key = |place, bits: Option<u64>| bits.map_or(NO_KEY, |bits| self.at(place).key(bits));
        let terms = Terms {
            subscription: key(At::Subscription, party.number.map(u64::from)),
            deadline: key(At::Deadline, party.deadline_ns.map(|span_ns| span_ns as u64)),
            bound: key(At::Bound, party.bound_ns.map(|span_ns| span_ns as u64)),
            price: key(At::Price, party.worth.map(|worth| worth.0.to_bits())),
            penalty: key(At::Penalty, party.worth.map(|worth| worth.1.to_bits())),
            subscriber: self.at(At::Subscriber).dictionary.name(&party.subscriber),
        };
        let parties = &mut self.keys.parties;
        parties.resize(parties.len().max(number as usize + 1), Terms::NONE);
        parties[number as usize] = terms;
        terms
    }
}

/// Appends what `key` finds in each row, or in the first if the rows do not differ.
#[inline]
fn add_keys(
    column: &mut Column,
    rows: &[Row],
    differing: u32,
    mut key: impl FnMut(&mut Column, &Row) -> u32,
) {
    match rows.first() {
        Some(first) if differing == 0 => {
            let key = key(column, first);
            column.keyed(key, rows.len());
        }
        _ => {
            let mut found = [NO_KEY; AT_ONCE];
            found.iter_mut().zip(rows).for_each(|(place, row)| *place = key(column, row));
            column.keyed_each(&found[..rows.len()]);
        }
    }
}

/// From now on the instants that were intended are kept for themselves.
pub(super) fn follow_sent(columns: &mut [Column]) {
    let (before, after) = columns.split_at_mut(At::Sent as usize);
    before[At::Intended as usize].follow(&after[0]);
}

/// The key of a number, which is found once.
#[inline]
fn key(known: &mut Vec<u32>, number: u32, find: impl FnOnce() -> Option<u32>) -> u32 {
    match known.get(number as usize) {
        Some(&key) if key != NO_KEY => key,
        _ => keep(known, number, find()),
    }
}

#[cold]
fn keep(known: &mut Vec<u32>, number: u32, key: Option<u32>) -> u32 {
    let Some(key) = key else { return NO_KEY };
    known.resize(known.len().max(number as usize + 1), NO_KEY);
    known[number as usize] = key;
    key
}
