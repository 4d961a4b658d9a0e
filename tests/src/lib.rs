//! The harness of the end-to-end tests: a real host (in this process or in one of its own), a scripted destination that
//! counts, an installation folder, webhooks, and waits that are bounded and end with what they wait for.
//!
//! What a promise is worth is counted at the destination; the ledger and the API are asked only how the host itself sees
//! it. In this process the host runs on a clock that stands still until a test moves it.
//!
//! The connectors are the built forms in the repository. `ONCEGATE_TEST_CONNECTORS=DIR` names a folder with others of the same
//! names, such as freshly built ones.
#![allow(clippy::unwrap_used, reason = "a harness fails like a test: loudly")]

pub mod child;
pub mod client;
pub mod clocks;
pub mod compiled;
pub mod connectors;
mod data;
pub mod disk;
pub mod fleet;
pub mod flushes;
pub mod folder;
pub mod host;
pub mod log;
pub mod pace;
pub mod restored;
pub mod run;
pub mod wait;

pub use child::ChildHost;
pub use client::{Answer, Client, request};
pub use clocks::StoppedOnce;
pub use disk::Disk;
pub use fleet::Fleet;
pub use folder::{Connection, Folder, HOOK_SECRET, orders};
pub use host::{START_MS, TestHost};
pub use oncegate::destination::{Behaviour, Dedup, Destination, Rule, Service};
pub use restored::LedgerCopy;
pub use run::{RunView, about_step, run_of};
pub use wait::eventually;
