//! `oncegate flow …`.

use super::installation::{What, list};
use super::terminal::escape;
use super::{Listing, Place};
use crate::flow::Flow;
use clap::Subcommand;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// Say what is wrong in flow files, where, and how to mend it. Needs no host.
    Check {
        /// The files; example files are looked for beside them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// The flows of the host.
    List {
        #[command(flatten)]
        listing: Listing,
    },
}

/// `true`: nothing is wrong.
pub fn run(place: &Place, command: &FlowCommand) -> anyhow::Result<bool> {
    match command {
        FlowCommand::Check { files } => {
            let mut good = true;
            for file in files {
                good &= check(file);
            }
            Ok(good)
        }
        FlowCommand::List { listing } => list(place, What::Flows, listing).map(|()| true),
    }
}

/// One that cannot be read hides nothing of the others.
fn check(file: &Path) -> bool {
    let source = match std::fs::read_to_string(file) {
        Ok(source) => source,
        Err(error) => {
            let why = match error.kind() {
                ErrorKind::InvalidData => "it is not UTF-8; save it as UTF-8".to_owned(),
                _ => format!("it cannot be read: {error}"),
            };
            eprintln!("{}: {why}", file.display());
            return false;
        }
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    let example = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    match Flow::parse(&source, &example) {
        Ok((flow, warnings)) => {
            for warning in &warnings {
                println!("{}:{} (warning)", file.display(), escape(&warning.to_string()));
            }
            println!(
                "{}: {} is well formed ({} steps)",
                file.display(),
                escape(flow.name()),
                flow.steps().len()
            );
            true
        }
        Err(problems) => {
            for problem in &problems {
                eprintln!("{}:{}", file.display(), escape(&problem.to_string()));
            }
            false
        }
    }
}
