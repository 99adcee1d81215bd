//! Which inputs break a promise: each target takes any bytes and panics if they do.
//!
//! libFuzzer calls the targets with bytes of its own making (`tools/fuzz.sh`); the tests call them
//! with the corpus and with what is one byte away from it.

pub mod attributes;
pub mod filter;
pub mod frame;
pub mod hub;
pub mod session;

/// A promise that holds for all inputs.
pub type Target = fn(&[u8]);

/// Every target, by the name of its folder in the corpus.
pub const TARGETS: [(&str, Target); 5] = [
    ("frame", frame::check),
    ("attributes", attributes::check),
    ("filter", filter::check),
    ("hub", hub::check),
    ("session", session::check),
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}
