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
mod stage;

pub use child::{DESTINATION, LOAD};

use anyhow::Context;
use disk::Disk;
use serde_json::{Value, json};
use stage::Stage;
use std::io::{self, Write};
use std::path::PathBuf;

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
}

/// Measures a whole host; `true`: every event had each of its effects exactly once.
///
/// # Errors
/// The bench itself failed: no ports, no host, no disk.
pub fn run(options: &BenchOptions) -> anyhow::Result<bool> {
    let say = teller(options.json);
    let (folder, disk) = place(options)?;
    say(&report::disk(&disk, folder.path()));
    say("Compiling the connectors …");
    let mut stage = Stage::set(folder, &options.steps)?;
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
        false => "The promise was broken: see above.",
    });
    if options.json {
        print(&Value::Array(lines).to_string());
    }
    Ok(good)
}

/// Measures the runtime by itself.
///
/// # Errors
/// There is no runtime, or no disk.
pub fn run_alone(options: &BenchOptions) -> anyhow::Result<bool> {
    let say = teller(options.json);
    let (folder, disk) = place(options)?;
    say(&report::disk(&disk, folder.path()));
    let alone = alone::run()?;
    say(&report::alone(&alone));
    if options.json {
        let lines = vec![with_disk(serde_json::to_value(&alone)?, &disk)];
        print(&Value::Array(lines).to_string());
    }
    Ok(true)
}

/// The folder in which everything happens, and the disk below it.
fn place(options: &BenchOptions) -> anyhow::Result<(tempfile::TempDir, Disk)> {
    let below = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("oncegate-bench-")
        .tempdir_in(&below)
        .with_context(|| {
            format!(
                "cannot make a folder below {}; name another with --dir",
                below.display()
            )
        })?;
    let disk = Disk::measure(folder.path())?;
    Ok((folder, disk))
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
