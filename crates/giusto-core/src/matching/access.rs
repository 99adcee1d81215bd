//! Chooses, for one conjunction, the predicate by which it is found.
//!
//! An event looks up lists by hash (equality, one of a few values, beginning, end, member of a set)
//! and trees of intervals (ranges). The conjunction is registered under the one predicate that is
//! expected to bring up the fewest others with it: the length that its list has now, or the number
//! of intervals that overlap its own, plus a constant that prefers exact paths to vague ones.
//! Beyond `LOAD_MAX` all paths count as equally crowded, and the more exact one wins. Every
//! predicate is checked again for what is found, so a path may be as vague as it likes.

use std::sync::Arc;

use super::comparison::{Members, Relation, Sense, SetRelation, Test};
use super::event::{Check, signature};
use super::interval::Interval;
use super::number::Number;

/// Only so many bytes at the beginning or end are hashed: the lengths to try are bits of a u32.
pub(super) const PART_BYTES_MAX: usize = 32;
/// A longer constant set is not spread over one list per member.
pub(super) const MEMBERS_MAX: usize = 64;
/// Where counting stops.
pub(super) const LOAD_MAX: u32 = 256;

/// What the entries of a list have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Path {
    /// The value is this one.
    Equal,
    /// The text begins so.
    Prefix,
    /// The text ends so.
    Suffix,
    /// The set has this member.
    Member,
    /// The least member of the set is this one.
    Least,
    /// The set has no member.
    Empty,
    /// The attribute is there.
    Present,
}

/// Number of paths.
pub(super) const PATHS: usize = Path::Present as usize + 1;

/// An interval over one of the ordered types.
#[derive(Clone, Debug)]
pub(super) enum Range {
    Number(Interval<Number>),
    Date(Interval<i64>),
    Text(Interval<Arc<str>>),
}

/// Lists that together find a conjunction, and how vague they are.
pub(super) struct Lists {
    pub(super) vagueness: u32,
    pub(super) signatures: Vec<(Path, u64)>,
}

/// The lists by which an event that satisfies `check` is sure to come by, if there are any.
pub(super) fn lists(pattern: u32, check: &Check) -> Option<Lists> {
    let sign = |path: Path, content: &dyn Fn((u32, u32, u8)) -> u64| {
        (path, content((pattern, check.attribute, path as u8)))
    };
    let one = |vagueness, path, content: &dyn Fn((u32, u32, u8)) -> u64| {
        Some(Lists { vagueness, signatures: vec![sign(path, content)] })
    };
    match &check.test {
        Test::Number(Relation::Equal, number) => one(0, Path::Equal, &|path| signature(path, number)),
        Test::Date(Relation::Equal, date) => one(0, Path::Equal, &|path| signature(path, date)),
        Test::Text(Relation::Equal, text) => one(0, Path::Equal, &|path| signature(path, &text.as_bytes())),
        Test::Prefix(Sense::Holds, part) if !part.is_empty() => {
            one(part_vagueness(part), Path::Prefix, &|path| signature(path, &beginning(part.as_bytes())))
        }
        Test::Suffix(Sense::Holds, part) if !part.is_empty() => {
            one(part_vagueness(part), Path::Suffix, &|path| signature(path, &end(part.as_bytes())))
        }
        Test::Among(Sense::Holds, members) => spread(members, Path::Equal, 1, (pattern, check.attribute)),
        Test::Set(Sense::Holds, relation, members) => {
            set_lists(*relation, members, (pattern, check.attribute))
        }
        _ => None,
    }
}

/// The list of everything that has the attribute.
pub(super) fn present(pattern: u32, attribute: u32) -> (Path, u64) {
    (Path::Present, signature((pattern, attribute, Path::Present as u8), &0u8))
}

pub(super) fn beginning(text: &[u8]) -> &[u8] {
    text.get(..PART_BYTES_MAX).unwrap_or(text)
}

pub(super) fn end(text: &[u8]) -> &[u8] {
    text.get(text.len().saturating_sub(PART_BYTES_MAX)..).unwrap_or(text)
}

fn part_vagueness(part: &str) -> u32 {
    if part.len() < 3 { 16 } else { 4 }
}

fn set_lists(relation: SetRelation, members: &Members, place: (u32, u32)) -> Option<Lists> {
    let empty = (Path::Empty, signature((place.0, place.1, Path::Empty as u8), &0u8));
    match (relation, members) {
        (SetRelation::Superset, Members::Empty) => None,
        (_, Members::Empty) => Some(Lists { vagueness: 0, signatures: vec![empty] }),
        // One member stands for all; the last is as good as any and often the rarest.
        (SetRelation::Superset, _) => member_signatures(members, Path::Member, place)
            .next_back()
            .map(|one| Lists { vagueness: 2, signatures: vec![one] }),
        (SetRelation::Equal, _) => member_signatures(members, Path::Least, place)
            .next()
            .map(|one| Lists { vagueness: 1, signatures: vec![one] }),
        (SetRelation::Subset, _) => spread(members, Path::Least, 6, place).map(|mut lists| {
            lists.signatures.push(empty);
            lists
        }),
    }
}

fn spread(members: &Members, path: Path, vagueness: u32, place: (u32, u32)) -> Option<Lists> {
    let signatures = member_signatures(members, path, place);
    (signatures.len() <= MEMBERS_MAX).then(|| Lists { vagueness, signatures: signatures.collect() })
}

fn member_signatures(
    members: &Members,
    path: Path,
    (pattern, attribute): (u32, u32),
) -> impl DoubleEndedIterator<Item = (Path, u64)> + ExactSizeIterator {
    (0..members.len()).map(move |i| {
        let place = (pattern, attribute, path as u8);
        let hash = match members {
            Members::Empty => 0,
            Members::Numbers(numbers) => signature(place, &numbers[i]),
            Members::Dates(dates) => signature(place, &dates[i]),
            Members::Texts(texts) => signature(place, &texts[i].as_bytes()),
        };
        (path, hash)
    })
}

/// What the range tests of `checks` leave of the values of `attribute`, for each type with such a test.
pub(super) fn ranges<'a>(
    checks: impl Iterator<Item = &'a Check>,
    attribute: u32,
) -> impl Iterator<Item = Range> {
    let (mut number, mut date, mut text) = (None, None, None);
    for check in checks.filter(|check| check.attribute == attribute) {
        match &check.test {
            Test::Number(relation, bound) => narrow(&mut number, *relation, bound),
            Test::Date(relation, bound) => narrow(&mut date, *relation, bound),
            Test::Text(relation, bound) => narrow(&mut text, *relation, bound),
            _ => {}
        }
    }
    [number.map(Range::Number), date.map(Range::Date), text.map(Range::Text)].into_iter().flatten()
}

fn narrow<T: Ord + Clone>(interval: &mut Option<Interval<T>>, relation: Relation, bound: &T) {
    if relation == Relation::NotEqual {
        return;
    }
    let interval = interval.get_or_insert_with(Interval::everything);
    if matches!(relation, Relation::Equal | Relation::Greater | Relation::GreaterEqual) {
        interval.raise(bound);
    }
    if matches!(relation, Relation::Equal | Relation::Less | Relation::LessEqual) {
        interval.lower(bound);
    }
}

impl Range {
    /// Whether no value can satisfy it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Number(interval) => interval.is_empty(),
            Self::Date(interval) => interval.is_empty(),
            Self::Text(interval) => interval.is_empty(),
        }
    }

    /// A range with one end finds half of all on average.
    pub(super) fn vagueness(&self) -> u32 {
        let two_sided = match self {
            Self::Number(interval) => interval.is_two_sided(),
            Self::Date(interval) => interval.is_two_sided(),
            Self::Text(interval) => interval.is_two_sided(),
        };
        if two_sided { 8 } else { 64 }
    }
}
