//! `oncegate connector build` and `connector check`: from an author's folder to one `.wasm` file that describes itself.
//!
//! It is a tool for authors and knows nothing of a running host: no ledger, no connections.

pub mod sources;

use crate::catalog::manifest::Manifest;
use crate::catalog::section::SectionError;
use std::fmt;
use std::path::{Path, PathBuf};

/// What to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The connector's folder: `Cargo.toml` and `connector.toml` beside each other.
    pub path: PathBuf,
    /// Where the component goes; `None`: `target/connectors/NAME.wasm` of the workspace.
    pub out: Option<PathBuf>,
}

/// What was built (or checked).
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The component.
    pub file: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// `sha256:…`
    pub digest: String,
    /// What it says about itself.
    pub manifest: Manifest,
}

/// Why there is no component. Says what, where, and how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// To come: one variant for each reason.
    #[error("{0}")]
    Failed(String),
    /// The component does not describe itself.
    #[error(transparent)]
    Section(#[from] SectionError),
}

/// Builds a connector. Runs cargo twice; its messages go to this process's standard error.
///
/// # Errors
/// What, where, and how to mend it.
pub fn run(_options: BuildOptions) -> Result<BuildReport, BuildError> {
    Err(BuildError::Failed("not finished".into()))
}

/// Makes the checks of a build on a component alone.
///
/// # Errors
/// What is wrong with it.
pub fn check(_path: &Path) -> Result<BuildReport, BuildError> {
    Err(BuildError::Failed("not finished".into()))
}

impl fmt::Display for BuildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manifest = &self.manifest;
        writeln!(f, "{} {}: {}", manifest.name, manifest.version, manifest.title)?;
        writeln!(f, "  file    {}", self.file.display())?;
        writeln!(f, "  size    {:.1} KB", self.bytes as f64 / 1000.0)?;
        writeln!(f, "  digest  {}", self.digest)?;
        writeln!(f, "It may:")?;
        crate::catalog::rights::of(manifest)
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}
