//! What people do: one decision wins, and all of it is on record.

use super::*;

on_both! {
    a_step_in_review_is_shown_with_what_is_known,
    a_decision_moves_step_item_run_and_trail_at_once,
    of_two_people_one_wins,
    a_decision_from_an_outdated_page_changes_nothing,
    a_step_can_come_back_to_review,
    cancelling_closes_what_waits_and_is_on_record,
    steps_that_tell_people_are_made_with_the_review,
    a_conflict_is_ignored_or_run_as_another_event,
    the_trail_is_listed_newest_first,
}

/// A run whose first step is in review.
pub(super) async fn reviewed(house: &House, key: &str) -> (Id, Vec<Id>, ReviewItem) {
    let (run, steps) = house.run(key).await;
    let write = StepWrite {
        last_error: Some("503".into()),
        ..StepWrite::new(steps[0], 0, in_review())
    };
    let mut finish = house.finish(run, write, Some(confirmed(1, false)));
    finish.run_state = Some(run::State::NeedsReview);
    let finished = house.ledger.finish(finish).await.unwrap();
    let item = house.ledger.review_of_step(steps[0]).await.unwrap().unwrap();
    assert_eq!(finished.item, Some(item.id));
    (run, steps, item)
}

pub(super) fn decision(item: &ReviewItem, step: StepWrite, action: PersonAction) -> PersonDecision {
    PersonDecision {
        item: item.id,
        version: item.version,
        who: "ada".into(),
        why: "looked it up".into(),
        action,
        stated_absent: false,
        at_ms: NOW_MS + 9,
        step,
        others: Vec::new(),
        run_state: None,
        run_version: 1,
    }
}

async fn a_step_in_review_is_shown_with_what_is_known(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    let expected = ReviewSubject::Step {
        step: steps[0],
        name: "crm".into(),
        connection: "crm".into(),
        action: "upsert".into(),
        reason: Review::AttemptsUsedUp,
        may_exist: false,
        last_error: Some("503".into()),
        attempts: 1,
        last_try_ms: Some(NOW_MS),
        resend_until_ms: None,
    };
    assert_eq!(item.subject, expected);
    assert_eq!(
        (item.run, item.flow.as_str(), item.key.as_str(), item.version),
        (run, "lead", "A-1", 1)
    );
    let list = house.ledger.review_list(false, Page::default()).await.unwrap();
    assert_eq!(list.items.iter().map(|item| item.id).collect::<Vec<_>>(), [item.id]);
    let detail = house.ledger.review_show(item.id).await.unwrap().unwrap();
    assert_eq!(
        (detail.run.run.state, detail.conflicting.is_none()),
        (run::State::NeedsReview, true)
    );
    assert_eq!(
        house.ledger.counts().await.unwrap().review,
        [("attempts_used_up".to_owned(), 1)]
    );
    assert!(house.due().await.is_empty());
}

async fn a_decision_moves_step_item_run_and_trail_at_once(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    let done = StepWrite {
        reference: Some("c-9".into()),
        ..StepWrite::new(steps[0], 1, completed())
    };
    let mut resolve = decision(&item, done, PersonAction::Resolve);
    resolve.others.push(StepWrite::new(steps[1], 0, ready()));
    resolve.run_state = Some(run::State::Pending);
    house.ledger.decide(resolve.clone()).await.unwrap();
    let stored = house.ledger.run_load(run).await.unwrap().unwrap();
    assert_eq!(
        (stored.state, stored.steps[0].state.state),
        (run::State::Pending, State::Completed)
    );
    assert_eq!(stored.steps[0].reference.as_deref(), Some("c-9"));
    assert_eq!(stored.steps[1].state, ready());
    let detail = house.ledger.run_show(run).await.unwrap().unwrap();
    let closed = detail.reviews[0].closed.clone().unwrap();
    assert_eq!(
        (closed.action.as_str(), closed.who.as_str(), closed.why.as_str()),
        ("resolve", "ada", "looked it up")
    );
    assert_eq!(detail.audit.len(), 1);
    assert_eq!(
        (detail.audit[0].entry.what.as_str(), detail.audit[0].entry.at_ms),
        ("review.resolve", NOW_MS + 9)
    );
    assert!(
        house
            .ledger
            .review_list(false, Page::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert_eq!(
        house
            .ledger
            .review_list(true, Page::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    let error = house.ledger.decide(resolve).await.unwrap_err();
    assert!(matches!(
        error,
        LedgerError::Stale {
            what: "review item",
            ..
        }
    ));
}

async fn of_two_people_one_wins(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    let retry = decision(&item, StepWrite::new(steps[0], 1, ready()), PersonAction::Retry);
    let failed = Step {
        state: State::Failed,
        ..in_review()
    };
    let discard = decision(&item, StepWrite::new(steps[0], 1, failed), PersonAction::Discard);
    let (first, second) = tokio::join!(house.ledger.decide(retry), house.ledger.decide(discard));
    first.unwrap();
    assert!(matches!(second.unwrap_err(), LedgerError::Stale { .. }));
    assert_eq!(house.step(run, 0).await.state, ready());
    assert_eq!(house.ledger.run_show(run).await.unwrap().unwrap().audit.len(), 1);
}

async fn a_decision_from_an_outdated_page_changes_nothing(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    // The page is current, the step is not: the item stays open as well.
    let outdated = decision(&item, StepWrite::new(steps[0], 0, ready()), PersonAction::Retry);
    assert!(matches!(
        house.ledger.decide(outdated).await.unwrap_err(),
        LedgerError::Stale { what: "step", .. }
    ));
    assert_eq!(house.ledger.review_of_step(steps[0]).await.unwrap().unwrap().version, 1);
    let other = decision(&item, StepWrite::new(steps[1], 0, ready()), PersonAction::Retry);
    assert!(matches!(
        house.ledger.decide(other).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    let nothing = PersonDecision {
        item: run,
        ..decision(&item, StepWrite::new(steps[0], 1, ready()), PersonAction::Retry)
    };
    assert!(matches!(
        house.ledger.decide(nothing).await.unwrap_err(),
        LedgerError::NotFound { .. }
    ));
    assert!(house.ledger.run_show(run).await.unwrap().unwrap().audit.is_empty());
}

async fn a_step_can_come_back_to_review(house: House) {
    let (_, steps, item) = reviewed(&house, "A-1").await;
    house
        .ledger
        .decide(decision(
            &item,
            StepWrite::new(steps[0], 1, ready()),
            PersonAction::Retry,
        ))
        .await
        .unwrap();
    let back = house.finish(
        item.run,
        StepWrite::new(steps[0], 2, in_review()),
        Some(confirmed(2, false)),
    );
    let second = house.ledger.finish(back).await.unwrap().item.unwrap();
    assert_ne!(second, item.id);
    // What is known changes while it waits: the same item, another version.
    let reason = Review::WaitedTooLong;
    let changed = Step {
        state: State::NeedsReview { reason },
        ..in_review()
    };
    let finish = house.finish(item.run, StepWrite::new(steps[0], 3, changed), None);
    assert_eq!(house.ledger.finish(finish).await.unwrap().item, None);
    let now = house.ledger.review_of_step(steps[0]).await.unwrap().unwrap();
    assert_eq!((now.id, now.version), (second, 2));
    assert!(matches!(
        now.subject,
        ReviewSubject::Step {
            reason: Review::WaitedTooLong,
            ..
        }
    ));
}

async fn cancelling_closes_what_waits_and_is_on_record(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    let cancelled = || Step {
        state: State::Cancelled,
        ..Step::new()
    };
    let cancel = |first_version| Cancel {
        run,
        who: "ada".into(),
        why: "wrong order".into(),
        at_ms: NOW_MS,
        steps: vec![
            StepWrite::new(steps[0], first_version, cancelled()),
            StepWrite::new(steps[1], 0, cancelled()),
        ],
        run_state: run::State::Cancelled,
        run_version: 1,
    };
    assert!(matches!(
        house.ledger.cancel(cancel(0)).await.unwrap_err(),
        LedgerError::Stale { .. }
    ));
    assert_eq!(house.step(run, 1).await.version, 0);
    house.ledger.cancel(cancel(1)).await.unwrap();
    let detail = house.ledger.run_show(run).await.unwrap().unwrap();
    assert_eq!(
        (detail.run.state, detail.run.finished_ms),
        (run::State::Cancelled, Some(NOW_MS))
    );
    assert_eq!(detail.reviews[0].id, item.id);
    assert_eq!(detail.reviews[0].closed.as_ref().unwrap().action, "cancel");
    assert_eq!(detail.audit[0].entry.what, "run.cancel");
}

async fn steps_that_tell_people_are_made_with_the_review(house: House) {
    let (run, steps) = house.run("A-1").await;
    let mut notice = new_step(2, "mail", ready());
    (notice.role, notice.item, notice.input) = (Role::Notify, "crm/1".into(), Some("{}".into()));
    let mut finish = house.finish(run, StepWrite::new(steps[0], 0, in_review()), None);
    finish.notify.push(notice);
    let finished = house.ledger.finish(finish).await.unwrap();
    let step = house.step(run, 2).await;
    assert_eq!(
        (finished.notify, step.role, step.item.as_str()),
        (vec![step.id], Role::Notify, "crm/1")
    );
    assert_eq!((step.input.as_deref(), step.epoch), (Some("{}"), house.ledger.epoch()));
}

async fn a_conflict_is_ignored_or_run_as_another_event(house: House) {
    let (run, _) = house.run("A-1").await;
    let other = |print| NewEvent {
        fingerprint: [print; 32],
        ..house.event("A-1")
    };
    let Accepted::Conflict { item: ignored, .. } = house.ledger.accept(other(2)).await.unwrap() else {
        panic!()
    };
    let Accepted::Conflict { item: apart, event, .. } = house.ledger.accept(other(3)).await.unwrap() else {
        panic!()
    };
    let template = house.event("A-1~2");
    let decide = |item, run: Option<ConflictRun>| {
        let (who, why) = ("ada".to_owned(), "asked them".to_owned());
        house.ledger.decide_conflict(ConflictDecision {
            item,
            version: 1,
            who,
            why,
            at_ms: NOW_MS,
            run,
        })
    };
    assert_eq!(decide(ignored, None).await.unwrap(), None);
    assert!(matches!(
        decide(ignored, None).await.unwrap_err(),
        LedgerError::Stale { .. }
    ));
    let new_run = || ConflictRun {
        flow_revision: 1,
        key: template.key.clone(),
        key_hash: template.key_hash,
        context: Vec::new(),
        steps: template.steps.clone(),
    };
    let made = decide(apart, Some(new_run())).await.unwrap().unwrap();
    let stored = house.ledger.run_load(made).await.unwrap().unwrap();
    assert_eq!(
        (stored.key.as_str(), stored.event.id, stored.steps.len()),
        ("A-1~2", event, 2)
    );
    assert_eq!(stored.steps[0].epoch, house.ledger.epoch());
    assert_eq!(house.ledger.run_show(run).await.unwrap().unwrap().audit.len(), 2);
    // What a person said holds for repetitions.
    let again = house.ledger.accept(other(2)).await.unwrap();
    assert!(
        matches!(again, Accepted::Duplicate { run: same, .. } if same == run),
        "{again:?}"
    );
    let again = house.ledger.accept(other(3)).await.unwrap();
    assert!(
        matches!(again, Accepted::Duplicate { run: same, .. } if same == made),
        "{again:?}"
    );
    // A taken key cannot be given away twice, and the item stays open.
    let Accepted::Conflict { item: third, .. } = house.ledger.accept(other(4)).await.unwrap() else {
        panic!()
    };
    assert!(matches!(
        decide(third, Some(new_run())).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    assert_eq!(house.ledger.review_show(third).await.unwrap().unwrap().item.version, 1);
}

async fn the_trail_is_listed_newest_first(house: House) {
    for number in 0..3 {
        let what = format!("test.{number}");
        let (who, subject, why) = ("ada".into(), "x".into(), String::new());
        house
            .ledger
            .audit(AuditEntry {
                at_ms: NOW_MS + 1 + number,
                who,
                what,
                subject,
                why,
            })
            .await
            .unwrap();
    }
    let first = house.ledger.audit_list(Page { after: None, limit: 2 }).await.unwrap();
    let what: Vec<_> = first.items.iter().map(|line| line.entry.what.as_str()).collect();
    assert_eq!(what, ["test.2", "test.1"]);
    let rest = house
        .ledger
        .audit_list(Page {
            after: first.next,
            limit: 2,
        })
        .await
        .unwrap();
    let what: Vec<_> = rest.items.iter().map(|line| line.entry.what.as_str()).collect();
    assert_eq!(what, ["test.0", "flow.save"]);
}
