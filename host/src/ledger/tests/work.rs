//! Attempts: intents, ends, fences, and what is due.

use super::*;

on_both! {
    an_intent_is_recorded_before_it_may_send,
    a_killed_host_leaves_an_open_intent_for_the_next,
    an_end_stores_attempt_step_run_and_successors_at_once,
    an_attempt_without_an_intent_is_stored_whole,
    a_refused_end_leaves_nothing_behind,
    what_follows_from_a_step_is_written_by_who_has_seen_all_others,
    an_intent_that_does_not_fit_is_refused,
    an_old_value_is_not_sent_again_over_a_newer_one,
    due_steps_come_oldest_first_in_pages,
    a_step_that_waits_says_what_its_connection_waits_for,
    a_step_under_way_is_never_without_a_due_time,
    commands_that_come_together_share_a_commit,
}

async fn an_intent_is_recorded_before_it_may_send(house: House) {
    let (run, steps) = house.run("A-1").await;
    let intent = house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    assert_eq!(
        intent.attempt(),
        AttemptId {
            step: steps[0],
            number: 1
        }
    );
    assert_eq!((intent.send_by_ms(), intent.send_by_boot_ms()), (NOW_MS + 5_000, 5_010));
    let stored = house.ledger.last_intent(steps[0]).await.unwrap().unwrap();
    assert_eq!(
        (stored.number, stored.kind, stored.at_ms),
        (1, AttemptKind::Perform, NOW_MS)
    );
    assert_eq!((&stored.place, &stored.request), (&place(), &request()));
    assert_eq!((stored.action.as_str(), stored.evidence), ("upsert", None));
    assert!(stored.input.contains("a@example.com"));
    let step = house.step(run, 0).await;
    assert_eq!((step.version, step.last_number, step.state), (1, 1, sending()));
    assert_eq!(
        (step.due_ms, step.key_window_end_ms),
        (Some(NOW_MS + 15_000), Some(NOW_MS + 86_400_000))
    );
    assert!(house.ledger.last_intent(steps[1]).await.unwrap().is_none());
}

/// Two steps end at the same moment, each as if the other were still to come: nobody would make ready what waits for both.
async fn what_follows_from_a_step_is_written_by_who_has_seen_all_others(house: House) {
    let (run, steps) = house.run("A-1").await;
    let end = |place: usize, run_version| Finish {
        run_state: Some(run::State::Processing),
        run_version,
        ..house.finish(run, StepWrite::new(steps[place], 0, completed()), None)
    };
    let (first, second) = tokio::join!(house.ledger.finish(end(0, 0)), house.ledger.finish(end(1, 0)));
    first.unwrap();
    let stale = second.unwrap_err();
    assert!(stale.is_about_another_step(), "{stale}");
    assert_eq!(
        (house.step(run, 0).await.version, house.step(run, 1).await.version),
        (1, 0)
    );
    house.ledger.finish(end(1, 1)).await.unwrap();
    assert_eq!(house.ledger.run_load(run).await.unwrap().unwrap().version, 2);
}

async fn a_killed_host_leaves_an_open_intent_for_the_next(house: House) {
    let (run, steps) = house.run("A-1").await;
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    let house = house.reopen().await;
    let under_way = house.ledger.under_way(None, 10).await.unwrap();
    let open = under_way[0].open;
    assert_eq!(
        (open.number, open.kind, open.send_by_ms),
        (1, AttemptKind::Perform, NOW_MS + 5_000)
    );
    assert_eq!(
        (open.epoch, under_way[0].step.id, house.step(run, 0).await.state),
        (house.ledger.epoch() - 1, steps[0], sending())
    );

    // The late writer of the epoch before changes nothing; after the take-over this process does.
    let end = StepWrite::new(steps[0], 1, completed());
    let finish = house.finish(run, end.clone(), Some(confirmed(1, true)));
    let error = house.ledger.finish(finish.clone()).await.unwrap_err();
    assert!(
        matches!(error, LedgerError::LeaseLost { step, .. } if step == steps[0]),
        "{error}"
    );
    assert_eq!(house.ledger.take_over(vec![run]).await.unwrap(), [run]);
    let late = Finish {
        epoch: house.ledger.epoch() - 1,
        ..finish.clone()
    };
    assert!(matches!(
        house.ledger.finish(late).await.unwrap_err(),
        LedgerError::LeaseLost { .. }
    ));
    let late = NewIntent {
        epoch: house.ledger.epoch() - 1,
        ..house.intent(run, steps[0], 1, 2)
    };
    assert!(matches!(
        house.ledger.intend(late).await.unwrap_err(),
        LedgerError::LeaseLost { .. }
    ));
    house.ledger.finish(finish).await.unwrap();
    assert!(house.due().await.is_empty());
}

async fn an_end_stores_attempt_step_run_and_successors_at_once(house: House) {
    let (run, steps) = house.run("A-1").await;
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    let write = StepWrite {
        output: Some(serde_json::json!({"id": "c-1"}).into()),
        reference: Some("c-1".into()),
        ..StepWrite::new(steps[0], 1, completed())
    };
    let mut finish = house.finish(run, write, Some(confirmed(1, true)));
    finish.others.push(StepWrite::new(steps[1], 0, ready()));
    finish.run_state = Some(run::State::Processing);
    assert_eq!(house.ledger.finish(finish.clone()).await.unwrap(), Finished::default());

    let stored = house.ledger.run_load(run).await.unwrap().unwrap();
    assert_eq!(stored.state, run::State::Processing);
    let (first, second) = (&stored.steps[0], &stored.steps[1]);
    assert_eq!(
        (first.state.state, first.version, first.due_ms),
        (State::Completed, 2, None)
    );
    assert_eq!(first.output, Some(serde_json::json!({"id": "c-1"})));
    assert_eq!(first.reference.as_deref(), Some("c-1"));
    assert_eq!(
        (second.state.clone(), second.version, second.due_ms),
        (ready(), 1, Some(NOW_MS))
    );
    let attempts = &house.ledger.run_show(run).await.unwrap().unwrap().steps[0].1;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].evidence, Some(Evidence::Answered(201)));
    assert_eq!(attempts[0].outcome, Some(Outcome::Confirmed(Proof::Answered(201))));
    assert_eq!((attempts[0].status, attempts[0].report), (Some(201), Some(Report::Ok)));
    assert_eq!(
        (attempts[0].ended_ms, attempts[0].message.as_deref()),
        (Some(NOW_MS + 40), Some("created"))
    );
    assert_eq!(attempts[0].request.as_ref(), Some(&request()));
    // The same end again comes from an outdated view.
    assert!(matches!(
        house.ledger.finish(finish).await.unwrap_err(),
        LedgerError::Stale { .. }
    ));
}

async fn an_attempt_without_an_intent_is_stored_whole(house: House) {
    let (run, steps) = house.run("A-1").await;
    let retry = Step { attempts: 1, ..ready() };
    let mut end = confirmed(1, false);
    end.kind = AttemptKind::Lookup;
    end.evidence = Evidence::None;
    end.finding = Some(oncegate_domain::doubt::Finding::Absent);
    let write = StepWrite {
        last_error: Some("DNS".into()),
        ..StepWrite::new(steps[0], 0, retry)
    };
    house.ledger.finish(house.finish(run, write, Some(end))).await.unwrap();
    let detail = house.ledger.run_show(run).await.unwrap().unwrap();
    let (step, attempts) = &detail.steps[0];
    assert_eq!((step.last_number, step.last_error.as_deref()), (1, Some("DNS")));
    assert_eq!((attempts[0].kind, attempts[0].intent_ms), (AttemptKind::Lookup, None));
    assert_eq!(attempts[0].place, place());
    assert!(house.ledger.last_intent(steps[0]).await.unwrap().is_none());
    // The error is kept until it is overcome.
    house.ledger.intend(house.intent(run, steps[0], 1, 2)).await.unwrap();
    assert_eq!(house.step(run, 0).await.last_error.as_deref(), Some("DNS"));
    let write = StepWrite::new(steps[0], 2, completed());
    house
        .ledger
        .finish(house.finish(run, write, Some(confirmed(2, true))))
        .await
        .unwrap();
    assert_eq!(house.step(run, 0).await.last_error, None);
}

async fn a_refused_end_leaves_nothing_behind(house: House) {
    let (run, steps) = house.run("A-1").await;
    // The step itself is current, its successor is not: the whole command is refused, alone or in a group.
    let mut half = house.finish(run, StepWrite::new(steps[0], 0, completed()), Some(confirmed(1, false)));
    half.others.push(StepWrite::new(steps[1], 5, ready()));
    let other = house.run("A-2").await;
    let good = house.finish(
        other.0,
        StepWrite::new(other.1[0], 0, completed()),
        Some(confirmed(1, false)),
    );
    let (half, good) = tokio::join!(house.ledger.finish(half), house.ledger.finish(good));
    assert!(matches!(half.unwrap_err(), LedgerError::Stale { id, .. } if id == steps[1]));
    good.unwrap();
    assert_eq!(house.step(run, 0).await.state, ready());
    assert!(house.ledger.run_show(run).await.unwrap().unwrap().steps[0].1.is_empty());
    assert_eq!(house.step(other.0, 0).await.state.state, State::Completed);
    // Two changes of one step.
    let mut twice = house.finish(run, StepWrite::new(steps[0], 0, completed()), None);
    twice.others.push(StepWrite::new(steps[0], 0, ready()));
    assert!(matches!(
        house.ledger.finish(twice).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    // An end of an intent that was never recorded.
    let unknown = house.finish(run, StepWrite::new(steps[0], 0, completed()), Some(confirmed(1, true)));
    assert!(matches!(
        house.ledger.finish(unknown).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    assert_eq!(house.step(run, 0).await.state, ready());
}

async fn an_intent_that_does_not_fit_is_refused(house: House) {
    let (run, steps) = house.run("A-1").await;
    let refused = |intent: NewIntent| house.ledger.intend(intent);
    let intent = || house.intent(run, steps[0], 0, 1);
    let stale = NewIntent { version: 3, ..intent() };
    assert!(matches!(
        refused(stale).await.unwrap_err(),
        LedgerError::Stale { version: 3, .. }
    ));
    let skipped = NewIntent { number: 2, ..intent() };
    assert!(matches!(
        refused(skipped).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    let lookup = NewIntent {
        kind: AttemptKind::Lookup,
        ..intent()
    };
    assert!(matches!(
        refused(lookup).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    let undoubted = NewIntent {
        step_after: ready(),
        ..intent()
    };
    assert!(matches!(
        refused(undoubted).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    let nobody = NewIntent { step: run, ..intent() };
    assert!(matches!(
        refused(nobody).await.unwrap_err(),
        LedgerError::NotFound { .. }
    ));
    assert!(house.ledger.last_intent(steps[0]).await.unwrap().is_none());
    refused(intent()).await.unwrap();
}

async fn an_old_value_is_not_sent_again_over_a_newer_one(house: House) {
    let (old, old_steps) = house.run("A-1").await;
    let (new, new_steps) = house.run("A-2").await;
    let key = Some([5; 32]);
    let first = NewIntent {
        natural_key: key,
        ..house.intent(old, old_steps[0], 0, 1)
    };
    house.ledger.intend(first).await.unwrap();
    let later = |after_ms| {
        house
            .ledger
            .later_intent("crm", "upsert", [5; 32], after_ms, old_steps[0])
    };
    assert!(!later(0).await.unwrap());
    let at_ms = NOW_MS + 1;
    house
        .ledger
        .intend(NewIntent {
            natural_key: key,
            at_ms,
            ..house.intent(new, new_steps[0], 0, 1)
        })
        .await
        .unwrap();
    assert!(later(NOW_MS).await.unwrap());
    assert!(!later(at_ms + 1).await.unwrap());
    let again = NewIntent {
        natural_key: key,
        kind: AttemptKind::Resend,
        overtaken_after_ms: Some(NOW_MS),
        ..house.intent(old, old_steps[0], 1, 2)
    };
    let error = house.ledger.intend(again).await.unwrap_err();
    assert!(matches!(error, LedgerError::Overtaken { step } if step == old_steps[0]));
    assert_eq!(house.ledger.last_intent(old_steps[0]).await.unwrap().unwrap().number, 1);
}

async fn due_steps_come_oldest_first_in_pages(house: House) {
    let mut expected = Vec::new();
    for number in [3, 1, 2] {
        let mut event = house.event(&format!("A-{number}"));
        event.steps[0].due_ms = Some(NOW_MS + number * 1_000);
        let Accepted::New { steps, .. } = house.ledger.accept(event).await.unwrap() else {
            panic!()
        };
        expected.push((NOW_MS + number * 1_000, steps[0]));
    }
    expected.sort();
    let until = NOW_MS + 2_000;
    let first = house.ledger.due_steps("crm", until, None, 1).await.unwrap();
    let after = Some(first[0].cursor());
    let second = house.ledger.due_steps("crm", until, after, 5).await.unwrap();
    let seen: Vec<_> = first.iter().chain(&second).map(|step| (step.due_ms, step.id)).collect();
    assert_eq!(seen, expected[..2]);
    assert_eq!(house.due().await.len(), 3);
    let backlogs = house.ledger.backlogs().await.unwrap();
    assert_eq!(backlogs, [("crm".to_owned(), NOW_MS + 1_000)]);
}

async fn a_step_that_waits_says_what_its_connection_waits_for(house: House) {
    for (number, until_ms) in [(1, 5_000), (2, 9_000)] {
        let (run, steps) = house.run(&format!("A-{number}")).await;
        let waiting = Step {
            state: State::Waiting {
                reason: Wait::BreakerOpen,
                until_ms: NOW_MS + until_ms,
            },
            ..ready()
        };
        let write = StepWrite {
            last_error: Some("away".to_owned()),
            ..StepWrite::new(steps[0], 0, waiting)
        };
        house.ledger.finish(house.finish(run, write, None)).await.unwrap();
    }
    let waits = house.ledger.waits().await.unwrap();
    let expected = ConnectionWait {
        connection: "crm".to_owned(),
        reason: Wait::BreakerOpen,
        until_ms: NOW_MS + 9_000,
        why: Some("away".to_owned()),
    };
    assert_eq!(waits, [expected]);
    for (after_ms, expected) in [(4_999, vec![5_000, 9_000]), (5_000, vec![9_000]), (9_000, vec![])] {
        let waiting = house
            .ledger
            .waiting_steps("crm", NOW_MS + after_ms, None)
            .await
            .unwrap();
        let due_ms: Vec<i64> = waiting.iter().map(|step| step.due_ms - NOW_MS).collect();
        assert_eq!(due_ms, expected);
    }
}

async fn a_step_under_way_is_never_without_a_due_time(house: House) {
    let (run, steps) = house.run("A-1").await;
    let under_way = Step {
        state: State::Processing,
        ..ready()
    };
    house
        .ledger
        .finish(house.finish(run, StepWrite::new(steps[0], 0, under_way), None))
        .await
        .unwrap();
    assert_eq!(house.due().await[0].id, steps[0]);
    let done = StepWrite {
        due_ms: Some(NOW_MS),
        ..StepWrite::new(steps[0], 1, completed())
    };
    house.ledger.finish(house.finish(run, done, None)).await.unwrap();
    assert!(house.due().await.is_empty());
}

async fn commands_that_come_together_share_a_commit(house: House) {
    let before = house.ledger.writer_counts();
    let events: Vec<_> = (0..100).map(|number| house.event(&format!("A-{number}"))).collect();
    let accepted = futures::future::join_all(events.into_iter().map(|event| house.ledger.accept(event))).await;
    assert!(
        accepted
            .iter()
            .all(|verdict| matches!(verdict, Ok(Accepted::New { .. })))
    );
    let after = house.ledger.writer_counts();
    assert_eq!(after.commands - before.commands, 100);
    assert!(
        after.commits - before.commits <= 10,
        "{} commits",
        after.commits - before.commits
    );
    // And one alone waits for nobody.
    house.run("B-1").await;
    assert_eq!(house.ledger.writer_counts().commits - after.commits, 1);
}
