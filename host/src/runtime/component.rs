//! A compiled connector, and why one is refused.

use std::fmt;
use std::sync::Arc;

use super::bindings::ConnectorPre;
use super::engine::Pool;
use super::guest::Guest;
use super::size::Size;

/// A compiled connector, ready to be called. A handle, cheap to clone.
#[derive(Clone)]
pub struct Component(pub(super) Arc<Compiled>);

pub(super) struct Compiled {
    pub(super) digest: String,
    pub(super) size: Size,
    pub(super) pool: Arc<Pool>,
    pub(super) pre: ConnectorPre<Guest>,
}

impl Component {
    /// `sha256:` and the lowercase hex digest of the bytes it was loaded from.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Which limits its calls have.
    pub fn size(&self) -> Size {
        self.0.size
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Component").field(&self.0.digest).finish()
    }
}

/// Why a component was refused. Nothing of it has run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// More bytes than a component may have.
    #[error(
        "the component has {bytes} bytes; this host loads at most {bytes_max}. Build it in release mode, stripped, or leave \
         out what it does not need"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// No WebAssembly at all.
    #[error(
        "this is not WebAssembly: it does not begin with the bytes of a component. Give the file that `oncegate connector build` wrote"
    )]
    NotWasm,
    /// WebAssembly, but a core module.
    #[error(
        "this is a core WebAssembly module, not a component. Make a component of it with `oncegate connector build`"
    )]
    CoreModule,
    /// Begins like a component and does not go on like one.
    #[error("the component cannot be read: {0}. It may be cut off or damaged: build or copy it again")]
    Malformed(String),
    /// Something that this host gives to nobody.
    #[error("it imports `{name}`, which no connector may have. That usually comes from {usually}; {mend}")]
    ForbiddenImport {
        /// The import, as the component or its core module names it.
        name: String,
        /// What usually brings it in.
        usually: &'static str,
        /// How to be rid of it.
        mend: &'static str,
    },
    /// Not a connector.
    #[error("the component does not export `{name}`: {hint}")]
    MissingExport {
        /// What is missing.
        name: &'static str,
        /// What it probably is instead.
        hint: &'static str,
    },
    /// More than the engine gives to one call, seen before it is compiled.
    #[error(
        "the component needs {needed} {what}; one call may have {max}. Build it with less: a smaller initial memory, fewer \
         native modules"
    )]
    NeedsTooMuch {
        /// Of what.
        what: &'static str,
        /// How much.
        needed: u64,
        /// How much there is.
        max: u64,
    },
    /// An import or export has the right name and the wrong type.
    #[error("the component does not fit this host's interface: {0}. Build it again with the SDK of this version")]
    Mismatch(String),
    /// It is no valid component, uses a feature that is off, or needs more than a call may have.
    #[error("the component cannot be compiled: {0}")]
    Compile(String),
}
