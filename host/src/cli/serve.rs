//! `oncegate serve`: a host, until it is told to stop.

use super::Place;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::ledger::Database;
use crate::serve::Server;
use crate::telemetry::{self, LogFormat};
use anyhow::Context;
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen; goes before `oncegate.toml`. Port 0 takes a free one (it is written to DATA/address).
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The database that holds the ledger, like postgres://user:password@host/name; goes before `oncegate.toml`. Without
    /// one it is in the data directory.
    #[arg(long, value_name = "URL", env = crate::host_process::DATABASE, hide_env_values = true)]
    database: Option<Database>,
    /// Make the host match this installation folder first; its `oncegate.toml` is used.
    #[arg(long, value_name = "FOLDER")]
    apply: Option<PathBuf>,
    /// With --apply: a connection whose changed connector you approve; may be given several times.
    #[arg(long, value_name = "CONNECTION", requires = "apply")]
    approve: Vec<String>,
    /// Stop when standard input ends: for a program that starts a host and must not leave it behind.
    #[arg(long, hide = true)]
    stop_with_stdin: bool,
    /// Keep compiled connectors in this folder: for a program whose hosts have a new data directory each time.
    #[arg(long, value_name = "FOLDER", hide = true)]
    cache: Option<PathBuf>,
    /// Write the log as JSON lines.
    #[arg(long)]
    log_json: bool,
}

pub fn run(place: &Place, args: &ServeArgs) -> anyhow::Result<()> {
    telemetry::start(if args.log_json {
        LogFormat::Json
    } else {
        LogFormat::Text
    });
    let folder = args.apply.as_deref().unwrap_or(&place.data);
    let mut config = Config::read(folder)?;
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(database) = &args.database {
        config.database.clone_from(database);
    }
    config.cache.clone_from(&args.cache);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let done = runtime.block_on(serve(&place.data, &config, args));
    // A read of standard input that nobody ends must not hold the process.
    runtime.shutdown_background();
    done
}

async fn serve(data: &Path, config: &Config, args: &ServeArgs) -> anyhow::Result<()> {
    // Before anything else, so that a signal during start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let apply = args.apply.as_deref().map(|folder| (folder, args.approve.as_slice()));
    let server = Server::start_with(data, config, Arc::new(SystemClock), apply).await?;
    tracing::info!(address = %server.address, "listening");
    let failed = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        _ = hangup.recv() => None,
        () = stdin_ends(), if args.stop_with_stdin => None,
        why = server.host.ledger.failed() => Some(why),
    };
    if let Some(why) = failed {
        // Nothing may be written by this process any more: what is there is read at the next start.
        anyhow::bail!("{why}");
    }
    tracing::info!("stopping: attempts in flight end first");
    server.stop().await;
    Ok(())
}

async fn stdin_ends() {
    // Whatever comes is thrown away; an error is an end as well.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
}
