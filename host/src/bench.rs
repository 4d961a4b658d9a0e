//! `oncegate bench`: what this machine gives. Host, destination and load are three processes over loopback, so that what the
//! host uses is the host's; the destination counts, and the bench ends well only when no event had two effects and none
//! went without.
//!
//! It must not know how a host works inside: it reads what the API, the kernel and the ledger's file format tell anybody.

mod alone;
mod child;
pub mod destination;
mod disk;
mod figures;
mod framing;
mod installation;
pub mod load;
mod percentile;
mod process;
mod records;
mod report;
mod soak;
mod stage;
mod watched;

pub use child::{DESTINATION, LOAD};

use disk::Disk;
use serde_json::{Value, json};
use stage::Stage;
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
    /// Finished events in the ledger before the first row.
    pub history: u64,
    /// Where the ledger lies for the time; `None`: where temporary files lie.
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    pub json: bool,
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
    watched::run(&below)
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
    let mut stage = Stage::set(folder.to_owned(), &options.steps)?;
    let mut good = true;
    if options.history > 0 {
        say(&format!("Filling the ledger with {} events …", options.history));
        let left = |left: u64| say(&format!("  {left} to go"));
        let steps = options.steps.first().copied().unwrap_or(1);
        good &= stage.history(steps, options.history, left)?;
    }
    say(&format!("\n{}", report::head()));
    let mut lines = Vec::new();
    for steps in &options.steps {
        for concurrency in &options.concurrency {
            let row = stage.row(*steps, *concurrency, options.events, options.sending_ms_max)?;
            say(&report::row(&row));
            good &= row.is_good();
            lines.push(with_disk(serde_json::to_value(&row)?, &disk));
        }
    }
    let idle = stage.idle()?;
    say(&format!("\n{}", report::idle(&idle)));
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
