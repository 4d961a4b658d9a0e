//! Bounded waits for what happens elsewhere.

use crate::Destination;
use std::future::Future;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long anything may take that should happen at once. Generous: test machines are slow, and a test that holds ends
/// much sooner.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// How often it is looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until `look` gives something.
///
/// # Panics
/// It does not within [`PATIENCE`].
#[track_caller]
pub fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl FnMut() -> F) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    within(PATIENCE, format!("{what} (waited for at {caller})"), look)
}

async fn within<T, F: Future<Output = Option<T>>>(patience: Duration, what: String, mut look: impl FnMut() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(patience, found)
        .await
        .unwrap_or_else(|_| panic!("this did not happen in time: {what}"))
}

/// Waits for so many requests at one service of the destination.
///
/// # Panics
/// They do not come within [`PATIENCE`].
pub async fn requests(destination: &Destination, service: &str, at_least: u64) {
    let wait = destination.until(|tally| tally.services[service].requests >= at_least);
    timeout(PATIENCE, wait).await.expect("the request comes");
}

/// Waits for so many effects at all services of the destination together.
///
/// # Panics
/// They do not come within [`PATIENCE`].
pub async fn effects(destination: &Destination, at_least: u64) {
    let wait = destination.until(|tally| tally.effects_total >= at_least);
    timeout(PATIENCE, wait).await.expect("the effect comes");
}

/// Waits for so many effects at one service of the destination.
///
/// # Panics
/// They do not come within [`PATIENCE`].
pub async fn effects_of(destination: &Destination, service: &str, at_least: u64) {
    let wait = destination.until(|tally| tally.services[service].effects_total >= at_least);
    let within = timeout(PATIENCE, wait).await;
    within.unwrap_or_else(|_| panic!("{service} has {:?}", destination.count(service)));
}
