//! The `oncegate` command.

use clap::Parser;
use oncegate::cli::{self, Cli};
use std::process::ExitCode;

/// An event allocates some hundred small things on several threads; see docs/performance.md for what this one saves.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::run(Cli::parse())
}
