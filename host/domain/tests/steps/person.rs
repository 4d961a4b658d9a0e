//! A person decides (DESIGN section 7), cancels, or is overtaken by a late answer.

use crate::play::*;
use oncegate_domain::doubt::{Dedup, Finding};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::review::{RetryOffer, effect_may_exist, retry_offer};
use oncegate_domain::step::{Decision, Event, Move, Next, Review, Wait};

fn rejected() -> Play {
    let mut play = Play::new(asking());
    play.attempts(3, TEMPORARY).attempts(1, REJECTED);
    play
}

fn unsettled(terms: oncegate_domain::doubt::Terms) -> Play {
    let mut play = Play::new(terms);
    play.attempt(Outcome::Unknown);
    loop {
        match play.wake() {
            Move::Lookup => play.lookup(Finding::Unsure),
            Move::Resend => play.attempt(Outcome::Unknown),
            Move::Review(_) => play.review(),
            Move::Perform | Move::WaitUntil(_) | Move::Nothing => return play,
        };
    }
}

#[test]
fn where_the_effect_is_known_not_to_exist_retry_is_one_click_with_fresh_counters() {
    let mut play = rejected();
    assert_eq!(retry_offer(&play.step, &play.terms), Some(RetryOffer::OneClick));
    assert!(!effect_may_exist(&play.step));
    play.now_ms = 100 * HOUR_MS as i64;
    assert_eq!(play.retry(false).line(), "retrying backoff 0");
    assert_eq!(
        (play.step.attempts, play.step.refusals, play.step.ready_ms),
        (0, 0, Some(play.now_ms))
    );
    assert_eq!(play.next(), Move::Perform);
    assert_eq!(
        play.step.first_intent_ms,
        Some(0),
        "the key stays the same, and so does its window"
    );
}

#[test]
fn in_doubt_no_click_alone_sends_anything() {
    for terms in [silent(), keyed(), natural(), asking(), keyed_asking()] {
        let mut play = unsettled(terms.clone());
        assert!(effect_may_exist(&play.step));
        let offer = retry_offer(&play.step, &terms);
        let can_ask = terms.lookup_after_ms.is_some();
        assert_eq!(
            offer,
            Some(if can_ask {
                RetryOffer::LooksUpFirst
            } else {
                RetryOffer::NeedsStatement
            })
        );
        play.retry(false);
        if can_ask {
            assert_eq!(play.wake(), Move::Lookup);
            assert_eq!(play.lookup(Finding::Found).line(), "completed");
        } else {
            assert_eq!(play.review().line(), "needs_review NoWayToAsk, in doubt");
        }
    }
}

#[test]
fn a_stated_check_clears_the_doubt() {
    for terms in [silent(), keyed(), asking()] {
        let mut play = unsettled(terms);
        assert_eq!(play.retry(true).line(), "retrying backoff 0");
        assert_eq!(play.next(), Move::Perform);
    }
}

#[test]
fn a_stated_check_does_not_buy_a_second_resend_after_absent() {
    let mut play = Play::new(asking());
    play.attempt(Outcome::Unknown);
    for _ in 0..2 {
        play.wake();
        play.lookup(Finding::Absent);
    }
    play.wake();
    play.attempt(REJECTED).retry(true).attempt(Outcome::Unknown);
    while play.wake() == Move::Lookup {
        play.lookup(Finding::Absent);
    }
    assert_eq!(play.line(), "needs_review Absent, in doubt");
}

#[test]
fn resolve_completes_and_discard_fails() {
    for (decision, line) in [(Decision::Resolve, "completed"), (Decision::Discard, "failed")] {
        for mut play in [rejected(), unsettled(silent())] {
            let doubt = play.step.doubt.clone();
            assert_eq!(play.apply(Event::Decide(decision)).line(), line);
            assert!(play.step.is_final());
            let kept = if decision == Decision::Discard { doubt } else { None };
            assert_eq!(play.step.doubt, kept, "a discarded doubt stays on record");
        }
    }
}

#[test]
fn what_has_not_been_sent_is_cancelled_at_once() {
    let cancelled = |play: &mut Play| {
        let at_ms = play.now_ms;
        let line = play.apply(Event::Cancel { at_ms }).line();
        (line, play.wake())
    };
    let done = ("cancelled".to_owned(), Move::Nothing);
    assert_eq!(cancelled(&mut Play::new(asking())), done);
    assert_eq!(cancelled(Play::new(asking()).attempt(TEMPORARY)), done);
    assert_eq!(cancelled(Play::new(asking()).hold(Wait::BreakerOpen, 60_000)), done);
    assert_eq!(cancelled(&mut rejected()), done);
}

#[test]
fn a_cancel_before_the_intent_stops_the_request() {
    let mut play = Play::new(asking());
    play.begin().apply(Event::Cancel { at_ms: 0 });
    assert!(
        play.tried(Event::Intend {
            at_ms: 0,
            over_ms: 15_000
        })
        .is_err()
    );
    let stopped = play.end(Outcome::Unsent, Evidence::None);
    assert_eq!(play.ended(stopped).line(), "cancelled");
    let mut play = Play::new(asking());
    play.begin().apply(Event::Cancel { at_ms: 0 });
    assert_eq!(play.crash().line(), "cancelled");
}

/// C24: cancel while a request is in flight.
#[test]
fn a_cancel_in_flight_settles_first_and_never_resends() {
    let cancelled = |terms, outcome, evidence| {
        let mut play = Play::new(terms);
        play.begin().intend().apply(Event::Cancel { at_ms: 0 });
        assert_eq!(play.next(), Move::Nothing);
        let end = play.end(outcome, evidence);
        play.ended(end);
        play
    };
    assert_eq!(
        cancelled(asking(), CONFIRMED, Evidence::Answered(200)).line(),
        "completed"
    );
    assert_eq!(
        cancelled(asking(), REJECTED, Evidence::Answered(422)).line(),
        "cancelled"
    );
    assert_eq!(
        cancelled(asking(), Outcome::Unsent, Evidence::NothingSent).line(),
        "cancelled"
    );
    for terms in [silent(), keyed(), natural()] {
        let play = cancelled(terms, Outcome::Unknown, Evidence::MaybeSent);
        assert_eq!(play.line(), "needs_review Cancelled, in doubt");
    }
    for (finding, line) in [
        (Finding::Found, "completed"),
        (Finding::Absent, "cancelled"),
        (Finding::Unsure, "needs_review Cancelled, in doubt"),
    ] {
        for terms in [asking(), keyed_asking()] {
            let mut play = cancelled(terms, Outcome::Unknown, Evidence::MaybeSent);
            assert_eq!(play.line(), "cancelling 30, in doubt");
            while play.wake() == Move::Lookup {
                play.lookup(finding);
            }
            assert_eq!((play.line().as_str(), play.step.attempts), (line, 1));
        }
    }
    let mut play = cancelled(
        terms(
            Dedup::Natural {
                repeat_within_ms: 600_000,
            },
            Some(30_000),
        ),
        Outcome::Unknown,
        Evidence::MaybeSent,
    );
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.lookup(Finding::Absent).line(), "needs_review Cancelled, in doubt");
    // Asked again, the content of the destination still proves nothing about our request.
    play.now_ms += 60_000;
    play.apply(Event::Cancel { at_ms: play.now_ms });
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.lookup(Finding::Absent).line(), "needs_review Cancelled, in doubt");
}

#[test]
fn a_cancel_in_doubt_settles_first_wherever_the_step_stands() {
    let mut play = Play::new(asking());
    play.attempt(Outcome::Unknown).apply(Event::Cancel { at_ms: 0 });
    assert_eq!(play.line(), "cancelling 30, in doubt");
    play.crash();
    assert_eq!(play.wake(), Move::Lookup);
    // A crash while it is looked up changes nothing.
    play.begin().crash();
    assert_eq!(play.line(), "cancelling 0, in doubt");
    let mut play = unsettled(asking());
    play.apply(Event::Cancel { at_ms: 0 });
    assert_eq!(
        play.wake(),
        Move::Lookup,
        "asked for by a person: the destination is asked afresh"
    );
    let mut play = unsettled(keyed());
    play.apply(Event::Cancel { at_ms: play.now_ms });
    assert_eq!(play.review().line(), "needs_review Cancelled, in doubt");
}

#[test]
fn a_crash_after_the_intent_of_a_cancelled_step_leaves_it_in_doubt_and_cancelling() {
    let mut play = Play::new(asking());
    play.begin().intend().apply(Event::Cancel { at_ms: 0 }).crash();
    assert_eq!(play.line(), "cancelling 15, in doubt");
    assert_eq!((play.wake(), play.now_ms), (Move::Lookup, 45_000));
}

/// C24: a paused host's 2xx arrives while somebody decides.
#[test]
fn a_late_confirmation_counts_as_found() {
    let mut waiting = Play::new(asking());
    waiting.attempt(Outcome::Unknown);
    let mut cancelling = Play::new(asking());
    cancelling.attempt(Outcome::Unknown).apply(Event::Cancel { at_ms: 0 });
    let mut resending = Play::new(keyed());
    resending.attempt(Outcome::Unknown).wake();
    resending.begin().intend();
    let mut stated = unsettled(silent());
    stated.retry(true);
    for mut play in [waiting, cancelling, resending, stated, unsettled(silent())] {
        assert_eq!(play.apply(Event::LateConfirmation).line(), "completed");
    }
    assert!(
        Play::new(asking()).tried(Event::LateConfirmation).is_err(),
        "nothing was ever sent"
    );
}

#[test]
fn every_reason_says_whether_the_effect_may_exist() {
    use oncegate_domain::doubt::Unsettled::*;
    use oncegate_domain::outcome::Permanent;
    for reason in [
        Review::Refused(Permanent::Denied),
        Review::Refused(Permanent::ConnectorFault),
        Review::Refused(Permanent::Rejected),
        Review::AttemptsUsedUp,
        Review::WaitedTooLong,
        Review::ToldToWaitTooLong,
        Review::Template,
        Review::Output,
        Review::NotAllowed,
        Review::Unauthorized,
    ] {
        assert!(reason.to_string().ends_with("the effect does not exist"), "{reason}");
        assert!(!reason.effect_may_exist());
    }
    for why in [
        NoWayToAsk,
        LookupUnclear,
        Absent,
        WindowOver,
        AttemptsUsedUp,
        Overtaken,
        Cancelled,
        WaitedTooLong,
    ] {
        let reason = Review::Doubt(why);
        assert!(reason.to_string().starts_with("the effect may exist; "), "{reason}");
        assert!(reason.effect_may_exist());
    }
    assert_eq!(
        Review::Doubt(NoWayToAsk).to_string(),
        "the effect may exist; the destination gives no way to ask"
    );
}

#[test]
fn a_step_that_cannot_begin_goes_to_a_person_without_a_try() {
    let mut play = Play::new(asking());
    play.begin().apply(Event::Hold {
        at_ms: 0,
        next: Next::Review(Review::Template),
    });
    assert_eq!(play.line(), "needs_review Template");
    assert_eq!(retry_offer(&play.step, &play.terms), Some(RetryOffer::OneClick));
}

#[test]
fn a_cancelled_step_is_not_closed_on_one_absent_that_only_the_key_of_a_resend_made_good() {
    let mut play = Play::new(keyed_asking());
    play.attempt(Outcome::Unknown).wake();
    assert_eq!(play.lookup(Finding::Absent).next(), Move::Resend);
    play.apply(Event::Cancel { at_ms: play.now_ms });
    assert_eq!((play.wake(), play.now_ms), (Move::Lookup, 60_000));
    assert_eq!(play.lookup(Finding::Absent).line(), "cancelled");
    let mut play = Play::new(keyed_asking());
    play.attempt(Outcome::Unknown).apply(Event::Cancel { at_ms: 0 }).wake();
    assert_eq!(play.lookup(Finding::Absent).line(), "cancelling 30, in doubt");
}
