//! How quick something is while other things go on, beside how quick it is alone.

use crate::wait::effects_of;
use crate::{Destination, TestHost};
use std::time::Duration;
use tokio::time::Instant;

/// How many are timed.
pub const TIMED: usize = 15;

/// From the 202 to the effect at a service, as the slower half of several orders to a hook see it at least. Their ids begin
/// with `name`.
///
/// # Panics
/// An effect does not come.
pub async fn takes(destination: &Destination, host: &TestHost, (hook, service): (&str, &str), name: &str) -> Duration {
    let mut took = Vec::new();
    for n in 0..TIMED {
        let before = destination.count(service).effects_total;
        host.order(hook, &format!("{name}-{n}")).await;
        let accepted = Instant::now();
        effects_of(destination, service, before + 1).await;
        took.push(accepted.elapsed());
    }
    took.sort_unstable();
    took[TIMED / 2]
}

/// It is as quick as it was alone: on a machine that does other things as well, and still far from the pace of who is slow.
///
/// # Panics
/// It is not.
pub fn assert_as_quick(alone: Duration, now: Duration) {
    assert!(
        now < alone * 3 + Duration::from_millis(300),
        "{now:?}, and {alone:?} alone"
    );
}
