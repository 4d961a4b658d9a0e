//! One engine with its pool of instances, for components of one size. A component belongs to the engine that compiled it.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Cache, Engine};

use super::config;
use crate::runtime::bindings::{Connector, ConnectorPre};
use crate::runtime::component::LoadError;
use crate::runtime::guest::Guest;
use crate::runtime::limits::{CallLimits, RuntimeLimits};
use crate::runtime::meter::Ticker;
use crate::runtime::wasi;

/// See the module's words.
pub(in crate::runtime) struct Pool {
    pub(in crate::runtime) limits: CallLimits,
    pub(in crate::runtime) engine: Engine,
    pub(in crate::runtime) ticker: Ticker,
    linker: Linker<Guest>,
}

impl Pool {
    pub(super) fn new(all: &RuntimeLimits, limits: &CallLimits, cache: Option<Cache>) -> wasmtime::Result<Arc<Pool>> {
        let engine = Engine::new(&config::of(all, limits, cache))?;
        let mut linker = Linker::new(&engine);
        Connector::add_to_linker::<Guest, HasSelf<Guest>>(&mut linker, |guest| guest)?;
        wasi::add_to_linker(&mut linker)?;
        let ticker = Ticker::start(engine.clone(), all.tick_ms)?;
        let limits = limits.clone();
        Ok(Arc::new(Pool {
            limits,
            engine,
            ticker,
            linker,
        }))
    }

    /// Compiles a component, or takes it from the cache. Takes seconds.
    pub(super) fn compile(&self, bytes: &[u8]) -> Result<ConnectorPre<Guest>, LoadError> {
        let component = wasmtime::component::Component::from_binary(&self.engine, bytes)
            .map_err(|error| LoadError::Compile(format!("{error:#}")))?;
        self.linker
            .instantiate_pre(&component)
            .and_then(ConnectorPre::new)
            .map_err(|error| LoadError::Mismatch(format!("{error:#}")))
    }
}
