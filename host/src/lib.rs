//! Oncegate: a WebAssembly plugin host for no-code automations that changes each destination at most once per business
//! event and loses nothing. `docs/ARCHITECTURE.md` is the map.

pub mod api;
pub mod bench;
pub mod build;
pub mod call;
pub mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
pub mod credentials;
pub mod demo;
pub mod destination;
pub mod drill;
pub mod egress;
pub mod executor;
pub mod flow;
pub mod host_process;
pub mod ledger;
pub mod problem;
pub mod runtime;
pub mod serve;
pub mod share;
pub mod telemetry;
pub mod triggers;
