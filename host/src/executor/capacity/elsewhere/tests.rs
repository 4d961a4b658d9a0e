use super::super::{Admission, Cause, Health, Pace, Seen};
use super::*;
use crate::clock::{Clock, ManualClock, SharedClock};
use oncegate_domain::id::Id;
use oncegate_domain::step::Wait;

const NOW_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;

/// The gates of two hosts, and what is stored between them.
struct Two {
    clock: Arc<ManualClock>,
    one: Arc<Gate>,
    other: Arc<Gate>,
    stored: Vec<StoredGate>,
}

fn two() -> Two {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let gate = || {
        let (shared, pace) = (
            Arc::clone(&clock) as SharedClock,
            Pace {
                concurrency: 4,
                interval_us: 0,
            },
        );
        Arc::new(Gate::new(shared, pace, Arc::default()))
    };
    Two {
        one: gate(),
        other: gate(),
        clock,
        stored: Vec::new(),
    }
}

impl Two {
    /// As the ledger does it: what is told gets the next version, and both read it.
    fn exchange(&mut self) -> usize {
        let mut told = 0;
        for gate in [&self.one, &self.other] {
            for (kind, closure) in gate.untold() {
                told += 1;
                let before = self.stored.iter().position(|stored| stored.kind == kind);
                let version = 1 + before.map_or(0, |place| self.stored.swap_remove(place).version);
                gate.told(kind, closure.clone(), version);
                let connection = "crm".to_owned();
                self.stored.push(StoredGate {
                    connection,
                    kind,
                    version,
                    closure,
                });
            }
            for stored in &self.stored {
                gate.hear(stored);
            }
        }
        for stored in &self.stored {
            self.one.hear(stored);
        }
        told
    }

    /// All is told; nobody tells on what they heard.
    fn settle(&mut self) {
        assert!(self.exchange() > 0, "there is something to tell");
        assert_eq!(self.exchange(), 0, "an echo");
    }
}

fn id(n: u8) -> Id {
    Id::new(1_000, [n; 10])
}

async fn waits(gate: &Arc<Gate>) -> Option<(Wait, i64)> {
    match gate.admit(id(99), 0).await {
        Admission::Go { .. } => None,
        Admission::Wait { reason, until_ms } => Some((reason, until_ms)),
    }
}

/// Somebody with a place saw this.
async fn saw(gate: &Arc<Gate>, step: u8, health: Health, now_ms: i64) {
    let Admission::Go { slot, .. } = gate.admit(id(step), 0).await else {
        panic!("step {step} may go")
    };
    let why = "answered 500";
    gate.note(
        Seen {
            step: id(step),
            health,
            why,
        },
        now_ms,
    );
    drop(slot);
}

#[tokio::test]
async fn what_a_destination_asked_one_host_holds_for_the_other() {
    let mut two = two();
    two.one.pause_until(NOW_MS + 5_000);
    two.settle();
    assert_eq!(waits(&two.other).await, Some((Wait::RateLimited, NOW_MS + 5_000)));
    // Told less, it says nothing new.
    two.other.pause_until(NOW_MS + 3_000);
    assert_eq!(two.exchange(), 0);
}

#[tokio::test]
async fn a_breaker_that_one_host_opened_keeps_the_other_away_and_the_first_finds_out() {
    let mut two = two();
    for step in 1..=3 {
        saw(&two.one, step, Health::Bad, NOW_MS).await;
    }
    two.settle();
    let (_, opened_ms) = waits(&two.one).await.unwrap();
    let (reason, until_ms) = waits(&two.other).await.unwrap();
    assert_eq!((reason, until_ms), (Wait::BreakerOpen, opened_ms + HEAR_FIRST_MS));
    assert_eq!(
        two.other.state().breaker.failing().unwrap().why,
        two.one.state().breaker.failing().unwrap().why
    );

    // It is not back: the other one hears of that before it would have looked.
    two.clock.advance_to(opened_ms);
    saw(&two.one, 4, Health::Bad, opened_ms).await;
    two.settle();
    let (_, again_ms) = waits(&two.one).await.unwrap();
    assert_eq!(waits(&two.other).await.unwrap().1, again_ms + HEAR_FIRST_MS);

    // It is back: the other one finds out with a single step.
    two.clock.advance_to(again_ms);
    saw(&two.one, 4, Health::Good, again_ms).await;
    two.settle();
    let Admission::Go { slot, .. } = two.other.admit(id(5), 0).await else {
        panic!("it goes and finds out")
    };
    assert!(slot.probe);
    assert!(!two.other.state().has_room(), "one at a time");
    drop(slot);
    saw(&two.other, 5, Health::Good, again_ms).await;
    saw(&two.other, 6, Health::Good, again_ms).await;
    assert!(two.other.state().breaker.is_closed());
    assert_eq!(two.exchange(), 0, "all is known");
}

#[tokio::test]
async fn what_a_host_found_out_itself_goes_before_what_it_was_told_before() {
    let mut two = two();
    for step in 1..=3 {
        saw(&two.one, step, Health::Bad, NOW_MS).await;
    }
    two.settle();
    // Both find out at the same time, and differ; the later word counts, for everybody.
    two.clock.advance(2 * MINUTE_MS as u64);
    let now_ms = two.clock.now_ms();
    saw(&two.one, 4, Health::Bad, now_ms).await;
    saw(&two.other, 5, Health::Good, now_ms).await;
    two.settle();
    assert!(two.one.state().breaker.failing().is_none());
    assert!(two.other.state().breaker.failing().is_none());
}

#[tokio::test]
async fn refused_credentials_block_everywhere_and_one_host_looks() {
    let mut two = two();
    let refused = Cause::Refused("answered 401".to_owned());
    two.one.credentials(|credentials| credentials.block(refused, NOW_MS));
    two.settle();
    let (reason, until_ms) = waits(&two.other).await.unwrap();
    assert_eq!(reason, Wait::ConnectionBlocked);
    assert_eq!(until_ms, NOW_MS + MINUTE_MS + HEAR_FIRST_MS);
    let why = two.other.state().credentials.blocked().unwrap().why;
    assert_eq!(why, "answered 401");

    two.clock.advance_to(NOW_MS + MINUTE_MS);
    two.one
        .credentials(|credentials| credentials.no_verdict(NOW_MS + MINUTE_MS));
    two.settle();
    assert_eq!(
        waits(&two.other).await.unwrap().1,
        NOW_MS + 2 * MINUTE_MS + HEAR_FIRST_MS
    );

    two.one.credentials(|credentials| {
        credentials.begin(id(2));
        credentials.accepted(id(2))
    });
    two.settle();
    assert_eq!(waits(&two.other).await, None);
}

#[tokio::test]
async fn a_secret_that_is_missing_is_each_hosts_own_affair() {
    let mut two = two();
    let missing = Cause::Secrets("no file".to_owned());
    two.one.credentials(|credentials| credentials.block(missing, NOW_MS));
    two.one
        .credentials(|credentials| credentials.was_blocked(None, NOW_MS + 5, NOW_MS));
    assert_eq!(two.exchange(), 0);
    assert_eq!(waits(&two.other).await, None);
    // And that the others get in does not bring the file.
    let refused = Cause::Refused("answered 401".to_owned());
    two.other.credentials(|credentials| credentials.block(refused, NOW_MS));
    two.settle();
    two.other.credentials(|credentials| {
        credentials.begin(id(2));
        credentials.accepted(id(2))
    });
    two.settle();
    assert_eq!(waits(&two.one).await.unwrap().0, Wait::ConnectionBlocked);
}

#[tokio::test]
async fn a_pause_holds_all_until_it_is_ended() {
    let two = two();
    two.one.set_paused(true);
    assert_eq!(waits(&two.one).await, Some((Wait::Paused, i64::MAX)));
    two.clock.advance(2 * MINUTE_MS as u64);
    assert!(two.one.is_closed());
    two.one.set_paused(false);
    assert_eq!(waits(&two.one).await, None);
}
