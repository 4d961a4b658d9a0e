//! A scripted destination, and the judge of every promise: an HTTP/1.1 server on loopback that counts what it was made to do,
//! per key, per service and per business fact, and misbehaves as told, down to the byte.
//!
//! The demo, the end-to-end tests and the drill use it. It stands for the world outside and knows nothing of Oncegate: no
//! executor, no connector, no ledger; std, tokio and serde alone. No HTTP library either: one that behaves could not cut an
//! answer in half.

mod answer;
mod chance;
mod connection;
mod control;
mod dialect;
mod journal;
mod judge;
mod listener;
mod rules;
mod script;
mod scripted;
mod seen;
mod service;
mod shared;
mod wire;

#[cfg(test)]
mod tests;

pub use chance::Chances;
pub use dialect::Dialect;
pub use judge::{Count, Duplicate, Effect, Tally};
pub use rules::{On, Rule};
pub use script::{Answer, Behaviour, Cut, End, Framing, Read};
pub use scripted::{Reaction, Scripted, Spoken};
pub use seen::Seen;
pub use service::{Dedup, Route, Service};

use journal::Journal;
use judge::Judge;
use listener::Door;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::Shared;
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

/// What a destination is made of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Its services; each has a port of its own on 127.0.0.1.
    pub services: Vec<Service>,
    /// Ports by service name; services that are not named get a free one.
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
    /// The control port; 0: a free one.
    #[serde(default)]
    pub control_port: u16,
    /// A file in which effects are remembered over the end of the process.
    #[serde(default)]
    pub journal: Option<PathBuf>,
    /// What is scripted from the start.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// A running destination. Dropped, it closes its ports and connections.
pub struct Destination {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
    addresses: BTreeMap<String, SocketAddr>,
    control: SocketAddr,
}

impl Destination {
    /// Starts services on free ports, without a journal.
    ///
    /// # Errors
    /// Where no port can be had.
    pub async fn start(services: impl IntoIterator<Item = Service>) -> io::Result<Destination> {
        let services = services.into_iter().collect();
        Destination::start_with(Options {
            services,
            ..Options::default()
        })
        .await
    }

    /// Starts a destination.
    ///
    /// # Errors
    /// Where a port cannot be had or the journal cannot be read.
    pub async fn start_with(options: Options) -> io::Result<Destination> {
        let (journal, remembered) = match &options.journal {
            Some(path) => Journal::open(path).map(|(journal, effects)| (Some(journal), effects))?,
            None => (None, Vec::new()),
        };
        let mut judge = Judge::new(options.services.clone(), journal, remembered);
        options.rules.into_iter().for_each(|rule| judge.rules.set(rule));

        let (mut doors, mut addresses, mut ports) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for service in options.services {
            let port = options.ports.get(&service.name).copied().unwrap_or(0);
            let listener = listener::bind(port).await?;
            let (door, turns) = Door::new();
            addresses.insert(service.name.clone(), listener.local_addr()?);
            doors.insert(service.name.clone(), door);
            ports.push((service, listener, turns));
        }
        let control_listener = listener::bind(options.control_port).await?;
        let control = control_listener.local_addr()?;

        let shared = Arc::new(Shared::new(judge, doors));
        let mut tasks = JoinSet::new();
        for (service, listener, turns) in ports {
            tasks.spawn(listener::run(Arc::clone(&shared), service, listener, turns));
        }
        tasks.spawn(control::run(Arc::clone(&shared), control_listener));
        Ok(Destination {
            shared,
            tasks,
            addresses,
            control,
        })
    }

    /// Where a service listens, as `http://127.0.0.1:PORT`.
    ///
    /// # Panics
    /// Where there is no such service.
    pub fn origin(&self, service: &str) -> String {
        format!("http://{}", self.address(service))
    }

    /// The address of a service.
    ///
    /// # Panics
    /// Where there is no such service.
    pub fn address(&self, service: &str) -> SocketAddr {
        *self
            .addresses
            .get(service)
            .expect("the destination has a service of that name")
    }

    /// Where `GET /_effects` and the like are answered, as `http://127.0.0.1:PORT`.
    pub fn control_origin(&self) -> String {
        format!("http://{}", self.control)
    }

    /// Sets a rule; those set before it come first.
    pub fn script(&self, rule: Rule) {
        self.shared.with(|judge| judge.rules.set(rule));
    }

    /// Sets what happens to the next writes of a service, one after the other.
    pub fn script_next(&self, service: &str, behaviours: impl IntoIterator<Item = Behaviour>) {
        behaviours
            .into_iter()
            .for_each(|behaviour| self.script(Rule::next(service, behaviour)));
    }

    /// Forgets all rules.
    pub fn clear_script(&self) {
        self.shared.with(|judge| judge.rules.clear());
    }

    /// Puts a record in place, as if it had been there before; no effect is counted.
    pub fn put_record(&self, service: &str, key: &str, body: &Value) {
        self.shared.with(|judge| judge.put_record(service, key, body));
    }

    /// From now on connections to a service are refused, and kept ones are closed when they are idle; returns once it is so.
    /// `false` where it cannot be done.
    pub async fn refuse(&self, service: &str) -> bool {
        self.shared.set_open(service, false).await
    }

    /// Ends [`Destination::refuse`].
    pub async fn accept(&self, service: &str) -> bool {
        self.shared.set_open(service, true).await
    }

    /// Every request, in the order in which they began (of very many only the first hundred thousand).
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.read(|judge| judge.seen().to_vec())
    }

    /// The requests of one service.
    pub fn requests_of(&self, service: &str) -> Vec<Seen> {
        self.requests()
            .into_iter()
            .filter(|seen| seen.service == service)
            .collect()
    }

    /// How many requests came to a service that could have changed something, as far as they were whole.
    pub fn writes_of(&self, service: &str) -> u64 {
        self.shared.read(|judge| judge.writes_of(service))
    }

    /// How often each key (where there is none: business fact, or body) took effect at a service.
    pub fn effects(&self, service: &str) -> BTreeMap<String, u64> {
        self.count(service).effects
    }

    /// All effects in the order in which they took place within their service.
    pub fn effects_in_full(&self) -> Vec<Effect> {
        self.shared.read(|judge| judge.effects().cloned().collect())
    }

    /// How many effects there were in all.
    pub fn effects_total(&self) -> u64 {
        self.tally().effects_total
    }

    /// What was done more than once.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        self.tally().duplicates
    }

    /// What one service received and did; all zero where there is no such service.
    pub fn count(&self, service: &str) -> Count {
        self.tally().services.remove(service).unwrap_or_default()
    }

    /// The whole count.
    pub fn tally(&self) -> Tally {
        self.shared.read(Judge::tally)
    }

    /// Waits until the count is as wanted. The caller bounds the wait.
    pub async fn until(&self, wanted: impl Fn(&Tally) -> bool) {
        let mut changed = self.shared.watch();
        while !wanted(&self.tally()) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Closes ports and connections, gives up what was put off, and returns when all of it is done.
    pub async fn stop(mut self) {
        self.shared.give_up_later();
        self.tasks.shutdown().await;
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.shared.give_up_later();
    }
}

/// A destination in a process of its own: prints where it listens as one line of JSON (`{"control": …, "services": …}`) to
/// standard output and serves until `stop` is done.
///
/// # Errors
/// Where it cannot be started or nobody reads its first line.
pub async fn serve(options: Options, stop: impl Future<Output = ()>) -> io::Result<()> {
    let destination = Destination::start_with(options).await?;
    let names = destination.addresses.keys();
    let services: BTreeMap<&str, String> = names.map(|name| (name.as_str(), destination.origin(name))).collect();
    let mut out = io::stdout();
    writeln!(
        out,
        "{}",
        json!({"control": destination.control_origin(), "services": services})
    )?;
    out.flush()?;
    stop.await;
    destination.stop().await;
    Ok(())
}

/// A port that refuses connections for as long as the socket is kept.
///
/// # Errors
/// Where no port can be had.
pub fn refusing_port() -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = listener::refusing((Ipv4Addr::LOCALHOST, 0).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}
