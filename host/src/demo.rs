//! `oncegate demo`: the main job, on a scripted destination that loses answers, with one SIGKILL in the middle. It exits
//! well only when no lead had two effects and none vanished; the destination is the judge. With `--providers` the
//! destination is a HubSpot, a Resend and a WhatsApp.

mod leads;
mod report;
mod scene;
mod sender;

use crate::clock::{Clock, SystemClock};
use crate::destination::{Destination, Options};
use crate::host_process::{HostProcess, Start};
use crate::ledger::Database;
use anyhow::Context;
use leads::Lead;
use report::Report;
use sender::Progress;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use scene::Scene;

/// Another seed, other trouble.
const SEED: u64 = 7;
/// When the work must be done; some seconds are usual, a busy machine takes longer. What is still under way then counts
/// as lost, for nobody can tell it from what is stuck.
const DONE_WITHIN: Duration = Duration::from_secs(180);

/// What the demo's connections sign with.
const SECRETS: [(&str, &str); 1] = [("ONCEGATE_SECRET_DEMO", "demo-token-not-secret")];

/// How the demo is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoOptions {
    /// Leave host and destination up, to look around.
    pub keep: bool,
    /// Print one line of JSON instead of a table.
    pub json: bool,
    /// What the leads are sent through.
    pub scene: Scene,
}

/// Runs the demo; `true`: the promise held.
///
/// # Errors
/// The demo itself failed: no ports, no host, no disk.
pub fn run(options: DemoOptions) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let folder = tempfile::Builder::new()
        .prefix("oncegate-demo-")
        .tempdir()
        .context("cannot make a folder")?;
    let destination = runtime.block_on(Destination::start_with(Options {
        services: options.scene.services(SEED),
        rules: options.scene.rules(),
        ..Options::default()
    }))?;
    let say = |text: &str| {
        if !options.json {
            println!("{text}");
        }
    };
    let data = folder.path().join("data");
    let installation = folder.path().join("installation");
    std::fs::create_dir_all(&data)?;
    options.scene.write(&installation, &destination)?;

    say(options.scene.says());
    let leads = Arc::new(leads::all());
    let (host, refused) = play(&data, &installation, &leads, &say)?;
    wait_until_done(&host, &say)?;
    let report = Report::make(&host, &destination, &leads, refused)?;
    if options.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("\n{report}");
    }
    say(if report.is_good() {
        "No lead twice, none lost."
    } else {
        "The promise was broken: see above."
    });
    if options.keep {
        keep(&runtime, &host, &data, folder.path())?;
    } else {
        say("Run it with --keep to look around in what it made.");
    }
    drop(host);
    runtime.block_on(destination.stop());
    Ok(report.is_good())
}

/// Sends the leads, and kills the host when half of them are in.
fn play(
    data: &Path,
    installation: &Path,
    leads: &Arc<Vec<Lead>>,
    say: &dyn Fn(&str),
) -> anyhow::Result<(HostProcess, u64)> {
    let first = Start {
        data,
        database: &Database::Embedded,
        folder: installation,
        listen: "127.0.0.1:0",
        secrets: &SECRETS,
        cache: None,
    };
    let host = HostProcess::start(first)?;
    let address = host.address.clone();
    let progress = Arc::new(Progress::default());
    let sending = {
        let (leads, progress, hook) = (
            Arc::clone(leads),
            Arc::clone(&progress),
            format!("http://{address}/hooks/leads"),
        );
        std::thread::spawn(move || sender::send(&hook, &leads, &leads::without_id(), &progress))
    };
    say(&format!(
        "Sending {} leads, a third of them twice at the same moment …",
        leads.len()
    ));
    while progress.taken.load(Ordering::Relaxed) < leads.len() / 2 && !sending.is_finished() {
        std::thread::sleep(Duration::from_millis(2));
    }
    say(&format!(
        "{} deliveries are in: SIGKILL to the host (pid {}).",
        progress.taken.load(Ordering::Relaxed),
        host.id()
    ));
    host.kill()?;
    let host = HostProcess::start(Start {
        listen: &address,
        ..first
    })?;
    say("The host is up again and reads its ledger.");
    sending
        .join()
        .map_err(|_| anyhow::anyhow!("sending the leads failed"))?;
    let given_up = progress.given_up.load(Ordering::Relaxed);
    anyhow::ensure!(given_up == 0, "{given_up} deliveries were never taken in");
    Ok((host, progress.refused.load(Ordering::Relaxed) as u64))
}

fn wait_until_done(host: &HostProcess, say: &dyn Fn(&str)) -> anyhow::Result<()> {
    let until_ms = SystemClock.boot_ms() + DONE_WITHIN.as_millis() as i64;
    let mut said = u64::MAX;
    loop {
        let counts = host.ask("counts")?;
        let runs = counts["runs"].as_object().cloned().unwrap_or_default();
        let open = ["pending", "processing", "retrying", "waiting", "cancelling"];
        let left: u64 = open
            .iter()
            .filter_map(|state| runs.get(*state).and_then(Value::as_u64))
            .sum();
        if left == 0 {
            return Ok(());
        }
        if left != said {
            let done = runs.get("completed").and_then(Value::as_u64).unwrap_or_default();
            say(&format!("  {done:>4} completed, {left:>4} under way"));
            said = left;
        }
        if SystemClock.boot_ms() > until_ms {
            say(&format!(
                "{left} runs are still under way after {} s.",
                DONE_WITHIN.as_secs()
            ));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn keep(runtime: &tokio::runtime::Runtime, host: &HostProcess, data: &Path, folder: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe()?;
    let (program, data) = (program.display(), data.display());
    println!(
        "\nThe host is up at http://{} until you press Ctrl-C. Try:\n",
        host.address
    );
    println!("  {program} --data {data} run list");
    println!("  {program} --data {data} review list");
    println!("  {program} --data {data} run list --text lead-0067 --json\n");
    println!("Its folder is {}; its log is {data}/host.log.", folder.display());
    runtime.block_on(tokio::signal::ctrl_c())?;
    Ok(())
}
