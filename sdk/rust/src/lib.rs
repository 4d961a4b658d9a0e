//! What authors of Oncegate connectors use: an [`Action`] per thing the connector can do, [`Request`] to reach the
//! destination, [`export!`] to make a component of it, and [`mock`] to test it with plain `cargo test`. `README.md` beside
//! this crate shows a whole connector.
//!
//! It knows nothing of attempts, retries or the ledger: those are the host's, and a connector that knew of them could only
//! do worse.
//!
//! # How the host's build makes a component
//!
//! `oncegate connector build` compiles the crate twice for `wasm32-unknown-unknown`:
//!
//! * with `--cfg oncegate_describe` in `RUSTFLAGS`: a core module that exports `memory` and
//!   `oncegate_describe: func() -> i64`. The result is `ptr << 32 | len` (both unsigned 32 bit) of UTF-8 JSON text in that
//!   memory: `{"actions": {NAME: {"input": SCHEMA, "output": SCHEMA}}, "settings": SCHEMA | null}`, each schema a JSON
//!   Schema 2020-12 document of its own. It calls no import; it is called once, in a fresh instance.
//! * without it: a core module with the exports of `wit/` and its types in custom sections, for
//!   `wit_component::ComponentEncoder`.
//!
//! Both names and the shape of the text are part of the contract with the host.

// The bindings name this crate by its name, for they are used from connectors as well.
extern crate self as oncegate_sdk;

mod action;
mod answer;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
mod export;
mod failure;
mod host;
pub mod http;
mod json;
pub mod log;
#[cfg(not(target_family = "wasm"))]
pub mod mock;
mod path;
pub mod raw;

pub use action::{Action, Call, Doubt, NoSettings};
pub use failure::{Effect, Failure, Finding, Matched, Problem};
pub use http::{Answer, Request, SendError};
pub use json::Json;

/// All that a connector usually needs: `use oncegate_sdk::prelude::*;`
pub mod prelude {
    pub use crate::{Action, Answer, Call, Doubt, Failure, Finding, Json, NoSettings, Request, SendError, log};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

/// The connector in the README is compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// For the macros; nothing here is stable.
#[doc(hidden)]
pub mod __private {
    #[cfg(target_family = "wasm")]
    pub use crate::export::component;
    pub use crate::export::leak;
    #[cfg(target_family = "wasm")]
    pub use wit_bindgen::rt;
}
