//! The `oncegate` command, built for tests that start it, stop it and kill it.

use clap::Parser;
use oncegate::cli::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(Cli::parse())
}
