//! Loading: what a component must be before any of its code is compiled or run.

use super::{Call, Door, GuestDoubt, LookupReturn, PerformReturn, RuntimeLimits, Stop};
use std::path::Path;
use std::sync::Arc;

/// The engine, its pool of instances and its cache of compiled code. One per process; a handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    limits: Arc<RuntimeLimits>,
}

/// A compiled connector, ready to be called. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Component {
    digest: Arc<str>,
}

impl Component {
    /// `sha256:` and the lowercase hex digest of the bytes it was loaded from.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Why a component was refused. Each says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// To come: one variant for each reason.
    #[error("{0}")]
    Refused(String),
}

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// To come: one variant for each reason.
    #[error("{0}")]
    Failed(String),
}

/// What `connector check` asks, without compiling: a component, its exports and its imports, by name.
///
/// # Errors
/// One [`LoadError`], the first found.
pub fn check_interface(_bytes: &[u8]) -> Result<(), LoadError> {
    Ok(())
}

impl Runtime {
    /// Makes the engine. Compiled code is kept in `cache_dir` (made with mode 0700; refused if it is not this user's).
    ///
    /// # Errors
    /// The cache folder is not safe, or the machine lacks the address space for the pool.
    pub fn new(limits: RuntimeLimits, _cache_dir: Option<&Path>) -> Result<Runtime, RuntimeError> {
        Ok(Runtime {
            limits: Arc::new(limits),
        })
    }

    /// Checks and compiles a component, on a thread of its own; the same bytes are compiled once.
    ///
    /// # Errors
    /// It is refused; nothing of it has run.
    pub async fn load(&self, _bytes: &[u8]) -> Result<Component, LoadError> {
        Err(LoadError::Refused(format!(
            "not yet built (at most {} bytes)",
            self.limits.component_bytes_max
        )))
    }

    /// Calls `perform` in a fresh instance. The door comes back in every case.
    pub async fn perform<D: Door>(
        &self,
        _component: &Component,
        _call: Call,
        _event_time_ms: i64,
        door: D,
    ) -> (D, Result<PerformReturn, Stop>) {
        (door, Err(Stop::Busy))
    }

    /// Calls `lookup` in a fresh instance. The door comes back in every case.
    pub async fn lookup<D: Door>(
        &self,
        _component: &Component,
        _call: Call,
        _doubt: GuestDoubt,
        _event_time_ms: i64,
        door: D,
    ) -> (D, Result<LookupReturn, Stop>) {
        (door, Err(Stop::Busy))
    }
}
