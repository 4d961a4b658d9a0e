//! Illegal moves are errors, and change nothing.

use crate::play::*;
use oncegate_domain::doubt::{Finding, Unsettled};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::step::{Decision, Event, Next, Retry, Review, Skip, Wait};

fn all_events() -> Vec<Event> {
    let next = Next::Retry {
        reason: Retry::Backoff,
        until_ms: 0,
    };
    let attempted = |outcome, next| Event::Attempted {
        at_ms: 0,
        outcome,
        evidence: Evidence::MaybeSent,
        counted: true,
        over_ms: 0,
        next,
    };
    vec![
        Event::Ready { at_ms: 0 },
        Event::Skip(Skip::WhenFalse),
        Event::Begin,
        Event::Intend { at_ms: 0, over_ms: 0 },
        attempted(CONFIRMED, Next::Complete),
        attempted(TEMPORARY, next),
        Event::LookedUp {
            at_ms: 0,
            finding: Finding::Found,
            counted: true,
            absent_proof: None,
            next: Next::Complete,
        },
        Event::Hold { at_ms: 0, next },
        Event::Hold {
            at_ms: 0,
            next: Next::Cancel,
        },
        Event::Hold {
            at_ms: 0,
            next: Next::Complete,
        },
        Event::Weighed {
            at_ms: 0,
            counted: true,
            next,
        },
        Event::LateConfirmation,
        Event::Cancel { at_ms: 0 },
        Event::Decide(Decision::Retry {
            at_ms: 0,
            stated_absent: true,
        }),
        Event::Decide(Decision::Resolve),
        Event::Decide(Decision::Discard),
    ]
}

/// Which of [`all_events`] a step takes, by name.
fn taken(play: &Play) -> String {
    let mut names: Vec<&str> = all_events()
        .iter()
        .filter(|event| play.tried(**event).is_ok())
        .map(Event::as_str)
        .collect();
    names.dedup();
    names.join(" ")
}

#[test]
fn each_state_takes_only_what_can_happen_to_it() {
    let mut unready = Play::new(asking());
    unready.step = oncegate_domain::step::Step::new();
    assert_eq!(taken(&unready), "ready skip cancel");
    assert_eq!(taken(&Play::new(asking())), "skip begin hold cancel");
    assert_eq!(taken(Play::new(asking()).begin()), "skip intend attempted hold cancel");
    assert_eq!(
        taken(Play::new(asking()).begin().intend()),
        "attempted late_confirmation cancel"
    );
    assert_eq!(
        taken(Play::new(asking()).attempt(TEMPORARY)),
        "begin hold late_confirmation cancel"
    );
    assert_eq!(
        taken(Play::new(asking()).hold(Wait::Paused, 1)),
        "skip begin hold cancel"
    );
    assert_eq!(
        taken(Play::new(asking()).hold(Wait::ConnectionBlocked, 1)),
        "skip begin hold weighed cancel"
    );
    assert_eq!(
        taken(Play::new(asking()).attempt(Outcome::Unknown)),
        "begin late_confirmation cancel"
    );
    let mut asked = Play::new(asking());
    asked.attempt(Outcome::Unknown).wake();
    assert_eq!(
        taken(asked.begin()),
        "intend attempted looked_up late_confirmation cancel"
    );
    assert_eq!(
        taken(Play::new(asking()).attempt(REJECTED)),
        "late_confirmation cancel decide"
    );
    assert_eq!(
        taken(Play::new(silent()).attempt(Outcome::Unknown)),
        "late_confirmation cancel decide"
    );
    let mut cancelling = Play::new(asking());
    cancelling.attempt(Outcome::Unknown).apply(Event::Cancel { at_ms: 0 });
    assert_eq!(taken(&cancelling), "begin attempted looked_up late_confirmation");
}

#[test]
fn a_final_step_takes_nothing() {
    let mut skipped = Play::new(asking());
    skipped.apply(Event::Skip(Skip::Predecessor));
    let mut failed = Play::new(silent());
    failed.attempt(Outcome::Unknown).apply(Event::Decide(Decision::Discard));
    let mut cancelled = Play::new(asking());
    cancelled.apply(Event::Cancel { at_ms: 0 });
    let mut completed = Play::new(asking());
    completed.attempt(CONFIRMED);
    for play in [skipped, failed, cancelled, completed] {
        assert!(play.step.is_final());
        assert_eq!(
            (taken(&play).as_str(), play.step.due_ms(), play.step.in_doubt()),
            ("", None, false)
        );
    }
}

#[test]
fn one_intent_per_attempt() {
    let mut play = Play::new(asking());
    play.begin().intend();
    let error = play.tried(Event::Intend { at_ms: 0, over_ms: 0 }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a step that is processing cannot take `intend`: one mutating request per attempt"
    );
}

#[test]
fn nothing_is_sent_in_doubt_before_a_lookup_that_a_person_asked_for_nor_after_the_one_resend() {
    let mut play = Play::new(keyed());
    play.attempts(8, Outcome::Unknown).retry(false).begin();
    assert!(play.tried(Event::Intend { at_ms: 0, over_ms: 0 }).is_err());
    let mut play = Play::new(asking());
    play.attempt(Outcome::Unknown);
    for _ in 0..2 {
        play.wake();
        play.lookup(Finding::Absent);
    }
    play.wake();
    play.attempt(Outcome::Unknown).begin();
    assert!(play.tried(Event::Intend { at_ms: 0, over_ms: 0 }).is_err());
}

#[test]
fn no_decision_can_end_a_doubt_as_refused_or_close_it() {
    let mut play = Play::new(asking());
    play.begin().intend();
    for next in [
        Next::Review(Review::AttemptsUsedUp),
        Next::Retry {
            reason: Retry::Backoff,
            until_ms: 0,
        },
        Next::Cancel,
        Next::Complete,
    ] {
        let event = Event::Attempted {
            at_ms: 0,
            outcome: Outcome::Unknown,
            evidence: Evidence::MaybeSent,
            counted: true,
            over_ms: 0,
            next,
        };
        assert!(play.tried(event).is_err(), "{next:?}");
    }
    // And without a doubt none is invented.
    let play = Play::new(asking());
    for next in [
        Next::Review(Review::Doubt(Unsettled::NoWayToAsk)),
        Next::Retry {
            reason: Retry::Lookup,
            until_ms: 0,
        },
        Next::Cancel,
        Next::Complete,
    ] {
        assert!(play.tried(Event::Hold { at_ms: 0, next }).is_err(), "{next:?}");
    }
}
