//! Whether one value satisfies one comparison: the operators of S1 1.1 over its types.
//!
//! A value of another type than the constant's satisfies nothing, not even a negated comparison.
//! Strings are ordered by their UTF-8 bytes, which is the order of their code points.

use std::cmp::Ordering;
use std::sync::Arc;

use super::number::Number;
use crate::frame::attributes::{IntSet, StringSet, ValueRef};

/// A value of an event as comparisons see it.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Int, Float or Double.
    Number(Number),
    /// Nanoseconds since 1970 UTC.
    Date(i64),
    /// UTF-8.
    Text(&'a [u8]),
    /// A set of whole numbers.
    Ints(IntSet<'a>),
    /// A set of texts.
    Texts(StringSet<'a>),
}

impl<'a> From<ValueRef<'a>> for Operand<'a> {
    fn from(value: ValueRef<'a>) -> Self {
        // A checked block holds no NaN.
        let number = |value| Self::Number(Number::double(value).unwrap_or(Number::int(0)));
        match value {
            ValueRef::Int(value) => Self::Number(Number::int(value)),
            ValueRef::Float(value) => number(f64::from(value)),
            ValueRef::Double(value) => number(value),
            ValueRef::String(value) => Self::Text(value.as_bytes()),
            ValueRef::Date(value) => Self::Date(value),
            ValueRef::IntSet(set) => Self::Ints(set),
            ValueRef::StringSet(set) => Self::Texts(set),
        }
    }
}

/// An ordering that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Relation {
    /// Whether `value` stands so to the constant.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }

    /// What holds exactly when this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
        }
    }

    /// As the filter language writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }
}

/// How two sets, or a text and a part of it, may stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetRelation {
    /// The same members.
    Equal,
    /// Every member of the value is one of the constant's.
    Subset,
    /// Every member of the constant is one of the value's.
    Superset,
}

/// The members of a constant set, ascending, none twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Members {
    /// `{}`, which has no type.
    Empty,
    /// Numbers.
    Numbers(Arc<[Number]>),
    /// Dates.
    Dates(Arc<[i64]>),
    /// Texts.
    Texts(Arc<[Arc<str>]>),
}

impl Members {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Numbers(numbers) => numbers.len(),
            Self::Dates(dates) => dates.len(),
            Self::Texts(texts) => texts.len(),
        }
    }
}

/// An operator with its constant. Three words, so that checks lie close together in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// A number against a number.
    Number(Relation, Number),
    /// A date against a date.
    Date(Relation, i64),
    /// A text against a text.
    Text(Relation, Arc<str>),
    /// `prefix`, S1's `>*`.
    Prefix(Sense, Arc<str>),
    /// `suffix`, S1's `<*`.
    Suffix(Sense, Arc<str>),
    /// `in`: a number, date or text that is one of the members.
    Among(Sense, Arc<Members>),
    /// A set against a set.
    Set(Sense, SetRelation, Arc<Members>),
}

/// Whether the operator is asked for as it is or with `not`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sense {
    /// It must hold.
    Holds,
    /// The value has the right type and it must not hold.
    Fails,
}

impl Sense {
    /// The other one.
    pub fn negated(self) -> Self {
        match self {
            Self::Holds => Self::Fails,
            Self::Fails => Self::Holds,
        }
    }

    #[inline]
    fn wants(self, held: bool) -> bool {
        (self == Self::Holds) == held
    }
}

impl Test {
    /// Whether `value` satisfies the comparison.
    #[inline]
    pub fn holds(&self, value: Operand<'_>) -> bool {
        match (self, value) {
            (Self::Number(relation, constant), Operand::Number(value)) => relation.holds(value.cmp(constant)),
            (Self::Text(Relation::Equal, constant), Operand::Text(value)) => value == constant.as_bytes(),
            (Self::Text(relation, constant), Operand::Text(value)) => {
                relation.holds(value.cmp(constant.as_bytes()))
            }
            (Self::Date(relation, constant), Operand::Date(value)) => relation.holds(value.cmp(constant)),
            (Self::Prefix(sense, part), Operand::Text(value)) => {
                sense.wants(value.starts_with(part.as_bytes()))
            }
            (Self::Suffix(sense, part), Operand::Text(value)) => {
                sense.wants(value.ends_with(part.as_bytes()))
            }
            (Self::Among(sense, members), value) => {
                members.contain(value).is_some_and(|held| sense.wants(held))
            }
            (Self::Set(sense, relation, members), value) => {
                members.compare(*relation, value).is_some_and(|held| sense.wants(held))
            }
            _ => false,
        }
    }

    /// What holds for the values of the same type for which this does not: an attribute is still needed.
    pub fn negated(self) -> Self {
        match self {
            Self::Number(relation, constant) => Self::Number(relation.negated(), constant),
            Self::Date(relation, constant) => Self::Date(relation.negated(), constant),
            Self::Text(relation, constant) => Self::Text(relation.negated(), constant),
            Self::Prefix(sense, part) => Self::Prefix(sense.negated(), part),
            Self::Suffix(sense, part) => Self::Suffix(sense.negated(), part),
            Self::Among(sense, members) => Self::Among(sense.negated(), members),
            Self::Set(sense, relation, members) => Self::Set(sense.negated(), relation, members),
        }
    }
}

impl Members {
    /// `None` when `value` is of another type.
    fn contain(&self, value: Operand<'_>) -> Option<bool> {
        match (self, value) {
            (Self::Numbers(members), Operand::Number(value)) => Some(members.binary_search(&value).is_ok()),
            (Self::Dates(members), Operand::Date(value)) => Some(members.binary_search(&value).is_ok()),
            (Self::Texts(members), Operand::Text(value)) => {
                Some(members.binary_search_by(|member| member.as_bytes().cmp(value)).is_ok())
            }
            _ => None,
        }
    }

    /// How the set `value` stands to these members; `None` when it is of another type.
    fn compare(&self, relation: SetRelation, value: Operand<'_>) -> Option<bool> {
        match (self, value) {
            (Self::Numbers(members), Operand::Ints(set)) => {
                Some(compare_sets(set.iter().map(Number::int), members.iter().copied(), relation))
            }
            (Self::Texts(members), Operand::Texts(set)) => {
                Some(compare_sets(set.iter(), members.iter().map(|member| member.as_bytes()), relation))
            }
            // The empty set is one of every type.
            (Self::Empty, Operand::Ints(set)) => Some(compare_empty(set.iter().next().is_none(), relation)),
            (Self::Empty, Operand::Texts(set)) => Some(compare_empty(set.iter().next().is_none(), relation)),
            (Self::Numbers(_), Operand::Texts(set)) if set.iter().next().is_none() => {
                Some(relation == SetRelation::Subset)
            }
            (Self::Texts(_), Operand::Ints(set)) if set.iter().next().is_none() => {
                Some(relation == SetRelation::Subset)
            }
            _ => None,
        }
    }
}

fn compare_empty(value_is_empty: bool, relation: SetRelation) -> bool {
    value_is_empty || relation == SetRelation::Superset
}

/// One walk over two ascending sequences.
fn compare_sets<T: Ord>(
    mut value: impl Iterator<Item = T>,
    mut constant: impl Iterator<Item = T>,
    relation: SetRelation,
) -> bool {
    let (only_value, only_constant) = match relation {
        SetRelation::Equal => (false, false),
        SetRelation::Subset => (false, true),
        SetRelation::Superset => (true, false),
    };
    let (mut v, mut c) = (value.next(), constant.next());
    loop {
        let order = match (&v, &c) {
            (None, None) => return true,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(v), Some(c)) => v.cmp(c),
        };
        match order {
            Ordering::Less if !only_value => return false,
            Ordering::Greater if !only_constant => return false,
            _ => {}
        }
        if order.is_le() {
            v = value.next();
        }
        if order.is_ge() {
            c = constant.next();
        }
    }
}
