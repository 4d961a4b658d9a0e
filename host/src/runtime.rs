//! Runs connectors: WebAssembly components that somebody else may have written, each call in a fresh instance that can
//! reach nothing but the [`Door`] it was given and a closed, deterministic WASI.
//!
//! This room must not know the network, the ledger, connections or flows. It says what a guest returned, or why it was
//! stopped; what was sent meanwhile is known to the door alone, and the door always comes back.

mod call;
mod component;
mod describe;
mod door;
mod engine;
mod guest;
mod interface;
mod limiter;
mod limits;
mod log;
mod meter;
mod outcome;
mod size;
#[cfg(test)]
mod tests;
mod wasi;

pub use component::{Component, LoadError};
pub use describe::{DescribeError, describe};
pub use door::{Door, LogLevel, Request, Response, SendError};
pub use engine::{Runtime, RuntimeError, check_cache_folder};
pub use interface::{check_core_imports, check_interface};
pub use limits::{CallLimits, RuntimeLimits};
pub use outcome::{Call, GuestDoubt, LookupReturn, PerformReturn, Problem, Stop};
pub use size::{Size, check_size};

/// What `wit/` becomes in Rust. The only code that is generated here.
#[allow(missing_docs, reason = "generated; the WIT carries the comments")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "connector",
        imports: {
            "oncegate:connector/http.send": async,
            "oncegate:connector/log.write": async | trappable,
        },
        exports: { default: async },
    });
}
