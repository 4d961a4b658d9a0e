//! `oncegate bench`, and the two commands by which it starts its load and its destination as processes of their own.

use crate::bench::load::Load;
use crate::bench::{self, BenchOptions};
use crate::ledger::Database;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Webhooks of one row at most.
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    events: u64,
    /// How long one row sends at most: what takes longer has shown its pace.
    #[arg(long, default_value_t = 6, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Steps of the flows that are measured.
    #[arg(long, default_value = "1,3", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=20))]
    steps: Vec<u64>,
    /// Webhooks under way at the same time.
    #[arg(long, default_value = "1,16,64", value_delimiter = ',', value_parser = concurrency)]
    concurrency: Vec<usize>,
    /// Fill the ledger with so many finished events first, and play each row on a fresh ledger as well; then look at
    /// listings. They go the whole way, so a million takes minutes.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    history: u64,
    /// Let a host come up before so many events that wait: once ready to go, once asleep.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    backlog: u64,
    /// A PostgreSQL server for the ledger, by the address of a database of a user who may make others: the bench makes its
    /// own, and drops them at the end.
    #[arg(long, value_name = "URL", conflicts_with_all = ["runtime", "soak"])]
    database: Option<Database>,
    /// So many hosts that share the ledger and the load; each number is a row of its own.
    #[arg(long, default_value = "1", value_delimiter = ',', requires = "database", value_parser = clap::value_parser!(u16).range(1..=16))]
    hosts: Vec<u16>,
    /// With --database, and instead of rows: fill a ledger with so many finished runs, from few to many (5 million take some
    /// minutes and 6 GB), and measure what it costs to know a duplicate and to claim due work.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "database",
        conflicts_with_all = ["events", "seconds", "steps", "concurrency", "history", "backlog", "hosts"],
        value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    stored: Vec<u64>,
    /// A folder on the disk that is meant; the ledger lies in a temporary folder below it.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Measure the runtime by itself: one call of a connector.
    #[arg(long, conflicts_with_all = ["events", "seconds", "steps", "concurrency", "history", "backlog"])]
    runtime: bool,
    /// Soak: measure what the machine gives, then send half of it for so many minutes and see whether memory, files and answers
    /// stay as they are. Of the steps the first number counts.
    #[arg(long, value_name = "MINUTES", value_parser = soak_ms, conflicts_with_all = ["runtime", "history", "concurrency"])]
    soak: Option<u64>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// The folder of the process that works; `bench` starts it.
    #[arg(long, hide = true)]
    within: Option<PathBuf>,
}

/// The load's process. `bench` starts it.
#[derive(Debug, Args)]
pub struct LoadArgs {
    #[arg(long = "host")]
    hosts: Vec<SocketAddr>,
    #[arg(long)]
    hook: String,
    #[arg(long)]
    first: u64,
    #[arg(long)]
    events: u64,
    #[arg(long)]
    concurrency: usize,
    #[arg(long)]
    ms_max: u64,
    #[arg(long)]
    per_s: u64,
}

/// Each is a connection, with a file descriptor at both ends.
const CONCURRENCY_MAX: usize = 256;

fn concurrency(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=CONCURRENCY_MAX) => Ok(number),
        Ok(_) | Err(_) => Err(format!("write a whole number from 1 to {CONCURRENCY_MAX}")),
    }
}

/// From three seconds, in which there is something to compare, to a week.
const SOAK_MINUTES: std::ops::RangeInclusive<f64> = 0.05..=10_080.0;

fn soak_ms(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(minutes) if SOAK_MINUTES.contains(&minutes) => Ok((minutes * 60_000.0) as u64),
        Ok(_) | Err(_) => Err(format!(
            "write a number of minutes from {} to {}",
            SOAK_MINUTES.start(),
            SOAK_MINUTES.end()
        )),
    }
}

pub fn run(args: &BenchArgs) -> anyhow::Result<bool> {
    let options = BenchOptions {
        events: args.events,
        sending_ms_max: args.seconds * 1_000,
        steps: args.steps.clone(),
        concurrency: args.concurrency.clone(),
        history: args.history,
        backlog: args.backlog,
        database: args.database.clone().unwrap_or_default(),
        hosts: args.hosts.iter().copied().map(usize::from).collect(),
        stored: args.stored.clone(),
        dir: args.dir.clone(),
        json: args.json,
        runtime: args.runtime,
        soak_ms: args.soak,
    };
    match &args.within {
        None => bench::watch(&options),
        Some(folder) => bench::run_within(folder, &options),
    }
}

pub fn load(args: &LoadArgs) -> anyhow::Result<()> {
    bench::load::run(&Load {
        hosts: args.hosts.clone(),
        hook: args.hook.clone(),
        first: args.first,
        events: args.events,
        concurrency: args.concurrency,
        ms_max: args.ms_max,
        per_s: args.per_s,
    })
}

pub fn destination() -> anyhow::Result<()> {
    bench::destination::run()
}
