//! Finds the conjunctions that an event satisfies without looking at each of them.
//!
//! One index serves all patterns: signatures and trees carry the number of the pattern, so that
//! ten thousand topics with one filter each cost ten thousand entries and not ten thousand
//! indexes. `access` chooses the path of a conjunction when it comes; nothing is ever rebuilt.

use super::access::{self, LOAD_MAX, PATHS, Path, Range};
use super::candidates::Candidates;
use super::comparison::Operand;
use super::event::{Check, Checks, Event, signature};
use super::hash::Table;
use super::interval::Interval;
use super::interval_tree::Intervals;
use super::number::Number;
use super::postings::{Chain, Postings};
use super::ways::{Ways, lengths};
use crate::id::SubscriptionId;
use std::cmp::Ordering;
use std::hash::Hash;
use std::sync::Arc;

/// All conjunctions of all filtered subscriptions.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    free: Vec<u32>,
    postings: Postings,
    numbers: Intervals<Number>,
    dates: Intervals<i64>,
    texts: Intervals<Arc<str>>,
    ways: Table<(u32, u32), Ways>,
}

#[derive(Debug)]
struct Entry {
    subscription: SubscriptionId,
    pattern: u32,
    checks: Checks,
    access: Access,
}

/// Where an entry is registered.
#[derive(Clone, Copy, Debug)]
enum Access {
    /// No event can satisfy it.
    Never,
    Lists {
        attribute: u32,
        chain: Chain,
    },
    Range {
        attribute: u32,
        kind: Kind,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Date,
    Text,
}

/// How a conjunction will be found.
enum Plan {
    Never,
    Lists { check: usize, signatures: Vec<(Path, u64)> },
    Range { attribute: u32, range: Range },
}

impl Index {
    /// Registers a conjunction; the number returned takes it out again.
    pub(super) fn insert(
        &mut self,
        subscription: SubscriptionId,
        pattern: u32,
        mut checks: Vec<Check>,
    ) -> u32 {
        let plan = self.plan(pattern, &checks);
        let slot = self.free.pop().unwrap_or(self.entries.len() as u32);
        let access = match plan {
            Plan::Never => Access::Never,
            Plan::Lists { check, signatures } => {
                let attribute = checks[check].attribute;
                self.share_constant(&mut checks[check], &signatures);
                let chain = self.add_lists(slot, pattern, &checks[check], &signatures);
                // What led here mostly holds: try the others first.
                let last = checks.len() - 1;
                checks.swap(check, last);
                Access::Lists { attribute, chain }
            }
            Plan::Range { attribute, range } => {
                let kind = self.add_range(slot, pattern, attribute, range);
                checks.sort_by_key(|check| check.attribute == attribute);
                Access::Range { attribute, kind }
            }
        };
        let entry = Entry { subscription, pattern, checks: Checks::from(checks), access };
        match self.entries.get_mut(slot as usize) {
            Some(vacant) => *vacant = entry,
            None => self.entries.push(entry),
        }
        slot
    }

    /// Takes a conjunction out; returns its checks.
    pub(super) fn remove(&mut self, slot: u32) -> Checks {
        let entry = &mut self.entries[slot as usize];
        let (checks, pattern, access) =
            (std::mem::replace(&mut entry.checks, Checks::None), entry.pattern, entry.access);
        entry.access = Access::Never;
        match access {
            Access::Never => {}
            Access::Lists { attribute, mut chain } => {
                while let Some((path, rest)) = self.postings.remove(chain) {
                    self.change_ways(pattern, attribute, |ways| ways.forget(path));
                    chain = rest;
                }
                self.change_ways(pattern, attribute, |ways| ways.entries -= 1);
            }
            Access::Range { attribute, kind } => self.remove_range(slot, pattern, attribute, kind, &checks),
        }
        self.free.push(slot);
        checks
    }

    /// The checks of a conjunction.
    pub(super) fn checks(&self, slot: u32) -> &Checks {
        &self.entries[slot as usize].checks
    }

    /// Appends the subscriptions of `pattern` that `event` satisfies, in no order, some perhaps twice.
    /// `candidates` is empty before and after.
    pub(super) fn satisfied(
        &self,
        pattern: u32,
        event: &Event<'_>,
        candidates: &mut Candidates,
        found: &mut Vec<SubscriptionId>,
    ) {
        let mut visit = |slot: u32| candidates.add(slot);
        for &(attribute, operand) in event.operands() {
            let Some(ways) = self.ways.get(&(pattern, attribute)) else { continue };
            let at = Place { index: self, ways, pattern, attribute };
            at.list(Path::Present, &0u8, &mut visit);
            match operand {
                Operand::Number(number) => {
                    at.list(Path::Equal, &number, &mut visit);
                    self.numbers.holding(ways.numbers, &|bound| bound.cmp(&number), &mut always(&mut visit));
                }
                Operand::Date(date) => {
                    at.list(Path::Equal, &date, &mut visit);
                    self.dates.holding(ways.dates, &|bound| bound.cmp(&date), &mut always(&mut visit));
                }
                Operand::Text(text) => at.text(text, &mut visit),
                Operand::Ints(set) => at.set(set.iter().map(Number::int), &mut visit),
                Operand::Texts(set) => at.set(set.iter(), &mut visit),
            }
        }
        let touch = |slot: u32| {
            let entry = &self.entries[slot as usize];
            entry.subscription.0 ^ entry.checks.first_attribute()
        };
        candidates.drain(self.entries.len(), touch, |slot| {
            let entry = &self.entries[slot as usize];
            if event.satisfies(&entry.checks) {
                found.push(entry.subscription);
            }
        });
    }

    fn plan(&self, pattern: u32, checks: &[Check]) -> Plan {
        let mut best = u32::MAX;
        let mut plan = Plan::Never;
        for (i, check) in checks.iter().enumerate() {
            let Some(lists) = access::lists(pattern, check) else { continue };
            let load = lists.signatures.iter().map(|(_, signature)| self.postings.length(*signature)).max();
            let cost = lists.vagueness + load.unwrap_or(0).min(LOAD_MAX);
            if cost < best {
                best = cost;
                plan = Plan::Lists { check: i, signatures: lists.signatures };
            }
        }
        // A range costs at least this much, and counting what overlaps it takes time.
        if best > 8 {
            for check in checks {
                for range in access::ranges(checks.iter(), check.attribute) {
                    if range.is_empty() {
                        return Plan::Never;
                    }
                    let cost = range.vagueness() + self.overlapping(pattern, check.attribute, &range);
                    if cost < best {
                        best = cost;
                        plan = Plan::Range { attribute: check.attribute, range };
                    }
                }
            }
        }
        if best < u32::MAX { plan } else { self.plan_present(pattern, checks) }
    }

    /// Nothing but the attribute itself to look for: take the one that the fewest wait for.
    fn plan_present(&self, pattern: u32, checks: &[Check]) -> Plan {
        let lists = checks.iter().map(|check| access::present(pattern, check.attribute));
        match lists.enumerate().min_by_key(|(_, (_, signature))| self.postings.length(*signature)) {
            Some((check, list)) => Plan::Lists { check, signatures: vec![list] },
            None => Plan::Never,
        }
    }

    /// How many intervals hold the lower end of `range` (the upper end if it has no lower), up to `LOAD_MAX`.
    fn overlapping(&self, pattern: u32, attribute: u32, range: &Range) -> u32 {
        fn count<T: Ord + Clone>(trees: &Intervals<T>, root: u32, interval: &Interval<T>) -> u32 {
            let mut load = 0;
            if let Some(end) = interval.low.as_ref().or(interval.high.as_ref()) {
                trees.holding(root, &|bound| bound.cmp(end), &mut |_| {
                    load += 1;
                    load < LOAD_MAX
                });
            }
            load
        }
        let Some(ways) = self.ways.get(&(pattern, attribute)) else { return 0 };
        match range {
            Range::Number(interval) => count(&self.numbers, ways.numbers, interval),
            Range::Date(interval) => count(&self.dates, ways.dates, interval),
            Range::Text(interval) => count(&self.texts, ways.texts, interval),
        }
    }

    /// Takes the constant from whoever is in the list already: an event then reads it once for all.
    fn share_constant(&self, check: &mut Check, signatures: &[(Path, u64)]) {
        let [(_, signature)] = signatures else { return };
        let Some(slot) = self.postings.first(*signature) else { return };
        let known = self.entries[slot as usize].checks.iter();
        if let Some(same) =
            known.into_iter().find(|known| known.attribute == check.attribute && known.test == check.test)
        {
            check.test = same.test.clone();
        }
    }

    fn add_lists(&mut self, slot: u32, pattern: u32, check: &Check, signatures: &[(Path, u64)]) -> Chain {
        let mut chain = Chain::EMPTY;
        for &(path, signature) in signatures {
            chain = self.postings.add(slot, path, signature, chain);
            self.change_ways(pattern, check.attribute, |ways| ways.note(path, check));
        }
        self.change_ways(pattern, check.attribute, |ways| ways.entries += 1);
        chain
    }

    fn add_range(&mut self, slot: u32, pattern: u32, attribute: u32, range: Range) -> Kind {
        let ways = self.ways.entry((pattern, attribute)).or_default();
        ways.entries += 1;
        match range {
            Range::Number(interval) => {
                ways.numbers = self.numbers.insert(ways.numbers, interval, slot);
                Kind::Number
            }
            Range::Date(interval) => {
                ways.dates = self.dates.insert(ways.dates, interval, slot);
                Kind::Date
            }
            Range::Text(interval) => {
                ways.texts = self.texts.insert(ways.texts, interval, slot);
                Kind::Text
            }
        }
    }

    fn remove_range(&mut self, slot: u32, pattern: u32, attribute: u32, kind: Kind, checks: &Checks) {
        let Some(ways) = self.ways.get_mut(&(pattern, attribute)) else { return };
        for range in access::ranges(checks.iter(), attribute) {
            match (kind, range) {
                (Kind::Number, Range::Number(interval)) => {
                    ways.numbers = self.numbers.remove(ways.numbers, &interval, slot);
                }
                (Kind::Date, Range::Date(interval)) => {
                    ways.dates = self.dates.remove(ways.dates, &interval, slot);
                }
                (Kind::Text, Range::Text(interval)) => {
                    ways.texts = self.texts.remove(ways.texts, &interval, slot);
                }
                _ => {}
            }
        }
        self.change_ways(pattern, attribute, |ways| ways.entries -= 1);
    }

    /// Changes what is registered, and forgets the attribute when nothing is.
    fn change_ways(&mut self, pattern: u32, attribute: u32, change: impl FnOnce(&mut Ways)) {
        let ways = self.ways.entry((pattern, attribute)).or_default();
        change(ways);
        if ways.entries == 0 && ways.counts == [0; PATHS] {
            self.ways.remove(&(pattern, attribute));
        }
    }

    /// Bytes held, without the texts of constants.
    pub(super) fn bytes(&self) -> usize {
        let checks: usize = self.entries.iter().map(|entry| entry.checks.heap_bytes()).sum();
        let ways = self.ways.capacity() * (size_of::<((u32, u32), Ways)>() + 1);
        let trees = self.numbers.bytes() + self.dates.bytes() + self.texts.bytes();
        self.entries.capacity() * size_of::<Entry>() + checks + ways + trees + self.postings.bytes()
    }
}

/// One attribute of one pattern, while an event is looked up.
struct Place<'a> {
    index: &'a Index,
    ways: &'a Ways,
    pattern: u32,
    attribute: u32,
}

impl Place<'_> {
    #[inline]
    fn list(&self, path: Path, content: &impl Hash, visit: &mut impl FnMut(u32)) {
        if self.ways.counts[path as usize] > 0 {
            let key = signature((self.pattern, self.attribute, path as u8), content);
            self.index.postings.each(key, visit);
        }
    }

    fn text(&self, text: &[u8], visit: &mut impl FnMut(u32)) {
        self.list(Path::Equal, &text, visit);
        for length in lengths(self.ways.prefix_lengths, text.len()) {
            self.list(Path::Prefix, &text.get(..length).unwrap_or_default(), visit);
        }
        for length in lengths(self.ways.suffix_lengths, text.len()) {
            self.list(Path::Suffix, &text.get(text.len() - length..).unwrap_or_default(), visit);
        }
        let order = |bound: &Arc<str>| -> Ordering { bound.as_bytes().cmp(text) };
        self.index.texts.holding(self.ways.texts, &order, &mut always(visit));
    }

    fn set<T: Hash>(&self, mut members: impl Iterator<Item = T>, visit: &mut impl FnMut(u32)) {
        let Some(least) = members.next() else { return self.list(Path::Empty, &0u8, visit) };
        self.list(Path::Least, &least, visit);
        if self.ways.counts[Path::Member as usize] > 0 {
            self.list(Path::Member, &least, visit);
            members.for_each(|member| self.list(Path::Member, &member, visit));
        }
    }
}

fn always(visit: &mut impl FnMut(u32)) -> impl FnMut(u32) -> bool {
    |entry| {
        visit(entry);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Names;
    use super::super::filter::Filter;
    use super::*;

    #[test]
    fn nothing_is_left_of_filters_that_went() {
        let (mut index, mut names) = (Index::default(), Names::default());
        let mut slots = Vec::new();
        for text in [
            r#"a = 1 and b prefix "x" or b suffix "y" or c superset {1, 2}"#,
            r#"a in {1, 2, 3} or c subset {"x", "y"} or c = {} or a != 1"#,
            r#"a > 1 and a < 5 or d >= @2006-10-08 or b < "m" or a < 1 and a > 2"#,
        ] {
            let filter: Filter = text.parse().unwrap();
            for (i, predicates) in filter.conjunctions().enumerate() {
                let check = |predicate: &super::super::filter::Predicate| Check {
                    attribute: names.acquire(&predicate.name),
                    test: predicate.test.clone(),
                };
                slots.push(index.insert(SubscriptionId(i as u32), 0, predicates.map(check).collect()));
            }
        }
        assert!(!index.postings.is_empty() && !index.ways.is_empty());
        for slot in slots {
            index.remove(slot);
        }
        assert!(index.postings.is_empty() && index.ways.is_empty());
    }
}
