//! Brings a host up and down: data directory → ledger → catalog → executor → listener, and back in the opposite order.

mod descriptors;
mod erasing;
mod listener;
mod notices;

use crate::api::{self, Api, Names, new_token, token_hash};
use crate::catalog::folder::FolderError;
use crate::catalog::{Catalog, CatalogError};
use crate::clock::SharedClock;
use crate::config::Config;
use crate::credentials::Secrets;
use crate::egress::Egress;
use crate::executor::{Abandoned, Executor, Parts};
use crate::ledger::{LeaseTerm, Ledger, LedgerError, NewToken, Opening, Room, StoredToken};
use crate::runtime::{Runtime, RuntimeError, RuntimeLimits};
use crate::triggers::{self, Hooks, HooksLimits};
use axum::Router;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long attempts in flight may take to end when the host goes down.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A host that is up.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its parts, for those who look inside (tests, the demo).
    pub host: Host,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    erasing: JoinHandle<()>,
}

/// Everything of a host but its listener.
#[derive(Clone)]
pub struct Host {
    /// The ledger.
    pub ledger: Ledger,
    /// Flows, connections and connectors.
    pub catalog: Catalog,
    /// The executor.
    pub executor: Executor,
    /// Runs connectors.
    pub runtime: Runtime,
    /// The time.
    pub clock: SharedClock,
    /// Reads secrets; its files are in `DATA/secrets`.
    pub secrets: Secrets,
}

/// Why a host did not come up.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {}: {source}", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The ledger cannot be opened or read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The runtime cannot be made.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The installation folder is not right, or could not be applied; nothing was changed.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// Recovery failed.
    #[error("recovery failed: {0}")]
    Recovery(#[from] Abandoned),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Host {
    /// Opens the data directory and begins to work on what is there.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn open(data: &Path, config: &Config, clock: SharedClock) -> Result<Self, ServeError> {
        prepare(data).map_err(|source| ServeError::Data {
            path: data.to_owned(),
            source,
        })?;
        let room = Room {
            free_bytes_min: config.limits.free_bytes_min,
            reserve_bytes: config.limits.reserve_bytes,
        };
        let opening = Opening {
            database: config.database.clone(),
            room,
            lease: LeaseTerm {
                ms: config.hosts.lease_ms,
            },
        };
        let ledger = Ledger::open_with(data, Arc::clone(&clock), &opening).await?;
        let mut limits = RuntimeLimits::default();
        limits.small.calls_max = config.limits.calls_max;
        limits.large.calls_max = config.limits.large_calls_max();
        let cache = config.cache.clone().unwrap_or_else(|| data.join("cache"));
        let runtime = Runtime::new(limits, Some(&cache))?;
        let catalog = Catalog::load(&ledger, &runtime).await?;
        let secrets = Secrets::new(data.join("secrets"));
        let parts = Parts {
            ledger: ledger.clone(),
            catalog: catalog.clone(),
            runtime: runtime.clone(),
            egress: Egress::resolving(Arc::clone(&clock), &config.resolver),
            clock: Arc::clone(&clock),
            secrets: secrets.clone(),
            calls_max: config.limits.calls_max,
            large_calls_max: config.limits.large_calls_max(),
        };
        let executor = Executor::start(parts).await?;
        Ok(Self {
            ledger,
            catalog,
            executor,
            runtime,
            clock,
            secrets,
        })
    }

    /// Ends the work in order: attempts in flight first, then the ledger.
    pub async fn close(&self) {
        self.executor.stop(STOP_WITHIN).await;
        self.ledger.close().await;
    }

    fn api(&self, config: &Config, listen: SocketAddr) -> Api {
        Api {
            ledger: self.ledger.clone(),
            catalog: self.catalog.clone(),
            executor: self.executor.clone(),
            clock: Arc::clone(&self.clock),
            names: Names {
                listen,
                public: config.public_host(),
            },
        }
    }

    fn hooks(&self, config: &Config) -> Hooks {
        let limits = HooksLimits {
            body_bytes_max: config.limits.hook_body_bytes_max,
            body_ms_max: config.limits.hook_body_ms_max,
            bodies_bytes_max: config.limits.hook_bodies_bytes_max,
            at_once_max: config.limits.hooks_at_once_max,
            results_max: config.limits.connections_max / 2,
        };
        Hooks::new(
            self.executor.clone(),
            self.catalog.clone(),
            Arc::clone(&self.clock),
            self.secrets.clone(),
            config.trusted_proxies.clone(),
            &limits,
        )
    }
}

impl Server {
    /// Brings a host up.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn start(data: &Path, config: &Config, clock: SharedClock) -> Result<Self, ServeError> {
        Self::start_with(data, config, clock, None).await
    }

    /// Brings a host up that matches `folder` (and with it the connections whose changed connector is approved) before it
    /// answers anybody: a delivery to a flow of the folder that came
    /// sooner would be answered 404, and many senders do not send again after that.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn start_with(
        data: &Path,
        config: &Config,
        clock: SharedClock,
        folder: Option<(&Path, &[String])>,
    ) -> Result<Self, ServeError> {
        let listening = |source| ServeError::Listen {
            address: config.listen,
            source,
        };
        // Listening first: a second host on the same address is told so before it touches anything.
        let listener = TcpListener::bind(config.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let host = Host::open(data, config, clock).await?;
        if let Some((folder, approve)) = folder {
            apply(&host, folder, approve).await?;
        }
        announce(data, address, &host).await?;
        for notice in host.notices(address).await {
            tracing::warn!("{notice}");
        }
        let app = Router::new()
            .merge(triggers::router(Arc::new(host.hooks(config))))
            .merge(api::router(Arc::new(host.api(config, address))));
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let keep = config.retention.payloads_days;
        let erasing = erasing::run(host.ledger.clone(), Arc::clone(&host.clock), keep, stop.clone());
        let erasing = tokio::spawn(erasing);
        let connections_max = descriptors::connections_max(config.limits.connections_max, descriptors::raised());
        let serving = tokio::spawn(listener::run(listener, app, connections_max, stopped));
        Ok(Self {
            address,
            host,
            stop,
            serving,
            erasing,
        })
    }

    /// Takes in nothing new, lets attempts in flight end, closes the ledger.
    pub async fn stop(self) {
        self.stop.cancel();
        self.host.executor.stop(STOP_WITHIN).await;
        if tokio::time::timeout(STOP_WITHIN, self.serving).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
        // A batch that was sent is still carried out by the ledger.
        if let Err(error) = self.erasing.await {
            tracing::warn!(%error, "erasing ended by itself");
        }
        self.host.ledger.close().await;
    }
}

async fn apply(host: &Host, folder: &Path, approve: &[String]) -> Result<(), FolderError> {
    let plan = host.catalog.plan(folder, approve).await?;
    for line in plan.to_string().lines() {
        tracing::info!("{line}");
    }
    for waiting in &plan.waiting {
        let connection = &waiting.connection;
        tracing::warn!(
            connection,
            "keeps its connector: another version is there and nobody has approved it"
        );
    }
    host.catalog.apply(plan, "serve --apply", host.clock.now_ms()).await?;
    host.executor.look_again();
    Ok(())
}

/// Writes down where this host is and how to get in, for commands on the same machine. The token is made when there is
/// none; only its digest is in the ledger, so a lost file means a new token, and the old one is revoked. Which one that was
/// stands beside it: hosts that share a ledger have each their own.
async fn announce(data: &Path, address: SocketAddr, host: &Host) -> Result<(), ServeError> {
    let failed = |source| ServeError::Data {
        path: data.to_owned(),
        source,
    };
    private_file(&data.join("address"), &format!("{address}\n")).map_err(failed)?;
    let path = data.join("token");
    let known = match std::fs::read_to_string(&path) {
        Ok(token) => host.ledger.token(token_hash(token.trim())).await?.is_some(),
        Err(_) => false,
    };
    if known {
        return only_ours(&path).map_err(failed);
    }
    // Whoever replaces the file wants the old token gone, and nobody else's.
    let number = data.join("token-id");
    let before = std::fs::read_to_string(&number).unwrap_or_default();
    let is_alone = host.ledger.neighbours().is_none();
    let is_ours = |token: &StoredToken| token.id.to_string() == before.trim() || (before.is_empty() && is_alone);
    let tokens = host.ledger.tokens().await?.into_iter();
    for token in tokens.filter(|token| token.name == ADMIN && is_ours(token)) {
        host.ledger.revoke_token(token.id, "serve", host.clock.now_ms()).await?;
    }
    let token = new_token().map_err(|error| failed(std::io::Error::other(error.to_string())))?;
    private_file(&path, &format!("{token}\n")).map_err(failed)?;
    let new = NewToken {
        name: ADMIN.to_owned(),
        hash: token_hash(&token),
        role: "admin".to_owned(),
        expires_ms: None,
        at_ms: host.clock.now_ms(),
    };
    let id = host.ledger.save_token(new).await?;
    private_file(&number, &format!("{id}\n")).map_err(failed)?;
    tracing::info!(path = %path.display(), "an access token was made");
    Ok(())
}

/// Name of the token that a host makes for commands on its machine.
const ADMIN: &str = "admin";

fn only_ours(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))
}

/// Written whole or not at all, readable by this user alone from its first byte.
fn private_file(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let part = path.with_extension("part");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

/// Only this user may read what is below.
fn prepare(data: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    for folder in [data.to_owned(), data.join("secrets")] {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}
