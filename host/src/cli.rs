//! What people type. Exit codes: 0 done, 1 what was asked for failed, 2 wrong usage.

mod bench;
mod builtin;
mod cache;
mod call;
mod client;
mod connection;
mod connector;
mod demo;
mod drill;
mod flow;
mod forget;
mod installation;
mod ledger;
mod review;
mod runs;
mod serve;
mod terminal;

use clap::{Args, Parser, Subcommand};
use serde_json::Value;
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
    /// The address of a host elsewhere, with its scheme.
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// The access token for it.
    #[arg(long, global = true, env = "ONCEGATE_TOKEN", hide = true, hide_env_values = true)]
    pub token: Option<String>,
}

/// How a listing is asked for.
#[derive(Clone, Debug, Args)]
pub struct Listing {
    /// At most this many.
    #[arg(long)]
    limit: Option<u32>,
    /// Where to go on: the `next` of the part before.
    #[arg(long)]
    after: Option<String>,
    /// Print what the API answers.
    #[arg(long)]
    json: bool,
}

impl Listing {
    fn pairs(&self) -> [(&'static str, Option<String>); 2] {
        [
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("after", self.after.clone()),
        ]
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a host.
    Serve(serve::ServeArgs),
    /// Make the host match an installation folder.
    Apply(installation::ApplyArgs),
    /// Flows.
    #[command(subcommand)]
    Flow(flow::FlowCommand),
    /// Connectors.
    #[command(subcommand)]
    Connector(connector::ConnectorCommand),
    /// Connections.
    #[command(subcommand)]
    Connection(connection::ConnectionCommand),
    /// Runs: what happened to an event.
    #[command(subcommand)]
    Run(runs::RunCommand),
    /// What waits for a person.
    #[command(subcommand)]
    Review(review::ReviewCommand),
    /// Erase what is known of a person: payloads, answers and business words of their runs. Keys stay as HMAC.
    Forget(forget::ForgetArgs),
    /// The ledger as a whole: whether it remembers all that happened, and moving it to another database.
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// See the main job done: 200 leads through a destination that loses answers, with one SIGKILL in the middle.
    Demo(demo::DemoArgs),
    /// Put a connector or a connection through the acceptance test: lost answers, crashes, refusals, counted at a
    /// scripted destination.
    Drill(drill::DrillArgs),
    /// Measure what this machine gives: events per second, latency, CPU time, memory, disk flushes.
    Bench(bench::BenchArgs),
    #[command(name = crate::bench::LOAD, hide = true)]
    BenchLoad(bench::LoadArgs),
    #[command(name = crate::bench::DESTINATION, hide = true)]
    BenchDestination,
}

/// Carries out what was typed.
pub fn run(cli: Cli) -> ExitCode {
    let place = &cli.place;
    let done = match &cli.command {
        Command::Serve(args) => serve::run(place, args).map(|()| true),
        Command::Apply(args) => installation::apply(place, args).map(|()| true),
        Command::Flow(command) => flow::run(place, command),
        Command::Connector(command) => connector::run(place, command),
        Command::Connection(command) => connection::run(place, command).map(|()| true),
        Command::Run(command) => runs::run(place, command).map(|()| true),
        Command::Review(command) => review::run(place, command).map(|()| true),
        Command::Forget(args) => forget::run(place, args),
        Command::Ledger(command) => ledger::run(place, command).map(|()| true),
        Command::Demo(args) => demo::run(args),
        Command::Drill(args) => drill::run(args),
        Command::Bench(args) => bench::run(args),
        Command::BenchLoad(args) => bench::load(args).map(|()| true),
        Command::BenchDestination => bench::destination().map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("oncegate: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes. Many of our texts hold their cause already; nothing is said twice.
fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !told.contains(&cause) {
            told += &format!(": {cause}");
        }
    }
    told
}

/// Prints an answer: as the API gave it, or for people.
fn print(answer: &Value, json: bool, for_people: impl FnOnce(&Value) -> String) {
    if json {
        terminal::say(&format!("{answer}\n"));
    } else {
        terminal::say(&for_people(answer));
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// How to see the rest of a listing.
fn more(answer: &Value) -> String {
    match answer["next"].as_str() {
        Some(next) => format!("There is more: add --after {}\n", terminal::escape(next)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use clap::CommandFactory;

    #[test]
    fn an_error_says_nothing_twice() {
        let cause = || Err::<(), _>(std::io::Error::other("no room"));
        let holds = cause().context("cannot write x: no room").unwrap_err();
        assert_eq!(told(&holds), "cannot write x: no room");
        let adds = cause().context("cannot write x").unwrap_err();
        assert_eq!(told(&adds), "cannot write x: no room");
    }

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }
}
