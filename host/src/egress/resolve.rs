//! From a name to addresses, once per connection: what is checked afterwards is what is connected to.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

/// Asks for the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The system's resolver blocks a thread until it gives up by itself, which can take half a minute; with this many stuck, the
/// others wait for their turn instead of using up the runtime's threads.
const LOOKUPS_MAX: usize = 32;

/// The system's resolver.
pub(super) fn system() -> Lookup {
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
