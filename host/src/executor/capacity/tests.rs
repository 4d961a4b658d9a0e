mod told;

use super::*;
use crate::clock::{Clock, ManualClock};
use std::collections::VecDeque;
use tokio::task::JoinHandle;

const PACE: Pace = Pace {
    concurrency: 2,
    interval_us: 0,
};

fn id(n: u8) -> Id {
    Id::new(1_000, [n; 10])
}

fn gate(pace: Pace) -> (Arc<Gate>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(1_000));
    let shared: SharedClock = clock.clone();
    (Arc::new(Gate::new(shared, pace, Arc::default())), clock)
}

/// Notes how a step went that holds a slot.
fn saw(gate: &Arc<Gate>, step: u8, health: Health, now_ms: i64) {
    let why = "answered 500";
    let step = id(step);
    gate.note(Seen { step, health, why }, now_ms);
}

/// What a gate says at once.
async fn said(gate: &Arc<Gate>, step: u8) -> Admission {
    gate.admit(id(step), 0).await
}

async fn slot(gate: &Arc<Gate>, step: u8) -> Slot {
    match said(gate, step).await {
        Admission::Go { slot, .. } => slot,
        Admission::Wait { reason, until_ms } => panic!("step {step} waits: {reason:?} until {until_ms}"),
    }
}

async fn waits(gate: &Arc<Gate>, step: u8) -> (Wait, i64) {
    match said(gate, step).await {
        Admission::Go { .. } => panic!("step {step} may go"),
        Admission::Wait { reason, until_ms } => (reason, until_ms),
    }
}

/// A step that has come to the gate and stands in its queue.
async fn queued(gate: &Arc<Gate>, step: u8, since_ms: i64) -> JoinHandle<Admission> {
    let asking = tokio::spawn({
        let gate = Arc::clone(gate);
        async move { gate.admit(id(step), since_ms).await }
    });
    while !gate.state().queue.contains_key(&(since_ms, id(step))) {
        tokio::task::yield_now().await;
    }
    asking
}

#[tokio::test]
async fn own_rate_spaces_the_starts_and_saves_nothing_up() {
    let (gate, clock) = gate(Pace {
        concurrency: 9,
        interval_us: 100_000,
    });
    let mut starts = Vec::new();
    for step in 0..4 {
        if step == 3 {
            clock.advance(8_000);
        }
        let Admission::Go { start_ms, slot } = said(&gate, step).await else {
            panic!("nothing closes the gate")
        };
        starts.push((start_ms, slot));
    }
    let starts: Vec<i64> = starts.into_iter().map(|(start_ms, _)| start_ms).collect();
    assert_eq!(starts, [1_000, 1_100, 1_200, 9_000]);
}

#[tokio::test]
async fn a_pause_asked_for_by_the_destination_holds_everybody_until_then() {
    let (gate, clock) = gate(PACE);
    gate.pause_until(5_000);
    gate.pause_until(3_000);
    assert_eq!(waits(&gate, 1).await, (Wait::RateLimited, 5_000));
    clock.advance_to(5_000);
    drop(slot(&gate, 1).await);
}

#[tokio::test]
async fn a_pause_reaches_those_who_stand_in_the_queue() {
    let (gate, _clock) = gate(PACE);
    let _busy = (slot(&gate, 1).await, slot(&gate, 2).await);
    let third = queued(&gate, 3, 0).await;
    gate.pause_until(5_000);
    let answer = third.await.expect("the task lives");
    assert!(matches!(answer, Admission::Wait { until_ms: 5_000, .. }));
}

#[tokio::test]
async fn a_free_place_goes_to_the_oldest() {
    let (gate, _clock) = gate(PACE);
    let mut busy = VecDeque::from([slot(&gate, 1).await, slot(&gate, 2).await]);
    let mut young = queued(&gate, 3, 900).await;
    let old = queued(&gate, 4, 100).await;
    busy.pop_front();
    let old = old.await.expect("the task lives");
    assert!(matches!(old, Admission::Go { .. }));
    assert!(still_waits(&mut young).await, "the younger one still waits");
    busy.pop_front();
    assert!(matches!(young.await.expect("the task lives"), Admission::Go { .. }));
}

async fn still_waits(task: &mut JoinHandle<Admission>) -> bool {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    !task.is_finished()
}

#[tokio::test]
async fn after_an_outage_one_goes_and_the_others_follow_when_it_comes_back_well() {
    let (gate, clock) = gate(Pace {
        concurrency: 4,
        interval_us: 0,
    });
    for step in 1..=3 {
        let held = slot(&gate, step).await;
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    let (reason, until_ms) = waits(&gate, 4).await;
    assert_eq!(reason, Wait::BreakerOpen);
    clock.advance_to(until_ms);

    let probe = slot(&gate, 4).await;
    let mut behind = [queued(&gate, 5, 5).await, queued(&gate, 6, 6).await];
    assert!(still_waits(&mut behind[0]).await, "one probe at a time");
    // It had nothing to send after all: the next one finds out.
    drop(probe);
    let [fifth, mut sixth] = behind;
    let Ok(Admission::Go { slot: fifth, .. }) = fifth.await else {
        panic!("the next one goes when the first reports nothing")
    };
    assert!(still_waits(&mut sixth).await);
    saw(&gate, 5, Health::Good, clock.now_ms());
    assert!(
        matches!(sixth.await, Ok(Admission::Go { .. })),
        "without waiting for its slot"
    );
    drop(fifth);
}

#[tokio::test]
async fn a_failed_probe_sends_the_queue_away() {
    let (gate, clock) = gate(PACE);
    for step in 1..=3 {
        let held = slot(&gate, step).await;
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    clock.advance(1_000);
    let _probe = slot(&gate, 4).await;
    let behind = queued(&gate, 5, 0).await;
    saw(&gate, 4, Health::Bad, clock.now_ms());
    let answer = behind.await.expect("the task lives");
    assert!(matches!(
        answer,
        Admission::Wait {
            reason: Wait::BreakerOpen,
            ..
        }
    ));
}

#[tokio::test]
async fn who_gave_up_waiting_keeps_no_place() {
    let (gate, _clock) = gate(PACE);
    let mut busy = VecDeque::from([slot(&gate, 1).await, slot(&gate, 2).await]);
    let gone = queued(&gate, 3, 0).await;
    gone.abort();
    assert!(gone.await.is_err());
    busy.pop_front();
    drop(slot(&gate, 4).await);
}

#[tokio::test]
async fn a_changed_pace_keeps_what_the_destination_asked_for() {
    let clock: SharedClock = Arc::new(ManualClock::new(1_000));
    let gates = Gates::new(clock);
    gates.of("crm", PACE).pause_until(5_000);
    let wider = gates.of("crm", Pace { concurrency: 9, ..PACE });
    assert_eq!(waits(&wider, 1).await, (Wait::RateLimited, 5_000));
}

#[tokio::test]
async fn a_bad_event_is_a_probe_once_and_then_the_others_find_out() {
    let (gate, clock) = gate(PACE);
    for step in 1..=3 {
        let held = slot(&gate, step).await;
        assert!(!held.probe);
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    clock.advance(1_000);
    let bad = slot(&gate, 1).await;
    assert!(bad.probe);
    saw(&gate, 1, Health::Bad, clock.now_ms());
    drop(bad);
    clock.advance(2_000);
    // The bad one is the oldest again, and somebody stands in the probe's place while both come.
    let first = slot(&gate, 9).await;
    let mut bad = queued(&gate, 1, 0).await;
    let good = queued(&gate, 5, 900).await;
    drop(first);
    let Ok(Admission::Go { slot: good, .. }) = good.await else {
        panic!("the one that has not found out yet goes")
    };
    assert!(still_waits(&mut bad).await);
    saw(&gate, 5, Health::Good, clock.now_ms());
    drop(good);
    assert!(matches!(bad.await, Ok(Admission::Go { .. })));
}

#[tokio::test]
async fn under_a_block_one_finds_out_and_keeps_its_turn_among_those_who_wait() {
    let (gate, clock) = gate(Pace {
        concurrency: 1,
        interval_us: 0,
    });
    let refused = || Cause::Refused("401".to_owned());
    assert!(gate.credentials(|credentials| credentials.block(refused(), 1_000)));
    assert_eq!(waits(&gate, 1).await, (Wait::ConnectionBlocked, 61_000));
    clock.advance_to(61_000);
    let Admission::Go { slot: oldest, .. } = gate.admit(id(1), 100).await else {
        panic!("somebody finds out")
    };
    assert!(oldest.probe && oldest.asks_first);
    let mut younger = queued(&gate, 2, 200).await;
    assert!(gate.credentials(|credentials| credentials.accepted(id(1))));
    let Admission::Go { slot: oldest, .. } = oldest.again(100).await else {
        panic!("it is the oldest still")
    };
    assert!(!oldest.probe && still_waits(&mut younger).await);
    drop(oldest);
    assert!(matches!(younger.await, Ok(Admission::Go { .. })));
}

#[tokio::test]
async fn who_finds_out_that_a_block_holds_sends_the_queue_away() {
    let (gate, clock) = gate(PACE);
    gate.credentials(|credentials| credentials.block(Cause::Refused("401".to_owned()), 1_000));
    clock.advance_to(61_000);
    let looks = slot(&gate, 1).await;
    let behind = queued(&gate, 2, 0).await;
    drop(looks);
    let answer = behind.await.expect("the task lives");
    assert!(matches!(
        answer,
        Admission::Wait {
            reason: Wait::ConnectionBlocked,
            until_ms: 121_000
        }
    ));
}

#[tokio::test]
async fn a_new_revision_is_looked_at_at_once() {
    let (gate, _clock) = gate(PACE);
    gate.at_revision(1);
    gate.credentials(|credentials| credentials.block(Cause::Refused("401".to_owned()), 1_000));
    gate.at_revision(1);
    assert_eq!(waits(&gate, 1).await, (Wait::ConnectionBlocked, 61_000));
    gate.at_revision(2);
    drop(slot(&gate, 1).await);
    // So is a destination that was away; but what it asked for itself holds.
    let (gate, _clock) = open_breaker(2).await;
    gate.at_revision(1);
    assert_eq!(waits(&gate, 4).await, (Wait::BreakerOpen, 2_000));
    gate.at_revision(2);
    drop(slot(&gate, 4).await);
    gate.pause_until(9_000);
    gate.at_revision(3);
    assert_eq!(waits(&gate, 4).await, (Wait::RateLimited, 9_000));
}

#[tokio::test]
async fn what_is_noted_moves_the_queue_only_where_it_changes_who_may_go() {
    let (gate, _clock) = gate(PACE);
    let held = slot(&gate, 1).await;
    // It stands in the queue, and nobody has looked.
    let mut answer = gate.state().enqueue(id(2), 0);
    gate.credentials(|credentials| credentials.accepted(id(1)));
    saw(&gate, 1, Health::Good, 1_000);
    assert!(answer.try_recv().is_err());
    gate.pause_until(2_000);
    assert!(matches!(answer.try_recv(), Ok(Admission::Wait { until_ms: 2_000, .. })));
    drop(held);
}

/// A gate whose breaker was opened by steps 1 to 3, at the moment at which somebody finds out.
async fn about_to_find_out(concurrency: usize) -> (Arc<Gate>, Arc<ManualClock>) {
    let (gate, clock) = open_breaker(concurrency).await;
    clock.advance(1_000);
    (gate, clock)
}

/// A gate whose breaker has just been opened by steps 1 to 3.
async fn open_breaker(concurrency: usize) -> (Arc<Gate>, Arc<ManualClock>) {
    let (gate, clock) = gate(Pace {
        concurrency,
        interval_us: 0,
    });
    for step in 1..=3 {
        let held = slot(&gate, step).await;
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    (gate, clock)
}

/// Who of those who come at the same moment, each with the time since which it is ready, goes first.
async fn goes_first(gate: &Arc<Gate>, come: &[(u8, i64)]) -> u8 {
    let mut asking = Vec::new();
    for (step, since_ms) in come {
        asking.push(queued(gate, *step, *since_ms).await);
    }
    loop {
        tokio::task::yield_now().await;
        if let Some(first) = asking.iter().position(JoinHandle::is_finished) {
            assert!(matches!(asking.remove(first).await, Ok(Admission::Go { .. })));
            for late in asking {
                late.abort();
            }
            return come[first].0;
        }
    }
}

#[tokio::test]
async fn of_those_who_wake_at_the_same_moment_the_oldest_that_has_not_failed_finds_out() {
    let (gate, _clock) = about_to_find_out(4).await;
    let come = [(9, 900), (1, 100), (2, 200), (7, 700), (8, 800)];
    assert_eq!(goes_first(&gate, &come).await, 7);
}

#[tokio::test]
async fn where_the_oldest_failed_as_well_the_youngest_finds_out() {
    let (gate, clock) = about_to_find_out(4).await;
    let oldest = slot(&gate, 4).await;
    saw(&gate, 4, Health::Bad, clock.now_ms());
    drop(oldest);
    clock.advance(2_000);
    let come = [(5, 500), (9, 900), (1, 100), (7, 700)];
    assert_eq!(goes_first(&gate, &come).await, 9);
}

#[tokio::test]
async fn who_fails_alone_goes_last_in_the_ramp_and_its_attempts_count() {
    let (gate, clock) = about_to_find_out(8).await;
    let good = slot(&gate, 9).await;
    assert!(good.probe);
    saw(&gate, 9, Health::Good, clock.now_ms());
    drop(good);
    // A ramp of two: one place is taken, and for the other one come a bad one and a good one.
    let busy = (slot(&gate, 10).await, slot(&gate, 11).await);
    let mut bad = queued(&gate, 1, 100).await;
    let younger = queued(&gate, 12, 900).await;
    drop(busy.0);
    let younger = younger.await;
    assert!(matches!(younger, Ok(Admission::Go { .. })));
    assert!(still_waits(&mut bad).await);
    drop(younger);
    let Ok(Admission::Go { slot: bad, .. }) = bad.await else {
        panic!("it goes when nobody else is there")
    };
    assert!(!bad.probe);
    drop(bad);
    for step in 1..=3 {
        let held = slot(&gate, step).await;
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    // Where it finds out after all, because nobody else is there, it pays for it.
    for step in 20..=22 {
        let held = slot(&gate, step).await;
        saw(&gate, step, Health::Bad, clock.now_ms());
        drop(held);
    }
    clock.advance(60_000);
    assert!(!slot(&gate, 1).await.probe);
    clock.advance(60_000);
    assert!(slot(&gate, 20).await.probe);
}
