//! Drives giusto-core in virtual time.
