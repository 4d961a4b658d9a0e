//! Why there is no component: in the words of a good compiler.

use crate::catalog::Problem;
use crate::catalog::section::SectionError;
use crate::runtime::{DescribeError, LoadError};

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
