//! Drives the core in real time.
//!
//! Two machines that do no I/O, and two shells that do nothing else:
//!
//! ```text
//!              decides (bytes and `now` in, bytes out)      acts (sockets, clock, threads)
//! broker       hub::Hub                                     server: the data thread
//! client       session::Session                             connection::Connection
//! ```
//!
//! `memory` is a second shell around the hub, without sockets and with its caller's clock. `calibrate` times the pieces
//! of the broker one by one.

pub mod calibrate;
pub mod clock;
pub mod connection;
pub mod hub;
pub mod memory;
pub mod server;
pub mod session;
