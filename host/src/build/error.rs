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
    /// The folder of the component's place is not there.
    #[error(
        "{file} cannot be written: there is no folder {folder}\n  to mend: make it, or name another file with --out"
    )]
    NoFolder {
        /// Where the component should go.
        file: String,
        /// What is missing.
        folder: String,
    },
    /// Something else stands where the component should go.
    #[error("{file} {what}\n  to mend: name a file with --out that is not there yet, or that an earlier build wrote")]
    Occupied {
        /// Where the component should go.
        file: String,
        /// What stands there.
        what: &'static str,
    },
    /// The result would be written over what it is made of.
    #[error(
        "{file} is one of the files that the connector is made of; to make it again after a change, it is needed as it is\n  \
         to mend: name another file with --out"
    )]
    OverInput {
        /// The input.
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
    /// What should be packed is no component with the world of a connector.
    #[error("{file}: {what}\n  to mend: {TOOLS_BUILD}")]
    Unpackable {
        /// The file.
        file: String,
        /// What it is.
        what: String,
    },
    /// The drill could not play the example.
    #[error(
        "{file}: the example of the action {action:?} does not fit its {of} schema: {what}\n  to mend: change \
         [actions.example], or the schema"
    )]
    Example {
        /// The manifest, or the component that holds it.
        file: String,
        /// Which action.
        action: String,
        /// Input or settings.
        of: &'static str,
        /// Pointers into the example, and what is wrong there.
        what: String,
    },
    /// The component does not describe itself.
    #[error("{file}: {why}{}", schema_mend(why))]
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

/// How the toolchains that `pack` is for make a component of this world.
const TOOLS_BUILD: &str = "pack the component that your toolchain wrote for the world `connector` of wit/connector.wit: \
    componentize-js with `--wit connector.wit -n connector`, componentize-py with `-d connector.wit -w connector`";

/// A schema is the author's own; all else in a section says itself what to do.
fn schema_mend(why: &SectionError) -> &'static str {
    match why {
        SectionError::Schema { .. } => {
            "\n  to mend: write it in JSON Schema 2020-12 (https://json-schema.org); `true` lets anything through"
        }
        SectionError::NoComponent(_)
        | SectionError::Missing
        | SectionError::Several(_)
        | SectionError::Nested
        | SectionError::TooLarge(_)
        | SectionError::Json(_)
        | SectionError::Format(_)
        | SectionError::Manifest(_)
        | SectionError::Unequal(..) => "",
    }
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
