//! The `oncegate` command.

use clap::Parser;
use oncegate::cli::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(Cli::parse())
}
