//! The pure decisions of Oncegate.
//!
//! Facts go in, decisions come out. Nothing here waits, reads a clock, draws a random number, opens a file or knows that
//! a database, a network or WebAssembly exists: time, jitter and storage are parameters, so that every rule of the
//! promise can be tested as a table or as a property over whole sequences of attempts.
//!
//! Instants are milliseconds since the Unix epoch on the ledger's clock (`i64`, names end in `_ms` or `_at_ms`);
//! durations are milliseconds (`u64`, names end in `_ms`).

pub mod credentials;
pub mod doubt;
pub mod evidence;
pub mod id;
pub mod key;
pub mod limits;
pub mod outcome;
pub mod retry;
pub mod review;
pub mod run;
pub mod step;
mod words;
