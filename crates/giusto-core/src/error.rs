//! Errors that several operations share; an operation with more to say has an enum of its own.

use std::fmt::Display;

/// A value that cannot be accepted. Whoever returns it has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: expected {expected}")]
pub struct Invalid {
    /// Path of the field, as the caller knows it: `weight`, `subscriptions[3].price`.
    pub field: String,
    /// What was given.
    pub value: String,
    /// What would be accepted.
    pub expected: String,
}

impl Invalid {
    /// `field` was `value`, but should have been `expected`.
    pub fn new(field: impl Into<String>, value: impl Display, expected: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.to_string(), expected: expected.into() }
    }
}

/// A change to the tables (topics, clients, flows, subscriptions) that was refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// A parameter is out of range.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Nothing of that name exists.
    #[error("unknown {kind} {name}")]
    Unknown {
        /// `topic`, `client`, `flow` or `subscription`.
        kind: &'static str,
        /// The name or number that was given.
        name: String,
    },
    /// The name is taken.
    #[error("{kind} {name} exists already")]
    Duplicate {
        /// `topic`, `client`, `flow` or `subscription`.
        kind: &'static str,
        /// The name or number that was given.
        name: String,
    },
}

impl ChangeError {
    /// Nothing called `name` exists.
    pub fn unknown(kind: &'static str, name: impl Display) -> Self {
        Self::Unknown { kind, name: name.to_string() }
    }

    /// `name` exists already.
    pub fn duplicate(kind: &'static str, name: impl Display) -> Self {
        Self::Duplicate { kind, name: name.to_string() }
    }
}
