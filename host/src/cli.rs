//! What people type. Exit codes: 0 done, 1 what was asked for failed, 2 wrong usage.

mod demo;
mod serve;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Carries automations out, each effect at most once.
#[derive(Debug, Parser)]
#[command(name = "oncegate", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

/// Which host is meant.
#[derive(Clone, Debug, Args)]
pub struct Place {
    /// The data directory; address and token of a host on this machine are found there.
    #[arg(long, global = true, default_value = "./oncegate-data", value_name = "DIR")]
    pub data: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a host.
    Serve(serve::ServeArgs),
    /// See the main job done: 200 leads through a destination that loses answers, with one SIGKILL in the middle.
    Demo(demo::DemoArgs),
}

/// Carries out what was typed.
pub fn run(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Serve(args) => serve::run(&cli.place, &args).map(|()| true),
        Command::Demo(args) => demo::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("oncegate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
