//! Plays all cases at the same time: one host in a process of its own, one scripted destination, one SIGKILL.

use super::cases::Case;
use super::report::Observed;
use super::stage::{Cell, Subject};
use crate::catalog::manifest::Example;
use crate::clock::{Clock, SystemClock};
use crate::destination::{Destination, Options};
use crate::host_process::{HostProcess, Start};
use crate::ledger::Database;
use anyhow::{Context, ensure};
use oncegate_domain::doubt::Effect;
use oncegate_domain::outcome::Permanent;
use oncegate_domain::step::Review;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// When every case must have come to its end; the longest waits out a crash and two lookups, some 20 s.
const DONE_WITHIN_MS: i64 = 90_000;
/// How long connections are refused where they are.
const REFUSED_FOR: Duration = Duration::from_millis(1_800);
/// How long to wait for the request that is to be killed; a connector that sends none is found out elsewhere.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
/// When a slow destination has surely done what it was asked to do.
const LATE_WITHIN: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A cell, and the example it is made of.
pub type Prepared<'e> = (Cell, &'e Example);

/// Plays the cells; what was seen of each, in their order.
///
/// # Errors
/// The drill itself failed: no ports, no host, no disk.
pub fn play(subject: &Subject, cells: &[Prepared<'_>]) -> anyhow::Result<Vec<Observed>> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let folder = tempfile::Builder::new()
        .prefix("oncegate-drill-")
        .tempdir()
        .context("cannot make a folder")?;
    let rules = cells
        .iter()
        .flat_map(|(cell, _)| cell.case.rules(&cell.name, cell.approved.terms.effect));
    let destination = runtime.block_on(Destination::start_with(Options {
        services: cells.iter().map(|(cell, _)| cell.service.clone()).collect(),
        rules: rules.collect(),
        ..Options::default()
    }))?;
    let (data, installation) = (folder.path().join("data"), folder.path().join("installation"));
    std::fs::create_dir_all(&data)?;
    write_installation(&installation, subject, cells, &destination)?;
    let first = Start {
        data: &data,
        database: &Database::Embedded,
        folder: &installation,
        listen: "127.0.0.1:0",
        secrets: &[(super::connection::SECRET_VARIABLE, "drill-secret-of-nobody")],
        cache: subject.cache.as_deref(),
    };
    let host = with_a_crash(&runtime, first, cells, &destination)?;
    wait_until_settled(&host, cells.len())?;
    wait_for_late_effects(&runtime, cells, &destination);
    let observed = cells
        .iter()
        .map(|(cell, _)| observe(&host, &destination, cell))
        .collect();
    drop(host);
    runtime.block_on(destination.stop());
    observed
}

fn write_installation(
    folder: &Path,
    subject: &Subject,
    cells: &[Prepared<'_>],
    destination: &Destination,
) -> anyhow::Result<()> {
    for part in ["connectors", "connections", "flows"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    let connector = &subject.description.manifest.name;
    let wasm = folder.join("connectors").join(connector).with_extension("wasm");
    std::fs::write(wasm, &subject.bytes)?;
    for (cell, example) in cells {
        let connection = subject.connection_file(cell, &destination.origin(&cell.name), example)?;
        let file = |part: &str| folder.join(part).join(&cell.name).with_extension("toml");
        std::fs::write(file("connections"), connection)?;
        std::fs::write(file("flows"), cell.flow_file())?;
    }
    Ok(())
}

/// Delivers every event. The host is killed when the requests of the crash cases are on their way, and comes back.
fn with_a_crash(
    runtime: &tokio::runtime::Runtime,
    first: Start<'_>,
    cells: &[Prepared<'_>],
    destination: &Destination,
) -> anyhow::Result<HostProcess> {
    let of_case = |wanted: fn(Case) -> bool| cells.iter().map(|(cell, _)| cell).filter(move |cell| wanted(cell.case));
    let crash = Case::is_a_crash;
    let refused = |case| case == Case::ConnectionRefused;

    let host = HostProcess::start(first)?;
    let address = host.address.clone();
    of_case(crash).try_for_each(|cell| deliver(&host, cell))?;
    let under_way = destination.until(|tally| {
        of_case(crash).all(|cell| tally.services.get(&cell.name).is_some_and(|count| count.requests > 0))
    });
    // Who sends nothing is found out by the other cases; the rest is played all the same.
    let _ = runtime.block_on(async { tokio::time::timeout(REQUEST_WITHIN, under_way).await });
    host.kill()?;
    let host = HostProcess::start(Start {
        listen: &address,
        ..first
    })?;

    for cell in of_case(refused) {
        ensure!(
            runtime.block_on(destination.refuse(&cell.name)),
            "a port cannot be closed"
        );
    }
    of_case(|case| !case.is_a_crash()).try_for_each(|cell| deliver(&host, cell))?;
    std::thread::sleep(REFUSED_FOR);
    for cell in of_case(refused) {
        ensure!(
            runtime.block_on(destination.accept(&cell.name)),
            "a port cannot be opened"
        );
    }
    Ok(host)
}

fn deliver(host: &HostProcess, cell: &Cell) -> anyhow::Result<()> {
    host.deliver(&cell.name, &json!({ "key": cell.name, "input": cell.input }))
        .with_context(|| format!("the event of {} was not taken in", cell.name))
}

fn wait_until_settled(host: &HostProcess, cells: usize) -> anyhow::Result<()> {
    let until_ms = SystemClock.boot_ms() + DONE_WITHIN_MS;
    loop {
        let counts = host.ask("counts")?;
        let runs = |state: &str| counts["runs"][state].as_u64().unwrap_or_default();
        if runs("completed") + runs("needs_review") >= cells as u64 || SystemClock.boot_ms() > until_ms {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// A step may be in front of a person before a slow destination has done what it was asked to do: it is counted after that.
fn wait_for_late_effects(runtime: &tokio::runtime::Runtime, cells: &[Prepared<'_>], destination: &Destination) {
    let slow: Vec<&Cell> = cells
        .iter()
        .map(|(cell, _)| cell)
        .filter(|cell| cell.case == Case::SlowCommit && cell.approved.terms.effect == Effect::Write)
        .collect();
    let done = destination.until(|tally| {
        let counts = slow.iter().filter_map(|cell| tally.services.get(&cell.name));
        counts
            .into_iter()
            .all(|count| count.requests == 0 || count.effects_total > 0)
    });
    // Where nothing ever comes, the count says so.
    let _ = runtime.block_on(async { tokio::time::timeout(LATE_WITHIN, done).await });
}

fn observe(host: &HostProcess, destination: &Destination, cell: &Cell) -> anyhow::Result<Observed> {
    let counted = destination.count(&cell.name);
    let mut observed = Observed {
        effects: counted.effects_total,
        writes: destination.writes_of(&cell.name),
        ..Observed::default()
    };
    let runs = host.ask(&format!("runs?flow={}", cell.name))?;
    let Some(run) = runs["items"][0]["id"].as_str() else {
        return Ok(observed);
    };
    let run = host.ask(&format!("runs/{run}"))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let step = &run["steps"][0];
    observed.state = text(&step["state"]).unwrap_or_default();
    observed.why = text(&step["why"]);
    let faults = [Permanent::ConnectorFault, Permanent::Denied].map(|fault| Review::Refused(fault).to_string());
    observed.blamed = observed.why.as_ref().is_some_and(|why| faults.contains(why));
    observed.last_error = text(&step["last_error"]);
    observed.may_exist = run["reviews"][0]["effect_may_exist"].as_bool();
    Ok(observed)
}
