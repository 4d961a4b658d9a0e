//! The `oncegate` command, built for tests that start it, stop it and kill it, and where they say so let its disk flush only as
//! often as they allow.

use clap::Parser;
use oncegate::cli::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    oncegate_tests::flushes::watch();
    cli::run(Cli::parse())
}
