//! `oncegate connector …`.

use super::installation::{What, list};
use super::{Listing, Place, builtin};
use crate::build::{self, BuildOptions};
use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum ConnectorCommand {
    /// Compile a Rust crate to a connector, and say in words what it may do.
    Build {
        /// The crate's folder, with its `connector.toml`.
        path: PathBuf,
        /// Where the connector goes; else target/connectors/NAME.wasm.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check a connector file, and say in words what it may do.
    Check {
        /// The `.wasm` file.
        file: PathBuf,
    },
    /// The connectors that the host has.
    List {
        #[command(flatten)]
        listing: Listing,
        /// The connectors that come with this program, and what each may do; needs no running host.
        #[arg(long, conflicts_with_all = ["limit", "after"])]
        builtin: bool,
    },
}

pub fn run(place: &Place, command: &ConnectorCommand) -> anyhow::Result<()> {
    match command {
        ConnectorCommand::Build { path, out } => {
            let options = BuildOptions {
                path: path.clone(),
                out: out.clone(),
            };
            print!("{}", build::run(options)?);
        }
        ConnectorCommand::Check { file } => print!("{}", build::check(file)?),
        ConnectorCommand::List { listing, builtin: true } => builtin::list(listing.json)?,
        ConnectorCommand::List {
            listing,
            builtin: false,
        } => list(place, What::Connectors, listing)?,
    }
    Ok(())
}
