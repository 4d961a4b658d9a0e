//! `oncegate connector …`.

use super::installation::{What, list};
use super::terminal::say;
use super::{Listing, Place, builtin, call};
use crate::build::scaffold::{self, Template};
use crate::build::{self, BuildOptions, PackOptions};
use clap::Subcommand;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum ConnectorCommand {
    /// Begin a connector: a Rust crate that builds, passes its tests and its drill at once, with comments that teach.
    New {
        /// Its name.
        name: String,
        /// What it begins with.
        #[arg(long, value_enum, default_value = "write")]
        template: Template,
        /// The folder in which it is made.
        #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
        parent: PathBuf,
        /// Use the SDK in this folder instead of bringing one along.
        #[arg(long, value_name = "FOLDER")]
        sdk: Option<PathBuf>,
    },
    /// Compile a Rust crate to a connector, and say in words what it may do.
    Build {
        /// The crate's folder, with its `connector.toml`.
        path: PathBuf,
        /// Where the connector goes; else target/connectors/NAME.wasm.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Make a connector of a component that another toolchain built: put manifest and schemas in, and say in words what it
    /// may do.
    Pack {
        /// The component, as its toolchain wrote it.
        component: PathBuf,
        /// The manifest.
        #[arg(long, value_name = "FILE", default_value = "connector.toml")]
        manifest: PathBuf,
        /// The JSON Schemas of settings, inputs and outputs.
        #[arg(long, value_name = "FILE", default_value = "schemas.json")]
        schemas: PathBuf,
        /// Where the connector goes; else NAME.wasm beside the component.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check a connector file, and say in words what it may do.
    Check {
        /// The `.wasm` file.
        file: PathBuf,
    },
    /// Try one call for real: shows the request, the answer and what a host would make of them. Asks before a request that
    /// changes something, and never sends it twice.
    Call(call::CallArgs),
    /// The connectors that the host has.
    List {
        #[command(flatten)]
        listing: Listing,
        /// The connectors that come with this program, and what each may do; needs no running host.
        #[arg(long, conflicts_with_all = ["limit", "after"])]
        builtin: bool,
    },
}

pub fn run(place: &Place, command: &ConnectorCommand) -> anyhow::Result<bool> {
    match command {
        ConnectorCommand::New {
            name,
            template,
            parent,
            sdk,
        } => {
            let folder = scaffold::new(parent, name, *template, sdk.as_deref())?;
            say(&begun(&folder, name));
        }
        ConnectorCommand::Build { path, out } => {
            let options = BuildOptions {
                path: path.clone(),
                out: out.clone(),
            };
            say(&build::run(options)?.to_string());
        }
        ConnectorCommand::Pack {
            component,
            manifest,
            schemas,
            out,
        } => {
            let options = PackOptions {
                component: component.clone(),
                manifest: manifest.clone(),
                schemas: schemas.clone(),
                out: out.clone(),
            };
            say(&build::pack(&options)?.to_string());
        }
        ConnectorCommand::Check { file } => say(&build::check(file)?.to_string()),
        ConnectorCommand::Call(args) => return call::run(place, args),
        ConnectorCommand::List { listing, builtin: true } => builtin::list(listing.json)?,
        ConnectorCommand::List {
            listing,
            builtin: false,
        } => list(place, What::Connectors, listing)?,
    }
    Ok(true)
}

/// What to do with a new connector.
fn begun(folder: &Path, name: &str) -> String {
    let folder = folder.display();
    format!(
        "{name} is in {folder}. Next:\n\n  cd {folder}\n  cargo test\n  oncegate connector build .\n  oncegate drill --connector \
         target/connectors/{name}.wasm\n"
    )
}
