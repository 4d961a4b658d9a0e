//! What happens to hosts and database, by the dice.

use super::cast::Cast;
use oncegate_tests::ChildHost;
use oncegate_tests::fleet::LEASE_MS;
use rand::RngExt;
use rand::rngs::SmallRng;
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;

/// How often the database crashes, whatever the dice say.
const CRASHES: u32 = 2;

/// What was done so far.
#[derive(Default)]
struct Done {
    killed: u32,
    stopped: u32,
    sent_home: u32,
    crashes: u32,
}

/// Makes trouble until it is enough, and leaves everybody well; what was done, in words.
pub async fn make(cast: Arc<Cast>, mut dice: SmallRng) -> String {
    let mut done = Done::default();
    let (mut turn, mut rested) = (0, true);
    while rested || done.crashes < CRASHES {
        let pause = Duration::from_millis(dice.random_range(200..2_500));
        turn += 1;
        if done.crashes < CRASHES && (turn % 3 == 0 || !rested) {
            cast.crash_database(pause).await;
            done.crashes += 1;
        } else {
            let host = dice.random_range(0..cast.len());
            let fate = dice.random_range(0..3);
            cast.with_host(host, async |host| befall(host, fate, pause, &mut done).await)
                .await;
        }
        rested = cast.rest(Duration::from_millis(dice.random_range(500..3_000))).await;
    }
    let Done {
        killed,
        stopped,
        sent_home,
        crashes,
    } = done;
    format!(
        "hosts were killed {killed}, stopped {stopped}, sent home {sent_home} times; the database crashed {crashes} times"
    )
}

async fn befall(host: &mut ChildHost, fate: u32, pause: Duration, done: &mut Done) {
    match fate {
        0 => {
            host.kill();
            tokio::time::sleep(pause).await;
            host.come_up().await;
            done.killed += 1;
        }
        1 => {
            host.signal(Signal::STOP);
            tokio::time::sleep(Duration::from_millis(2 * LEASE_MS)).await;
            host.signal(Signal::CONT);
            done.stopped += 1;
        }
        _ => {
            assert!(host.terminate().await, "a host that is sent home ends well");
            host.come_up().await;
            done.sent_home += 1;
        }
    }
}
