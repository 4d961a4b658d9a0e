//! `oncegate connector build`, `pack` and `check`: from an author's folder, or from a component that another toolchain
//! made, to one `.wasm` file that describes itself.
//!
//! Rust sources are compiled twice: once to ask the code for its schemas, once for the component. It is a tool for authors
//! and knows nothing of a running host: no ledger, no connections, no network but cargo's and rustup's own.

mod cargo;
mod pack;
pub mod scaffold;
pub mod sources;
mod toolchain;

use crate::catalog::Problem;
use crate::catalog::manifest::Manifest;
use crate::catalog::section::{self, SectionError};
use crate::runtime::{
    DescribeError, LoadError, RuntimeLimits, Size, check_core_imports, check_interface, check_size, describe,
};
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

/// Why there is no component. Says what, where, and how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file or folder that is needed is not there.
    #[error("{file} cannot be read: {why}\n  to mend: {mend}")]
    Read {
        /// Which.
        file: String,
        /// Why.
        why: String,
        /// What to do.
        mend: &'static str,
    },
    /// The component cannot be written.
    #[error("{file} cannot be written: {why}\n  to mend: make its folder writable, or name another file with --out")]
    Write {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// Packing would write over the component.
    #[error(
        "{file} is the component that is packed; to pack it again after a change, it is needed as it is\n  to mend: name \
         another file with --out"
    )]
    OverComponent {
        /// The component.
        file: String,
    },
    /// The manifest breaks rules.
    #[error("{}", said(file, problems))]
    Manifest {
        /// The manifest's file.
        file: String,
        /// All that is wrong.
        problems: Vec<Problem>,
    },
    /// Cargo does not know the package, or it is no connector.
    #[error("{file}: {what}\n  to mend: {mend}")]
    Package {
        /// The `Cargo.toml`.
        file: String,
        /// What is wrong with it.
        what: String,
        /// What to do.
        mend: String,
    },
    /// No connector can be called that.
    #[error("{0:?} is no connector's name\n  to mend: use 2 to 40 of a-z, 0-9 and -, beginning with a letter")]
    Name(String),
    /// The folder of a new connector is there already.
    #[error("{0} exists already\n  to mend: choose another name, or another place with --in")]
    Exists(String),
    /// Cargo (or another program) could not be started.
    #[error("`{program}` cannot be started: {why}\n  to mend: install Rust by rustup, https://rustup.rs")]
    Program {
        /// Which program.
        program: String,
        /// Why.
        why: String,
    },
    /// Nothing compiles for WebAssembly here.
    #[error(
        "the Rust target wasm32-unknown-unknown is not installed, and rustup did not install it ({why})\n  to mend: run \
         `rustup target add wasm32-unknown-unknown` where that works; on Debian without it run scripts/wasm-toolchain of \
         the Oncegate repository, whose result is found by itself (looked for in {folder})"
    )]
    NoTarget {
        /// What rustup said.
        why: String,
        /// Where a toolchain made by the script would be.
        folder: String,
    },
    /// The source does not compile.
    #[error(
        "the connector does not compile ({what}); cargo's messages are above\n  to mend: what they say, then build again; a \
         crate that does not compile for wasm32-unknown-unknown wants an operating system or a browser (sockets, files, the \
         time, randomness), and a connector has neither: do without it"
    )]
    Compile {
        /// Which of the two builds.
        what: &'static str,
    },
    /// The code does not tell its schemas.
    #[error("the connector does not tell its schemas: {0}")]
    Describe(#[from] DescribeError),
    /// What it tells is not as agreed with the SDK.
    #[error(
        "what the connector tells about itself cannot be read: {0}\n  to mend: use the SDK and the host of the same version"
    )]
    Description(String),
    /// Manifest and code disagree.
    #[error("{file}: the action {action:?} is {where_}\n  to mend: {mend}")]
    Actions {
        /// The manifest's file.
        file: String,
        /// Which action.
        action: String,
        /// Where it is and where it is not.
        where_: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// The core module is no connector.
    #[error(
        "no component can be made of it: {0}\n  to mend: use the SDK's export macro exactly once, at the root of the crate"
    )]
    Encode(String),
    /// The author's schemas cannot be read.
    #[error(
        "{file}: {what}\n  to mend: write {{\"settings\": SCHEMA, \"actions\": {{\"NAME\": {{\"input\": SCHEMA, \"output\": SCHEMA}}}}}}; \
         `settings` may be left out"
    )]
    Schemas {
        /// The file, with line and column where they are known.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// The component to be packed describes itself already.
    #[error(
        "{file}: it carries a manifest already, of {what}\n  to mend: pack the component that your toolchain wrote; one from \
         `oncegate connector build` or `pack` needs no packing"
    )]
    Packed {
        /// The component.
        file: String,
        /// Name and version in the manifest.
        what: String,
    },
    /// The component does not describe itself.
    #[error("{file}: {why}")]
    Section {
        /// The component, or the manifest.
        file: String,
        /// Why.
        why: SectionError,
    },
    /// It asks for more than a connector may have.
    #[error("{file}: {}", interface(why))]
    Interface {
        /// The component, or the `Cargo.toml` whose dependencies bring it in.
        file: String,
        /// Why.
        why: LoadError,
    },
}

fn said(file: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        format!(
            "{file}:{}:{}: {}\n  to mend: {}",
            problem.line, problem.column, problem.what, problem.mend
        )
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// On lines of their own, what a person does about a forbidden import.
fn interface(why: &LoadError) -> String {
    match why {
        LoadError::ForbiddenImport { name, usually, mend } => {
            format!("it imports `{name}`, which no connector may have\n  usually from: {usually}\n  to mend: {mend}")
        }
        LoadError::TooLarge { .. }
        | LoadError::NeedsTooMuch { .. }
        | LoadError::NotWasm
        | LoadError::CoreModule
        | LoadError::Malformed(_)
        | LoadError::MissingExport { .. }
        | LoadError::Mismatch(_)
        | LoadError::Compile(_) => why.to_string(),
    }
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
    let file = options.out.unwrap_or_else(|| {
        package
            .target_dir
            .join("connectors")
            .join(format!("{}.wasm", manifest.name))
    });
    let report = inspect(&file, &bytes)?;
    write(&file, &bytes)?;
    Ok(report)
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
    let digest = crate::catalog::digest_of(bytes);
    Ok(BuildReport {
        file: file.to_owned(),
        bytes: bytes.len(),
        digest,
        size,
        manifest: description.manifest,
    })
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

/// In one step: a file is whole or not there.
fn write(file: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let wrong = |error: std::io::Error| BuildError::Write {
        file: file.display().to_string(),
        why: error.to_string(),
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let temporary = file.with_extension("wasm.new");
    std::fs::write(&temporary, bytes).map_err(wrong)?;
    std::fs::rename(&temporary, file).map_err(wrong)
}

impl fmt::Display for BuildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manifest = &self.manifest;
        writeln!(f, "{} {}: {}", manifest.name, manifest.version, manifest.title)?;
        writeln!(f, "  file    {}", self.file.display())?;
        writeln!(f, "  size    {} KB", self.bytes.div_ceil(1000))?;
        writeln!(f, "  digest  {}", self.digest)?;
        let runs = match self.size {
            Size::Small => "as one of many, in up to 64 MB",
            Size::Large => "as a large one: few at once, in up to 256 MB",
        };
        writeln!(f, "  runs    {runs}")?;
        writeln!(f, "What it may do:")?;
        crate::catalog::rights::of(manifest)
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}

#[cfg(test)]
mod tests;
