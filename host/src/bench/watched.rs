//! The bench under watch: the folder in which everything happens is made here, and what happens in it is another process of
//! this program. So the folder goes, and databases on a server with it, whatever ends the bench, a signal too: the process that works, and the host, the
//! destination and the load that it has started, are one process group, and are ended before their folder is removed.

use super::scratch;
use crate::ledger::Database;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// The option by which the bench starts itself, with the folder.
pub const WITHIN: &str = "--within";
/// How often, and how long apart, it is looked whether all that was killed is gone.
const GONE_LOOKS_MAX: u32 = 500;
const GONE_LOOK: Duration = Duration::from_millis(10);

/// Runs what was typed once more, within a temporary folder below `below`; `true`: it ended well.
///
/// # Errors
/// There is no folder, or a signal ended it.
pub fn run(below: &Path, database: &Database) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = folder(below)?;
        let watched = watch(folder.path()).await;
        if let Some(scratch) = scratch(folder.path(), database)? {
            scratch.drop_all().await?;
        }
        watched
    })
}

fn folder(below: &Path) -> anyhow::Result<TempDir> {
    let made = tempfile::Builder::new().prefix("oncegate-bench-").tempdir_in(below);
    made.with_context(|| {
        format!(
            "cannot make a folder below {}; name another with --dir",
            below.display()
        )
    })
}

async fn watch(folder: &Path) -> anyhow::Result<bool> {
    // Before there is anything to remove.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut bench = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .arg(WITHIN)
        .arg(folder)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .context("cannot start the bench")?;
    // Its end tells the other that we are gone, should we be killed; waiting would close it.
    let _open = bench.stdin.take();
    let ended = tokio::select! {
        status = bench.wait() => return Ok(status?.success()),
        _ = interrupt.recv() => "an interrupt",
        _ = terminate.recv() => "a signal to terminate",
        _ = hangup.recv() => "a hang-up",
    };
    end_group(&mut bench).await?;
    bail!("ended by {ended}; its folder is removed")
}

/// Ends the process and all that it has started.
async fn end_group(bench: &mut Child) -> anyhow::Result<()> {
    let id = bench.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    if let Some(group) = id {
        let _ = kill_process_group(group, Signal::KILL);
    }
    bench.wait().await?;
    // The others are only dying yet, and one of them may still write into the folder.
    for _ in 0..GONE_LOOKS_MAX {
        if id.is_none_or(|group| test_kill_process_group(group).is_err()) {
            break;
        }
        tokio::time::sleep(GONE_LOOK).await;
    }
    Ok(())
}

/// In the process that works: ends it when whoever watches it is gone. What it has started ends with its own input.
pub fn end_with_watcher() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
}
