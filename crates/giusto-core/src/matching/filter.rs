//! A content filter: which events a subscription wants, as alternatives of comparisons that must all hold.
//!
//! The text is parsed, negations are pushed down to the comparisons (`not (a < 3)` is `a >= 3`, so it
//! still needs the attribute), and the rest is multiplied out to a disjunction of conjunctions (S1
//! knows one conjunction). Every distinct comparison is stored once, so that multiplying out costs
//! two bytes per mention.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::access::MEMBERS_MAX;
use super::comparison::{Operand, Test};
use super::parser;
use super::print;
use crate::frame::attributes::Attributes;

/// The longest text of a filter, as given and in canonical form.
pub const TEXT_BYTES_MAX: usize = 65_536;
/// The deepest nesting of parentheses and `not`.
pub const DEPTH_MAX: usize = 64;
/// The most comparisons that the alternatives of a filter may mention in total: a subscription is added at once.
pub const MENTIONS_MAX: usize = 256;
/// The most members that the sets in them may have in total, of each as many as lists are made for.
pub const LISTED_MAX: usize = 2_048;

/// A content filter that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at position {position} of the filter {text:?}")]
pub struct FilterSyntax {
    /// The filter as given.
    pub text: String,
    /// Where it went wrong, in characters from 0.
    pub position: usize,
    /// What is wrong and what would be right.
    pub problem: String,
}

/// An attribute that must exist and what must hold for it: S1's attribute filter (a, op, c).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Predicate {
    /// Name of the attribute.
    pub name: Arc<str>,
    /// Operator and constant.
    pub test: Test,
}

/// Which events a subscription wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    predicates: Box<[Predicate]>,
    conjunctions: Box<[Box<[u16]>]>,
    canonical: Box<str>,
}

/// Negation normal form: what is left when every `not` has reached a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    One(Predicate),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    pub(super) fn negated(self) -> Self {
        match self {
            Self::One(predicate) => Self::One(Predicate { test: predicate.test.negated(), ..predicate }),
            Self::All(parts) => Self::Any(parts.into_iter().map(Self::negated).collect()),
            Self::Any(parts) => Self::All(parts.into_iter().map(Self::negated).collect()),
        }
    }
}

impl FromStr for Filter {
    type Err = FilterSyntax;

    fn from_str(text: &str) -> Result<Self, FilterSyntax> {
        let fail =
            |problem: &str| FilterSyntax { text: text.to_owned(), position: 0, problem: problem.to_owned() };
        let expression = parser::parse(text)?;
        let canonical = print::canonical(&expression);
        if canonical.len() > TEXT_BYTES_MAX {
            return Err(fail("the filter is longer than 65536 bytes in its canonical form"));
        }
        let mut numbers = BTreeMap::new();
        let mut conjunctions = multiply_out(&expression, &mut numbers).ok_or_else(|| {
            fail("the filter multiplies out to more than 256 comparisons; ask for less, or in several subscriptions")
        })?;
        conjunctions.iter_mut().for_each(tidy);
        tidy(&mut conjunctions);
        let filter = Self {
            predicates: in_order(numbers),
            conjunctions: conjunctions.into_iter().map(Vec::into_boxed_slice).collect(),
            canonical: canonical.into_boxed_str(),
        };
        if filter.listed() > LISTED_MAX {
            return Err(fail(
                "the sets of all comparisons have more than 2048 members (of each at most 64 count)",
            ));
        }
        Ok(filter)
    }
}

fn tidy<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

fn in_order(numbers: BTreeMap<Predicate, u16>) -> Box<[Predicate]> {
    let mut predicates: Vec<_> = numbers.into_iter().collect();
    predicates.sort_by_key(|(_, number)| *number);
    predicates.into_iter().map(|(predicate, _)| predicate).collect()
}

/// The alternatives of `expression`, or `None` when there are too many of them.
fn multiply_out(expression: &Expression, numbers: &mut BTreeMap<Predicate, u16>) -> Option<Vec<Vec<u16>>> {
    match expression {
        Expression::One(predicate) => Some(vec![vec![number_of(predicate, numbers)?]]),
        Expression::Any(parts) => {
            let mut sum = Vec::new();
            for part in parts {
                sum.extend(multiply_out(part, numbers)?);
                within_limits(mentions(&sum))?;
            }
            Some(sum)
        }
        Expression::All(parts) => {
            let mut common = Vec::new();
            let mut product = vec![Vec::new()];
            for part in parts {
                match part {
                    Expression::One(predicate) => common.push(number_of(predicate, numbers)?),
                    _ => product = multiply(&product, &multiply_out(part, numbers)?)?,
                }
            }
            multiply(&product, &[common])
        }
    }
}

fn number_of(predicate: &Predicate, numbers: &mut BTreeMap<Predicate, u16>) -> Option<u16> {
    let next = u16::try_from(numbers.len()).ok()?;
    Some(*numbers.entry(predicate.clone()).or_insert(next))
}

fn multiply(a: &[Vec<u16>], b: &[Vec<u16>]) -> Option<Vec<Vec<u16>>> {
    let total = mentions(a) * b.len() + mentions(b) * a.len();
    within_limits(total)?;
    Some(a.iter().flat_map(|a| b.iter().map(move |b| [a.as_slice(), b].concat())).collect())
}

fn mentions(conjunctions: &[Vec<u16>]) -> usize {
    conjunctions.iter().map(Vec::len).sum()
}

fn within_limits(mentions: usize) -> Option<()> {
    (mentions <= MENTIONS_MAX).then_some(())
}

impl Filter {
    /// Whether the event satisfies the filter. Looks at one alternative after the other; a
    /// [`super::Matcher`] does not.
    pub fn matches(&self, event: Attributes<'_>) -> bool {
        let holds = |predicate: &Predicate| {
            event.find(&predicate.name).is_some_and(|value| predicate.test.holds(Operand::from(value)))
        };
        self.conjunctions().any(|mut conjunction| conjunction.all(holds))
    }

    /// The alternatives, each as the predicates that must all hold.
    pub fn conjunctions(&self) -> impl Iterator<Item = impl Iterator<Item = &Predicate>> {
        self.conjunctions
            .iter()
            .map(|numbers| numbers.iter().filter_map(|&number| self.predicates.get(usize::from(number))))
    }

    /// The distinct comparisons of all alternatives.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }

    /// How many comparisons it takes at most to see whether an event satisfies it, those of all alternatives.
    pub fn comparisons(&self) -> usize {
        self.conjunctions.iter().map(|numbers| numbers.len()).sum()
    }

    /// Members of sets in all alternatives, of each set as many as lists are made for.
    fn listed(&self) -> usize {
        let members = |test: &Test| match test {
            Test::Among(_, members) | Test::Set(_, _, members) => members.len().min(MEMBERS_MAX),
            _ => 0,
        };
        self.conjunctions().flatten().map(|predicate| members(&predicate.test)).sum()
    }

    /// The text that every filter with this meaning and this order of comparisons is printed as.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical)
    }
}
