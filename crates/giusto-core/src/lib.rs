//! The forwarding pipeline of giusto as pure state machines.
//!
//! ```text
//! frame ─▶ policer ─▶ matrix (VOQ) ─▶ input stage ─▶ matching ─▶ output stage ─▶ record
//! ```
//!
//! Nothing here reads a clock, draws a random number, starts a thread or does I/O: `now` is an
//! argument, in integer nanoseconds, and every decision is a value that a test can look at.

pub mod arena;
pub mod effort;
pub mod engine;
pub mod error;
pub mod frame;
pub mod id;
pub mod input;
pub mod ladder;
mod lane;
pub mod matching;
pub mod output;
pub mod policer;
pub mod queue;
pub mod record;
pub mod store;
