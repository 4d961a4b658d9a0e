//! `oncegate connector build`, `pack` and `check`: from an author's folder, or from a component that another toolchain
//! made, to one `.wasm` file that describes itself.
//!
//! Rust sources are compiled twice: once to ask the code for its schemas, once for the component. It is a tool for authors
//! and knows nothing of a running host: no ledger, no connections, no network but cargo's and rustup's own.

mod cargo;
mod error;
mod outfile;
mod pack;
pub mod scaffold;
pub mod sources;
mod toolchain;

use crate::catalog::manifest::Manifest;
use crate::catalog::schema::Mismatch;
use crate::catalog::section;
use crate::runtime::{LoadError, RuntimeLimits, Size, check_core_imports, check_interface, check_size, describe};
pub use error::BuildError;
use outfile::OutFile;
pub use pack::{PackOptions, pack};
use std::fmt;
use std::path::{Path, PathBuf};

/// What to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The connector's folder: `Cargo.toml` and `connector.toml` beside each other.
    pub path: PathBuf,
    /// Where the component goes; `None`: `target/connectors/NAME.wasm` of the author's workspace.
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
    /// Which limits its calls have.
    pub size: Size,
    /// What it says about itself.
    pub manifest: Manifest,
}

/// Builds a connector. Runs cargo twice; its messages go to this process's standard error. Blocks for as long as that
/// takes.
///
/// # Errors
/// What, where, and how to mend it.
pub fn run(options: BuildOptions) -> Result<BuildReport, BuildError> {
    let manifest_file = options.path.join("connector.toml");
    let mend = "name the folder of a connector, where connector.toml stands beside Cargo.toml; `oncegate connector new` makes one";
    let manifest = read_manifest(&manifest_file, mend)?;
    let package = cargo::find(&options.path)?;
    // Before anything is compiled, which takes its time.
    let out = out(options.out, &package, &manifest, &manifest_file)?;
    let toolchain = toolchain::find(&options.path)?;
    let describing = cargo::build(&package, &toolchain, cargo::Which::Describing)?;
    let schemas = read_schemas(&describe(&describing)?)?;
    same_actions(&manifest_file, &manifest, &schemas)?;
    let core = cargo::build(&package, &toolchain, cargo::Which::Component)?;
    check_core_imports(&core).map_err(|why| BuildError::Interface {
        file: options.path.join("Cargo.toml").display().to_string(),
        why,
    })?;
    let component = encode(&core)?;
    let json = section::to_json(&manifest, &schemas);
    let wrong = |why| BuildError::Section {
        file: manifest_file.display().to_string(),
        why,
    };
    let bytes = section::embed(&component, &json).map_err(wrong)?;
    let report = inspect(&out.named, &bytes)?;
    out.write(&bytes)?;
    Ok(report)
}

/// Where it goes. The folder that is ours, in the author's target directory, is made.
fn out(
    named: Option<PathBuf>,
    package: &cargo::Package,
    manifest: &Manifest,
    manifest_file: &Path,
) -> Result<OutFile, BuildError> {
    let file = match named {
        Some(file) => file,
        None => {
            let folder = package.target_dir.join("connectors");
            std::fs::create_dir_all(&folder).map_err(|error| BuildError::Write {
                file: folder.display().to_string(),
                why: error.to_string(),
            })?;
            folder.join(format!("{}.wasm", manifest.name))
        }
    };
    OutFile::at(file, &[manifest_file])
}

/// Whether a build in this folder would find a compiler for WebAssembly, without installing one.
pub fn can_build(folder: &Path) -> bool {
    matches!(toolchain::find_here(folder), Ok(Some(_)))
}

/// Makes the checks of a build on a component alone.
///
/// # Errors
/// What is wrong with it.
pub fn check(path: &Path) -> Result<BuildReport, BuildError> {
    let bytes = std::fs::read(path).map_err(|error| BuildError::Read {
        file: path.display().to_string(),
        why: error.to_string(),
        mend: "name a .wasm file made by `oncegate connector build` or `pack`",
    })?;
    inspect(path, &bytes)
}

fn inspect(file: &Path, bytes: &[u8]) -> Result<BuildReport, BuildError> {
    check_interface(bytes).map_err(|why| bad_component(file, why))?;
    let size = check_size(bytes, &RuntimeLimits::default()).map_err(|why| bad_component(file, why))?;
    let description = section::read(bytes).map_err(|why| BuildError::Section {
        file: file.display().to_string(),
        why,
    })?;
    examples_fit(file, &description)?;
    let digest = crate::catalog::digest_of(bytes);
    Ok(BuildReport {
        file: file.to_owned(),
        bytes: bytes.len(),
        digest,
        size,
        manifest: description.manifest,
    })
}

/// The drill plays the examples, and a host would refuse one that does not fit.
fn examples_fit(file: &Path, description: &section::Description) -> Result<(), BuildError> {
    for (name, action) in &description.manifest.actions {
        let (Some(example), Some(schemas)) = (&action.example, description.actions.get(name)) else {
            continue;
        };
        let wrong = |of, why: Mismatch| BuildError::Example {
            file: file.display().to_string(),
            action: name.clone(),
            of,
            what: why.to_string(),
        };
        schemas.input.check(&example.input).map_err(|why| wrong("input", why))?;
        if let (Some(settings), Some(given)) = (&description.settings, &example.settings) {
            settings.check(given).map_err(|why| wrong("settings", why))?;
        }
    }
    Ok(())
}

fn bad_component(file: &Path, why: LoadError) -> BuildError {
    BuildError::Interface {
        file: file.display().to_string(),
        why,
    }
}

fn read_manifest(file: &Path, mend: &'static str) -> Result<Manifest, BuildError> {
    let name = || file.display().to_string();
    let source = std::fs::read_to_string(file).map_err(|error| BuildError::Read {
        file: name(),
        why: error.to_string(),
        mend,
    })?;
    Manifest::parse(&source).map_err(|problems| BuildError::Manifest { file: name(), problems })
}

fn read_schemas(text: &str) -> Result<section::Schemas, BuildError> {
    serde_json::from_str(text).map_err(|error| BuildError::Description(error.to_string()))
}

fn same_actions(file: &Path, manifest: &Manifest, schemas: &section::Schemas) -> Result<(), BuildError> {
    let wrong = |action: &str, where_, mend| BuildError::Actions {
        file: file.display().to_string(),
        action: action.to_owned(),
        where_,
        mend,
    };
    if let Some(name) = manifest
        .actions
        .keys()
        .find(|name| !schemas.actions.contains_key(*name))
    {
        let mend = "name it in the export macro (its NAME must be the same word), or take it out of the manifest";
        return Err(wrong(name, "in the manifest and not in the code", mend));
    }
    match schemas
        .actions
        .keys()
        .find(|name| !manifest.actions.contains_key(*name))
    {
        Some(name) => {
            let mend =
                "add [[actions]] with this name, its effect and its requests, or take it out of the export macro";
            Err(wrong(name, "in the code and not in the manifest", mend))
        }
        None => Ok(()),
    }
}

fn encode(core: &[u8]) -> Result<Vec<u8>, BuildError> {
    let encoder = wit_component::ComponentEncoder::default().validate(true).module(core);
    encoder
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| BuildError::Encode(format!("{error:#}")))
}

impl fmt::Display for BuildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manifest = &self.manifest;
        writeln!(f, "{} {}: {}", manifest.name, manifest.version, manifest.title)?;
        writeln!(f, "  file    {}", self.file.display())?;
        writeln!(f, "  size    {} KB", self.bytes.div_ceil(1000))?;
        writeln!(f, "  digest  {}", self.digest)?;
        let limits = RuntimeLimits::default();
        let (runs, limits) = match self.size {
            Size::Small => ("as one of many", limits.small),
            Size::Large => ("as a large one: few at once", limits.large),
        };
        let mib = limits.memory_bytes_max >> 20;
        writeln!(f, "  runs    {runs}, in up to {mib} MiB")?;
        writeln!(f, "What it may do:")?;
        crate::catalog::rights::of(manifest)
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}

#[cfg(test)]
mod tests;
