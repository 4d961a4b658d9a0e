//! The engines, one for each size of component: what of WebAssembly is on, the pools of instances, the cache of compiled
//! code, and loading into them.

mod cache;
mod config;
mod pool;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use sha2::{Digest, Sha256};
use wasmtime::Cache;

use super::component::{Compiled, Component, LoadError};
use super::interface::check_interface;
use super::limits::RuntimeLimits;
use super::size::{Size, check_size};
pub(super) use config::features;
pub(super) use pool::Pool;

/// The engines, their pools of instances and their cache of compiled code. One per process; a handle, cheap to clone.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) limits: RuntimeLimits,
    small: Arc<Pool>,
    large: Arc<Pool>,
    cache: Option<Cache>,
    /// By digest. Held while compiling: one component at a time, so that adding connectors never takes the machine from
    /// the calls that run, and the same bytes are compiled once.
    compiled: tokio::sync::Mutex<HashMap<String, Weak<Compiled>>>,
}

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The folder for compiled code cannot be used.
    #[error("the folder for compiled connectors, {path}, cannot be used: {why}. {mend}")]
    CacheFolder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        mend: &'static str,
    },
    /// The engine cannot be made.
    #[error(
        "the WebAssembly engine cannot be made: {0}. It reserves much address space (not memory): look at `ulimit -v`, or \
         lower the number of calls that run at once"
    )]
    Engine(String),
}

/// Whether compiled code can be kept in this folder, which is made where it is missing.
///
/// # Errors
/// It cannot be made, or is not this user's alone.
pub fn check_cache_folder(path: &Path) -> Result<(), RuntimeError> {
    cache::checked(path).map(|_absolute| ())
}

impl Runtime {
    /// Makes the engine. Compiled code is kept in `cache_dir` (made with mode 0700; refused where it is not this user's
    /// alone, because it holds machine code that will be run); without one, nothing is kept.
    ///
    /// # Errors
    /// The folder is not safe, or the machine lacks the address space for the pool.
    pub fn new(limits: RuntimeLimits, cache_dir: Option<&Path>) -> Result<Runtime, RuntimeError> {
        let cache = cache_dir.map(cache::open).transpose()?;
        let pool = |of| {
            let pool = Pool::new(&limits, of, cache.clone());
            pool.map_err(|error| RuntimeError::Engine(format!("{error:#}")))
        };
        let (small, large) = (pool(&limits.small)?, pool(&limits.large)?);
        Ok(Runtime(Arc::new(Inner {
            limits,
            small,
            large,
            cache,
            compiled: tokio::sync::Mutex::default(),
        })))
    }

    /// What a call may use.
    pub fn limits(&self) -> &RuntimeLimits {
        &self.0.limits
    }

    /// Checks and compiles a component, on a thread of its own; the same bytes are compiled once. Never to be called
    /// while an event or a step waits for it.
    ///
    /// # Errors
    /// It is refused; nothing of it has run.
    pub async fn load(&self, bytes: &[u8]) -> Result<Component, LoadError> {
        check_interface(bytes)?;
        let size = check_size(bytes, &self.0.limits)?;
        let digest = format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)));
        let mut compiled = self.0.compiled.lock().await;
        if let Some(known) = compiled.get(&digest).and_then(Weak::upgrade) {
            return Ok(Component(known));
        }
        if size == Size::Large {
            let megabytes = bytes.len().div_ceil(1_000_000);
            tracing::info!(%digest, megabytes, "loading a large connector; compiling it, once, takes up to a minute");
        }
        let (runtime, bytes) = (self.clone(), bytes.to_vec());
        let made = tokio::task::spawn_blocking(move || runtime.0.compile(&bytes, size, digest)).await;
        let made = Arc::new(made.map_err(|error| LoadError::Compile(format!("the compiler failed ({error})")))??);
        compiled.retain(|_, known| known.strong_count() > 0);
        compiled.insert(made.digest.clone(), Arc::downgrade(&made));
        Ok(Component(made))
    }

    /// How many components came out of the cache folder, and how many had to be compiled.
    pub fn cache_hits_and_misses(&self) -> (usize, usize) {
        let cache = self.0.cache.as_ref();
        cache.map_or((0, 0), |cache| (cache.cache_hits(), cache.cache_misses()))
    }
}

impl Inner {
    fn compile(&self, bytes: &[u8], size: Size, digest: String) -> Result<Compiled, LoadError> {
        let compiled = |size: Size| {
            let pool = self.pool(size);
            let pre = pool.compile(bytes)?;
            let (digest, pool) = (digest.clone(), Arc::clone(pool));
            Ok(Compiled {
                digest,
                size,
                pool,
                pre,
            })
        };
        match (size, compiled(size)) {
            // Only when it is compiled is it known to the last byte what it needs.
            (Size::Small, Err(LoadError::Compile(_))) => compiled(Size::Large),
            (Size::Small | Size::Large, result) => result,
        }
    }

    fn pool(&self, size: Size) -> &Arc<Pool> {
        match size {
            Size::Small => &self.small,
            Size::Large => &self.large,
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}
