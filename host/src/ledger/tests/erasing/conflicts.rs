//! Conflicts and erasing: one that comes after, and one that became a run.

use super::*;

on_both! {
    a_conflict_that_comes_after_is_kept_for_a_person_and_then_goes,
    the_event_of_a_run_that_a_person_made_goes_with_that_run,
}

async fn a_conflict_that_comes_after_is_kept_for_a_person_and_then_goes(house: House) {
    over(&house, "A", WORD).await;
    assert_eq!(erase(&house, old(91)).await, 1);
    let (event, item) = conflict(&house, "A", WORD, 5).await;
    assert_eq!(erase(&house, old(400)).await, 0);
    assert_eq!(house.ledger.event(event).await.unwrap().body.bytes, WORD.as_bytes());
    let at_ms = NOW_MS + 400 * DAY_MS;
    house.ledger.decide_conflict(decided(item, at_ms, None)).await.unwrap();
    assert_eq!(erase(&house, old(485)).await, 0);
    assert_eq!(erase(&house, old(492)).await, 1);
    let left = all_that_is_stored(&house).await;
    assert!(!left.contains("anna"), "{left}");
    // What a person said holds for repetitions, for ever.
    let again = NewEvent {
        fingerprint: [5; 32],
        ..about(&house, "A", WORD)
    };
    let again = house.ledger.accept(again).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { .. }), "{again:?}");
}

async fn the_event_of_a_run_that_a_person_made_goes_with_that_run(house: House) {
    over(&house, "A", "bob").await;
    let (event, item) = conflict(&house, "A", WORD, 5).await;
    let template = house.event("A~2");
    let made = ConflictRun {
        flow_revision: 1,
        key: template.key.clone(),
        key_hash: template.key_hash,
        context: about(&house, "A", WORD).context,
        steps: template.steps.clone(),
    };
    let decision = decided(item, NOW_MS, Some(made));
    let made = house.ledger.decide_conflict(decision).await.unwrap().unwrap();
    assert_eq!(erase(&house, old(100)).await, 1);
    assert_eq!(house.ledger.event(event).await.unwrap().body.bytes, WORD.as_bytes());
    assert_eq!(erased_ms(&house, made).await, None);

    let steps = house.ledger.run_load(made).await.unwrap().unwrap().steps;
    let mut finish = house.finish(made, StepWrite::new(steps[0].id, 0, completed()), None);
    finish.others.push(StepWrite::new(steps[1].id, 0, completed()));
    (finish.run_state, finish.at_ms) = (Some(run::State::Completed), NOW_MS + 100 * DAY_MS);
    house.ledger.finish(finish).await.unwrap();
    assert_eq!(erase(&house, old(200)).await, 1);
    let left = all_that_is_stored(&house).await;
    assert!(!left.contains("anna"), "{left}");
}
