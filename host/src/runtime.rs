//! Runs connectors: WebAssembly components that somebody else may have written, each call in a fresh instance that can
//! reach nothing but the [`Door`] it was given and a closed, deterministic WASI.
//!
//! This room must not know the network, the ledger, connections or flows. It says what a guest returned, or why it was
//! stopped; what was sent meanwhile is known to the door alone, and the door always comes back.

mod component;
mod door;
mod limits;
mod outcome;

pub use component::{Component, LoadError, Runtime, RuntimeError, check_interface};
pub use door::{Door, LogLevel, Request, Response, SendError};
pub use limits::RuntimeLimits;
pub use outcome::{Call, GuestDoubt, LookupReturn, PerformReturn, Problem, Stop};
