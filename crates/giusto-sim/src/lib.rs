//! Drives giusto-core in virtual time: a second driver of the same pieces, never a second
//! implementation of them.

pub mod network;
pub mod server;
