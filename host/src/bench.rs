//! `oncegate bench`: what this machine gives. Host, destination and load are three processes over loopback, so that what the
//! host uses is the host's; the destination counts, and the bench ends well only when no event had two effects and none
//! went without.
//!
//! It must not know how a host works inside: it reads what the API, the kernel and the ledger's file format tell anybody.

mod alone;
mod backlog;
mod child;
pub mod destination;
mod disk;
mod figures;
mod fill;
mod framing;
mod installation;
mod listings;
pub mod load;
mod percentile;
mod process;
mod records;
mod report;
mod soak;
mod stage;
mod stored;
mod watched;

pub use child::{DESTINATION, LOAD};

use crate::ledger::{Database, Scratch};
use disk::Disk;
use figures::Row;
use serde_json::{Value, json};
use stage::{FIRST, Stage};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is measured.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Webhooks of one row at most.
    pub events: u64,
    /// How long one row sends at most, in milliseconds.
    pub sending_ms_max: u64,
    /// Steps of the flows, one after the other.
    pub steps: Vec<u64>,
    /// Webhooks under way at the same time.
    pub concurrency: Vec<usize>,
    /// Finished events in the ledger before the first row; each row is then played on a fresh ledger as well.
    pub history: u64,
    /// Events that wait when a host comes up; 0: that is not measured.
    pub backlog: u64,
    /// Where the ledgers are: in the data directory, or on the server of this address, in databases of their own.
    pub database: Database,
    /// Hosts that share the ledger and the load.
    pub hosts: Vec<usize>,
    /// Where the data directories lie for the time; `None`: where temporary files lie.
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    pub json: bool,
    /// Finished runs in a ledger on a server, from few to many: what they cost is measured, and no host.
    pub stored: Vec<u64>,
    /// Measure the runtime by itself, and no host.
    pub runtime: bool,
    /// Send half of what the machine gives for so long, in milliseconds, and see whether the host stays as it is.
    pub soak_ms: Option<u64>,
}

/// Measures, in a process of its own and in a temporary folder that is gone afterwards; `true`: all went well.
///
/// # Errors
/// There is no folder, or it was ended by a signal.
pub fn watch(options: &BenchOptions) -> anyhow::Result<bool> {
    let below = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    watched::run(&below, &options.database)
}

/// The databases of a bench in this folder, which are gone with it; `None`: its ledgers are in the folder.
fn scratch(folder: &Path, database: &Database) -> anyhow::Result<Option<Scratch>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(Scratch::on(database, &name)?)
}

/// Measures, within a folder that somebody else removes.
///
/// # Errors
/// The bench itself failed.
pub fn run_within(folder: &Path, options: &BenchOptions) -> anyhow::Result<bool> {
    watched::end_with_watcher();
    match options.soak_ms {
        Some(soak_ms) => soak::run(folder, options, soak_ms),
        None if options.runtime => run_alone(folder, options),
        None if !options.stored.is_empty() => run_stored(folder, options),
        None => run(folder, options),
    }
}

/// Measures a whole host; `true`: every event had each of its effects exactly once. It fails where there are no ports, no
/// host or no disk.
fn run(folder: &Path, options: &BenchOptions) -> anyhow::Result<bool> {
    let say = teller(options.json);
    let disk = Disk::measure(folder)?;
    say(&report::disk(&disk, folder));
    say("Compiling the connectors …");
    // The backlog's flow is that of one step.
    let flows: BTreeSet<u64> = options.steps.iter().copied().chain([1]).collect();
    let mut stage = Stage::set(folder.to_owned(), scratch(folder, &options.database)?, &flows)?;
    let mut good = fill(&mut stage, options, &say)?;
    let mut lines = Vec::new();
    good &= rows(&mut stage, options, &say, |row| {
        lines.push(with_disk(serde_json::to_value(row)?, &disk));
        Ok(())
    })?;
    if options.history > 0 {
        let rows = stage.listings()?;
        say(&format!("\n{}", report::listings(&rows)));
        for row in rows {
            lines.push(serde_json::to_value(row)?);
        }
    }
    let idle = stage.idle()?;
    say(&format!("\n{}", report::idle(&idle)));
    if options.backlog > 0 {
        for asleep in [false, true] {
            let row = stage.backlog(options.backlog, asleep)?;
            say(&report::backlog(&row));
            good &= row.is_good();
            lines.push(serde_json::to_value(row)?);
        }
    }
    lines.push(serde_json::to_value(idle)?);
    say(match good {
        true => "Every event had its effects, each exactly once.",
        false => "Something went wrong: see above.",
    });
    if options.json {
        print(&Value::Array(lines).to_string());
    }
    Ok(good)
}

/// Where the rows are played that show what history costs.
const FRESH: &str = "fresh";

/// Fills the ledger with history; `false`: not each event of it went its whole way.
fn fill(stage: &mut Stage, options: &BenchOptions, say: &impl Fn(&str)) -> anyhow::Result<bool> {
    if options.history == 0 {
        return Ok(true);
    }
    say(&format!("Filling the ledger with {} events …", options.history));
    let left = |left: u64| say(&format!("  {left} to go"));
    let steps = options.steps.first().copied().unwrap_or(1);
    let good = stage.history(steps, options.history, left)?;
    stage.begin_ledger(FRESH)?;
    stage.on_ledger(FIRST);
    Ok(good)
}

/// Plays the rows; `false`: not all of them are good. Behind a history each is played on a fresh ledger right before, for
/// the speed of the machine itself changes within minutes.
fn rows(
    stage: &mut Stage,
    options: &BenchOptions,
    say: &impl Fn(&str),
    mut keep: impl FnMut(&Row) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    say(&format!("\n{}", report::head()));
    let mut good = true;
    for steps in &options.steps {
        for concurrency in &options.concurrency {
            let mut play = |ledger, hosts| -> anyhow::Result<Row> {
                stage.on_ledger(ledger);
                let mut row = stage.row(hosts, *steps, *concurrency, options.events, options.sending_ms_max)?;
                row.history = if ledger == FIRST { options.history } else { 0 };
                say(&report::row(&row));
                good &= row.is_good();
                keep(&row)?;
                Ok(row)
            };
            let mut one: Option<Row> = None;
            for hosts in &options.hosts {
                let fresh = if options.history > 0 {
                    Some(play(FRESH, *hosts)?)
                } else {
                    None
                };
                let row = play(FIRST, *hosts)?;
                if let Some(fresh) = fresh {
                    say(&report::behind(&fresh, &row));
                }
                match &one {
                    Some(one) => say(&report::shared(one, &row)),
                    None if *hosts == 1 => one = Some(row),
                    None => {}
                }
            }
        }
    }
    Ok(good)
}

/// Measures what a long history costs a ledger on a server.
fn run_stored(folder: &Path, options: &BenchOptions) -> anyhow::Result<bool> {
    let say = teller(options.json);
    say("Compiling the connectors …");
    let mut stage = Stage::set(folder.to_owned(), scratch(folder, &options.database)?, &[1].into())?;
    let (mut rows, mut has) = (Vec::new(), 0);
    for runs in options.stored.iter().copied() {
        say(&format!("Filling the ledger up to {runs} finished runs …"));
        let row = stage.stored(has, runs.max(has), |left| say(&format!("  {left} to go")))?;
        say(&report::stored(&row));
        has = runs;
        rows.push(row);
    }
    if let (Some(few), Some(many)) = (rows.first(), rows.last()) {
        say(&report::cost_of_stored(few, many));
    }
    if options.json {
        print(&serde_json::to_string(&rows)?);
    }
    Ok(true)
}

/// Measures the runtime by itself. It fails where there is no runtime or no disk.
fn run_alone(folder: &Path, options: &BenchOptions) -> anyhow::Result<bool> {
    let say = teller(options.json);
    let disk = Disk::measure(folder)?;
    say(&report::disk(&disk, folder));
    let alone = alone::run()?;
    say(&report::alone(&alone));
    if options.json {
        let lines = vec![with_disk(serde_json::to_value(&alone)?, &disk)];
        print(&Value::Array(lines).to_string());
    }
    Ok(true)
}

/// What the disk does by itself stands in every line: a row means little without it.
fn with_disk(mut line: Value, disk: &Disk) -> Value {
    line["fdatasync_p50_ms"] = json!(figures::ms(disk.append_ns.p50));
    line
}

fn teller(json: bool) -> impl Fn(&str) {
    move |text| {
        if !json {
            print(text);
        }
    }
}

/// Whoever closes the pipe has read enough; that is no reason to fail.
fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
