//! Everything that an author is told works: the guide `docs/connectors.md`, read as its reader reads it, and what `connector
//! new` makes.
//!
//! Compiling a connector needs a compiler for WebAssembly, which a fresh machine has not. Where `connector build` would have
//! to install one first, the tests that compile say so and do nothing. With `ONCEGATE_TEST_AUTHORS=1` that is a failure, so
//! that it cannot go unnoticed where they must run.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

mod authors {
    mod compiled;
    mod page;
    mod told;
    mod workshop;
}
