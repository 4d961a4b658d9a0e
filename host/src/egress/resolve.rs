//! From a name to addresses, once per connection: what is checked afterwards is what is connected to.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

/// Who turns names into addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resolver {
    /// The system's.
    #[default]
    System,
    /// A list, and no other name exists: for hosts that must not ask the world, as those of tests.
    Fixed(BTreeMap<String, Vec<IpAddr>>),
}

impl Resolver {
    pub(super) fn lookup(&self) -> Lookup {
        match self {
            Resolver::System => system(),
            Resolver::Fixed(names) => fixed(names.clone()),
        }
    }
}

/// Asks for the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The system's resolver blocks a thread until it gives up by itself, which can take half a minute; with this many stuck, the
/// others wait for their turn instead of using up the runtime's threads.
const LOOKUPS_MAX: usize = 32;

fn fixed(names: BTreeMap<String, Vec<IpAddr>>) -> Lookup {
    Arc::new(move |host, port| {
        let found = names
            .get(&host)
            .ok_or_else(|| io::Error::other("there is no such name"));
        let found = found.map(|addresses| {
            addresses
                .iter()
                .map(|address| SocketAddr::new(*address, port))
                .collect()
        });
        Box::pin(async move { found })
    })
}

/// The system's resolver.
fn system() -> Lookup {
    let turns = Arc::new(Semaphore::new(LOOKUPS_MAX));
    Arc::new(move |host, port| {
        let turns = turns.clone();
        Box::pin(async move {
            let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
            // A task of its own keeps the turn for as long as the thread is really taken, also when nobody waits any more.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((host.as_str(), port))
                    .await
                    .map(Iterator::collect);
                drop(turn);
                found
            });
            lookup.await.map_err(io::Error::other)?
        })
    })
}
