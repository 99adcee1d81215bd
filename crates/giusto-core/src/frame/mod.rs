//! (being written)
pub mod attributes;
