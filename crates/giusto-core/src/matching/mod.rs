//! Decides which subscriptions receive an event: topic patterns and content filters (S1 1.1).
//!
//! [`Filter`] reads the language, [`Matcher`] finds the subscriptions, [`Scan`] is the plain way
//! that the matcher is compared with.

mod access;
mod candidates;
pub mod comparison;
pub mod date;
mod event;
mod fanout;
pub mod filter;
mod hash;
mod index;
mod interval;
mod interval_tree;
mod lexer;
mod matcher;
pub mod number;
mod pages;
mod parser;
mod postings;
mod print;
mod scan;
mod spread;
mod suggest;
pub mod topic;
mod trie;
mod ways;

pub use filter::{Filter, FilterSyntax};
pub use matcher::Matcher;
pub use scan::Scan;
pub use spread::Errand;
