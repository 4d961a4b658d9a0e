//! Everything that is up while the bench runs, and how one row is played: a fresh host on the ledger that the rows share, a
//! warm-up, the load, the wait for the last effect; then both ends are asked what they saw.

use super::backlog::cpu_percent;
use super::child::{Destination, send};
use super::disk::flushes;
use super::figures::{Cost, Row, mb, ms};
use super::installation::{self, SECRETS, hook};
use super::load::Load;
use super::process::Used;
use crate::clock::monotonic_ns;
use crate::host_process::{HostProcess, Start};
use crate::ledger::{Database, Scratch};
use anyhow::{Context, ensure};
use oncegate_domain::run::State;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What is sent before a row and not counted: statements are prepared, connections made, pages there.
const WARM_UP_EVENTS: u64 = 256;
const WARM_UP_MS: u64 = 1_000;
/// History goes in parts, so that neither end has to keep it all.
const HISTORY_PART_EVENTS: u64 = 50_000;
const HISTORY_CONCURRENCY: usize = 64;
const HISTORY_PART_MS_MAX: u64 = 600_000;
/// How often the destination is asked whether all effects are there.
const COUNT_AGAIN: Duration = Duration::from_millis(20);
/// When no effect came for so long, what is missing is lost.
const NOTHING_NS_MAX: u64 = 30_000_000_000;
/// From the last effect until its outcome is stored and the host is at rest.
const SETTLE: Duration = Duration::from_millis(300);
/// How long runs whose effects are all there may stay open.
const ENDED_WITHIN: Duration = Duration::from_secs(60);
/// Where a run may stand otherwise. What waits goes on, so this is also the order in which to ask.
const NOT_COMPLETED: [State; 8] = [
    State::Pending,
    State::Waiting,
    State::Retrying,
    State::Processing,
    State::Cancelling,
    State::NeedsReview,
    State::Failed,
    State::Cancelled,
];
/// The ledger of the rows.
pub const FIRST: &str = "data";

/// What a host needs that does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Idle {
    /// Marks the line.
    pub idle: bool,
    /// Memory, in megabytes of 10⁶ bytes.
    pub rss_mb: f64,
    /// From the start of the process until it answers that it is ready, in milliseconds.
    pub ready_ms: f64,
    /// CPU time in hundredths of a core.
    pub cpu_percent: f64,
}

/// Destination, ledgers and installation folder.
pub struct Stage {
    folder: PathBuf,
    /// The ledger that is played on.
    ledger: &'static str,
    /// Where each ledger is; its name is that of the folder of its first host.
    databases: HashMap<&'static str, Database>,
    /// Makes databases on a server; `None`: a ledger is in the folder of its host.
    scratch: Option<Scratch>,
    pub(super) destination: Destination,
    /// Events so far: each has a number of its own, over all rows.
    events: u64,
}

impl Stage {
    /// Sets the stage in `folder`; connectors are compiled here and once.
    ///
    /// # Errors
    /// A process or the folder cannot be had.
    pub fn set(folder: PathBuf, scratch: Option<Scratch>, steps: &BTreeSet<u64>) -> anyhow::Result<Self> {
        let destination = Destination::start()?;
        let mut stage = Self {
            folder,
            ledger: FIRST,
            databases: HashMap::new(),
            scratch,
            destination,
            events: 0,
        };
        installation::write(&stage.installation(), &stage.destination.address, steps)?;
        stage.begin_ledger(FIRST)?;
        Ok(stage)
    }

    /// Goes on with a new ledger that has the installation in it and no event.
    ///
    /// # Errors
    /// A host does not come up on it.
    pub fn begin_ledger(&mut self, name: &'static str) -> anyhow::Result<()> {
        self.ledger = name;
        let database = match &self.scratch {
            Some(scratch) => Runtime::new()?.block_on(scratch.make(name))?,
            None => Database::Embedded,
        };
        self.databases.insert(name, database);
        self.host()?.stop()
    }

    /// Goes on with a ledger that was begun before.
    pub fn on_ledger(&mut self, name: &'static str) {
        self.ledger = name;
    }

    /// The number of the first of so many events, which nobody else gets.
    pub(super) fn take_numbers(&mut self, events: u64) -> u64 {
        let first = self.events;
        self.events += events;
        first
    }

    /// Where the ledger lies.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join(self.ledger)
    }

    fn installation(&self) -> PathBuf {
        self.folder.join("installation")
    }

    /// Where the ledger is that is played on.
    pub(super) fn database(&self) -> &Database {
        self.databases.get(self.ledger).unwrap_or(&Database::Embedded)
    }

    /// Starts a host on the ledger that is played on.
    pub(super) fn host(&self) -> anyhow::Result<HostProcess> {
        self.host_in(&self.data())
    }

    /// Starts so many hosts on it, each with a data directory of its own.
    fn hosts(&self, number: usize) -> anyhow::Result<Vec<HostProcess>> {
        let data = |place| match place {
            1 => self.data(),
            _ => self.folder.join(format!("{}-{place}", self.ledger)),
        };
        (1..=number).map(|place| self.host_in(&data(place))).collect()
    }

    fn host_in(&self, data: &Path) -> anyhow::Result<HostProcess> {
        std::fs::create_dir_all(data)?;
        HostProcess::start(Start {
            data,
            database: self.database(),
            folder: &self.installation(),
            listen: "127.0.0.1:0",
            secrets: &SECRETS,
            // All ledgers share it: connectors are compiled once.
            cache: Some(&self.folder.join("cache")),
        })
    }

    /// Plays one row.
    ///
    /// # Errors
    /// The bench itself failed; not that an effect is missing or too many.
    pub fn row(
        &mut self,
        hosts: usize,
        steps: u64,
        concurrency: usize,
        events: u64,
        ms_max: u64,
    ) -> anyhow::Result<Row> {
        let hosts = self.hosts(hosts)?;
        let warm_up = WARM_UP_EVENTS.min(events);
        self.play(&hosts, steps, concurrency, warm_up, WARM_UP_MS)?;
        let row = self.play(&hosts, steps, concurrency, events, ms_max)?;
        hosts.iter().try_for_each(ended)?;
        hosts.into_iter().try_for_each(HostProcess::stop)?;
        Ok(row)
    }

    /// Fills the ledger with events of one step that went their whole way; `false`: not each of them did, exactly once.
    ///
    /// # Errors
    /// The bench itself failed.
    pub fn history(&mut self, steps: u64, events: u64, mut say: impl FnMut(u64)) -> anyhow::Result<bool> {
        let hosts = self.hosts(1)?;
        let until = self.events + events;
        let mut good = true;
        while self.events < until {
            let part = HISTORY_PART_EVENTS.min(until - self.events);
            let row = self.play(&hosts, steps, HISTORY_CONCURRENCY, part, HISTORY_PART_MS_MAX)?;
            good &= row.is_good();
            say(until - self.events);
        }
        hosts.iter().try_for_each(ended)?;
        hosts.into_iter().try_for_each(HostProcess::stop)?;
        Ok(good)
    }

    /// A host that has nothing to do.
    ///
    /// # Errors
    /// It does not come up.
    pub fn idle(&self) -> anyhow::Result<Idle> {
        let from_ns = monotonic_ns();
        let host = self.host()?;
        let ready_ms = ms(monotonic_ns() - from_ns);
        let cpu_percent = cpu_percent(host.id())?;
        let rss_mb = mb(Used::by(host.id())?.rss_bytes);
        host.stop()?;
        Ok(Idle {
            idle: true,
            rss_mb,
            ready_ms,
            cpu_percent,
        })
    }

    fn play(
        &mut self,
        hosts: &[HostProcess],
        steps: u64,
        concurrency: usize,
        events: u64,
        ms_max: u64,
    ) -> anyhow::Result<Row> {
        let addresses = hosts.iter().map(|host| host.address.parse());
        let load = Load {
            hosts: addresses.collect::<Result<_, _>>()?,
            hook: hook(steps),
            first: self.take_numbers(events),
            events,
            concurrency,
            ms_max,
            per_s: 0,
        };
        let requests_before = self.destination.count()?;
        let before = self.used_by(hosts)?;
        let deliveries = send(&load)?;
        let accepted = deliveries.iter().filter(|delivery| delivery.accepted()).count() as u64;
        self.wait_for(requests_before + accepted * steps)?;
        let after = self.used_by(hosts)?;
        let cost = Cost {
            cpu_ms: after.cpu_ms - before.cpu_ms,
            rss_bytes: after.rss_bytes,
            flushes: after.flushes - before.flushes,
        };
        let effects = self.destination.take()?;
        let mut row = Row::of(steps, concurrency, &deliveries, &effects, cost);
        row.hosts = hosts.len();
        Ok(row)
    }

    /// What these hosts have used since they came up, together.
    fn used_by(&self, hosts: &[HostProcess]) -> anyhow::Result<Cost> {
        let mut sum = Cost::default();
        for host in hosts {
            let used = Used::by(host.id())?;
            sum.cpu_ms += used.cpu_ms;
            sum.rss_bytes += used.rss_bytes;
            sum.flushes += flushes(host, &self.data(), self.database())?;
        }
        Ok(sum)
    }

    /// Waits until so many requests were at the destination, or nothing comes any more; then for what may be too many.
    pub(super) fn wait_for(&mut self, requests: u64) -> anyhow::Result<()> {
        let (mut seen, mut since_ns) = (0, monotonic_ns());
        while seen < requests && monotonic_ns() - since_ns < NOTHING_NS_MAX {
            std::thread::sleep(COUNT_AGAIN);
            let now = self.destination.count()?;
            if now > seen {
                (seen, since_ns) = (now, monotonic_ns());
            }
        }
        std::thread::sleep(SETTLE);
        Ok(())
    }
}

/// Every run of the ledger is completed, as the host itself sees it. Asked state by state, each of which has an index: the
/// host's own count would read a ledger of a million events.
pub(super) fn ended(host: &HostProcess) -> anyhow::Result<()> {
    let until_ns = monotonic_ns() + ENDED_WITHIN.as_nanos() as u64;
    for state in NOT_COMPLETED {
        let path = format!("runs?state={}&limit=1", state.as_str());
        loop {
            let found = host.ask(&path)?;
            let found = found["items"].as_array().context("the host does not list its runs")?;
            let Some(run) = found.first() else { break };
            ensure!(monotonic_ns() < until_ns, "a run is not completed: {run}");
            std::thread::sleep(COUNT_AGAIN);
        }
    }
    Ok(())
}
