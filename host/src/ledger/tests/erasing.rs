//! Erasing what is old and what is to be forgotten: what goes, what stays, what is never touched.

mod conflicts;
mod forgotten;
mod measured;

use super::*;
use crate::ledger::database::{Sql, Value as Bound};
use crate::ledger::rows::Cell;

on_both! {
    what_is_old_goes_and_what_names_the_event_stays,
    what_is_not_over_is_passed_by_and_found_again_when_it_is,
    what_ended_late_is_kept_from_its_end,
    history_is_gone_through_once_in_batches,
    a_natural_key_is_still_known_as_later,
}

const DAY_MS: i64 = 86_400_000;
/// Stands in everything that a test's run knows of its event.
const WORD: &str = "anna@example.com";

fn old(days: i64) -> EraseOld {
    EraseOld {
        ended_before_ms: NOW_MS + (days - 90) * DAY_MS,
        now_ms: NOW_MS + days * DAY_MS,
        runs_max: RUNS_PER_ERASING_MAX,
    }
}

/// All batches until nothing is due; how many runs were erased.
async fn erase(house: &House, what: EraseOld) -> usize {
    let mut erased = 0;
    for _ in 0..10_000 {
        let batch = house.ledger.erase_old(what).await.unwrap();
        if batch.looked_at == 0 {
            return erased;
        }
        erased += batch.erased;
    }
    panic!("it does not end");
}

fn about(house: &House, key: &str, customer: &str) -> NewEvent {
    let word = |name: &str, value: &str| ContextItem {
        name: name.into(),
        value: value.into(),
        personal: true,
    };
    NewEvent {
        body: raw(customer.as_bytes()),
        headers: BTreeMap::from([("x-from".into(), customer.into())]),
        query: BTreeMap::from([("who".into(), customer.into())]),
        context: vec![word("customer", customer), word("shop", "north")],
        ..house.event(key)
    }
}

async fn accepted(house: &House, event: NewEvent) -> (Id, Vec<Id>) {
    match house.ledger.accept(event).await.unwrap() {
        Accepted::New { run, steps, .. } => (run, steps),
        other => panic!("{other:?}"),
    }
}

/// A run that is over, with everything in it that a run can have.
async fn over(house: &House, key: &str, customer: &str) -> Id {
    over_at(house, key, customer, NOW_MS).await
}

async fn over_at(house: &House, key: &str, customer: &str, at_ms: i64) -> Id {
    let (run, steps) = accepted(house, about(house, key, customer)).await;
    let intent = NewIntent {
        input: format!("{{\"to\":\"{customer}\"}}"),
        request: StoredRequest {
            body: customer.as_bytes().to_vec(),
            ..request()
        },
        ..house.intent(run, steps[0], 0, 1)
    };
    house.ledger.intend(intent).await.unwrap();
    let said = |write: StepWrite| StepWrite {
        last_error: Some(format!("{customer} is unknown")),
        output: Some(serde_json::json!({ "id": customer }).into()),
        reference: Some(customer.to_owned()),
        input: Some(format!("\"{customer}\"")),
        ..write
    };
    let attempt = AttemptEnd {
        message: Some(format!("made {customer}")),
        ..confirmed(1, true)
    };
    let finish = house.finish(run, said(StepWrite::new(steps[0], 1, completed())), Some(attempt));
    house.ledger.finish(finish).await.unwrap();
    let late = LateEvidence {
        run,
        attempt: AttemptId {
            step: steps[0],
            number: 1,
        },
        epoch: house.ledger.epoch(),
        evidence: Evidence::Answered(201),
        status: Some(201),
        outcome: None,
        output: Some(serde_json::json!({ "made": customer })),
        reference: Some(customer.to_owned()),
        at_ms: NOW_MS,
    };
    house.ledger.late_evidence(late).await.unwrap();
    let mut last = house.finish(run, said(StepWrite::new(steps[1], 0, completed())), None);
    (last.run_state, last.at_ms) = (Some(run::State::Completed), at_ms);
    house.ledger.finish(last).await.unwrap();
    run
}

/// Everything that the tables of events hold, as text.
async fn all_that_is_stored(house: &House) -> String {
    let mut all = String::new();
    for table in [
        "events",
        "runs",
        "steps",
        "attempts",
        "review_items",
        "erasing",
        "erasing_later",
    ] {
        let mut snapshot = house.ledger.snapshot().await.unwrap();
        let sql = Sql::Built(format!("SELECT * FROM {table}").into());
        for row in snapshot.conn().query(sql, Vec::new()).await.unwrap() {
            for cell in row.into_cells() {
                all += &match cell {
                    Cell::Null => "-".to_owned(),
                    Cell::Int(number) => number.to_string(),
                    Cell::Text(text) => text,
                    Cell::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                };
                all.push('|');
            }
        }
    }
    all
}

async fn erased_ms(house: &House, run: Id) -> Option<i64> {
    house.ledger.run_show(run).await.unwrap().unwrap().run.erased_ms
}

async fn conflict(house: &House, key: &str, customer: &str, print: u8) -> (Id, Id) {
    let other = NewEvent {
        fingerprint: [print; 32],
        ..about(house, key, customer)
    };
    match house.ledger.accept(other).await.unwrap() {
        Accepted::Conflict { event, item, .. } => (event, item),
        other => panic!("{other:?}"),
    }
}

fn decided(item: Id, at_ms: i64, run: Option<ConflictRun>) -> ConflictDecision {
    ConflictDecision {
        item,
        version: 1,
        who: "ada".into(),
        why: format!("asked {WORD}"),
        at_ms,
        run,
    }
}

async fn what_is_old_goes_and_what_names_the_event_stays(house: House) {
    let event = || NewEvent {
        signed_digest: Some([8; 32]),
        ..about(&house, WORD, WORD)
    };
    let (other, _) = (over(&house, "fresh", "bob").await, ());
    let run = {
        let (run, steps) = accepted(&house, event()).await;
        let mut finish = house.finish(run, StepWrite::new(steps[0], 0, completed()), None);
        finish.others.push(StepWrite::new(steps[1], 0, completed()));
        finish.run_state = Some(run::State::Completed);
        house.ledger.finish(finish).await.unwrap();
        run
    };
    let whole = over(&house, &format!("{WORD}-2"), WORD).await;
    assert_eq!(erase(&house, old(90)).await, 0, "one day too early");
    assert!(all_that_is_stored(&house).await.contains(WORD));
    assert_eq!(erase(&house, old(91)).await, 3);
    let left = all_that_is_stored(&house).await;
    assert!(!left.contains("anna") && !left.contains("bob"), "{left}");

    for run in [other, run, whole] {
        let shown = house.ledger.run_show(run).await.unwrap().unwrap();
        assert_eq!(
            (shown.run.state, shown.run.erased_ms, shown.run.finished_ms),
            (run::State::Completed, Some(NOW_MS + 91 * DAY_MS), Some(NOW_MS))
        );
        assert_eq!(shown.event.erased_ms, Some(NOW_MS + 91 * DAY_MS));
        assert_eq!(shown.steps.len(), 2);
        assert_eq!(shown.steps[0].0.state, completed());
        assert!(shown.steps[0].1.is_empty(), "attempts");
    }
    // The same again, by its key and by its signed bytes.
    let by_key = house.ledger.accept(about(&house, &format!("{WORD}-2"), WORD)).await;
    let (run_of_key, state) = (whole, run::State::Completed);
    assert_eq!(by_key.unwrap(), Accepted::Duplicate { run: run_of_key, state });
    let same_bytes = NewEvent {
        key_hash: [7; 32],
        ..event()
    };
    let by_bytes = house.ledger.accept(same_bytes).await;
    assert!(
        matches!(by_bytes, Ok(Accepted::Duplicate { run: known, .. }) if known == run),
        "{by_bytes:?}"
    );
    let result = house.ledger.run_result(whole).await.unwrap().unwrap();
    assert_eq!((result.finished, result.erased_ms), (true, Some(NOW_MS + 91 * DAY_MS)));
    assert_eq!(result.outputs, serde_json::json!({}));
    // And another content under the key is still another content.
    conflict(&house, &format!("{WORD}-2"), WORD, 9).await;
}

async fn what_is_not_over_is_passed_by_and_found_again_when_it_is(house: House) {
    let (pending, pending_steps) = accepted(&house, about(&house, "pending", WORD)).await;
    let (in_doubt, doubt_steps) = accepted(&house, about(&house, "doubt", WORD)).await;
    house
        .ledger
        .intend(house.intent(in_doubt, doubt_steps[0], 0, 1))
        .await
        .unwrap();
    let (reviewed, steps) = accepted(&house, about(&house, "review", WORD)).await;
    let mut finish = house.finish(reviewed, StepWrite::new(steps[0], 0, in_review()), None);
    finish.run_state = Some(run::State::NeedsReview);
    house.ledger.finish(finish).await.unwrap();
    // Over, but somebody must say what the second delivery was.
    let contested = over(&house, "contested", WORD).await;
    let (_, item) = conflict(&house, "contested", WORD, 2).await;
    let done = over(&house, "done", WORD).await;

    assert_eq!(erase(&house, old(100)).await, 1);
    assert!(erased_ms(&house, done).await.is_some());
    for run in [pending, in_doubt, reviewed, contested] {
        let shown = house.ledger.run_show(run).await.unwrap().unwrap();
        assert_eq!(shown.run.erased_ms, None);
        assert_eq!(shown.event.body.bytes, WORD.as_bytes());
        assert_eq!(shown.run.context[0].value, WORD);
    }
    let intent = house.ledger.last_intent(doubt_steps[0]).await.unwrap().unwrap();
    assert_eq!(intent.request, request(), "a resend must be able to equal it");
    assert_eq!(house.step(pending, 0).await.version, 0);

    // They end; each is kept for 90 days from then.
    let at_ms = NOW_MS + 100 * DAY_MS;
    let mut finish = house.finish(pending, StepWrite::new(pending_steps[0], 0, completed()), None);
    finish.others.push(StepWrite::new(pending_steps[1], 0, completed()));
    (finish.run_state, finish.at_ms) = (Some(run::State::Completed), at_ms);
    house.ledger.finish(finish).await.unwrap();
    house.ledger.decide_conflict(decided(item, at_ms, None)).await.unwrap();
    assert_eq!(erase(&house, old(189)).await, 0);
    assert_eq!(erase(&house, old(192)).await, 2);
    for (run, is_erased) in [(pending, true), (contested, true), (in_doubt, false), (reviewed, false)] {
        assert_eq!(erased_ms(&house, run).await.is_some(), is_erased);
    }
}

async fn what_ended_late_is_kept_from_its_end(house: House) {
    let run = over_at(&house, "late", WORD, NOW_MS + 50 * DAY_MS).await;
    assert_eq!(erase(&house, old(91)).await, 0);
    assert_eq!(erase(&house, old(140)).await, 0);
    assert_eq!(erased_ms(&house, run).await, None);
    assert_eq!(erase(&house, old(141)).await, 1);
}

async fn history_is_gone_through_once_in_batches(house: House) {
    let mut runs = Vec::new();
    for number in 0..70 {
        let (run, steps) = house.run(&format!("A-{number}")).await;
        let mut finish = house.finish(run, StepWrite::new(steps[0], 0, completed()), None);
        finish.others.push(StepWrite::new(steps[1], 0, completed()));
        finish.run_state = Some(run::State::Completed);
        house.ledger.finish(finish).await.unwrap();
        runs.push(run);
    }
    let (waiting, _) = house.run("waits").await;
    let mut batches = Vec::new();
    loop {
        let batch = house.ledger.erase_old(old(91)).await.unwrap();
        if batch.looked_at == 0 {
            break;
        }
        batches.push(batch.looked_at);
    }
    assert_eq!(batches, [32, 32, 7], "each run once, few at a time");
    for run in &runs {
        assert!(erased_ms(&house, *run).await.is_some());
    }
    assert_eq!(erased_ms(&house, waiting).await, None);
    // Nothing is due: nothing is written, and a restart begins where it was.
    let house = house.reopen().await;
    let before = house.ledger.writer_counts().commits;
    assert_eq!(house.ledger.erase_old(old(91)).await.unwrap(), ErasedBatch::default());
    assert_eq!(house.ledger.writer_counts().commits, before);
    // The one that waits is looked at again, and it alone.
    assert_eq!(house.ledger.erase_old(old(92)).await.unwrap().looked_at, 1);
}

async fn a_natural_key_is_still_known_as_later(house: House) {
    let (run, steps) = accepted(&house, about(&house, "A", WORD)).await;
    let intent = NewIntent {
        natural_key: Some([6; 32]),
        ..house.intent(run, steps[0], 0, 1)
    };
    house.ledger.intend(intent).await.unwrap();
    let mut finish = house.finish(run, StepWrite::new(steps[0], 1, completed()), Some(confirmed(1, true)));
    finish.others.push(StepWrite::new(steps[1], 0, completed()));
    finish.run_state = Some(run::State::Completed);
    house.ledger.finish(finish).await.unwrap();
    assert_eq!(erase(&house, old(91)).await, 1);
    let later = house
        .ledger
        .later_intent("crm", "upsert", [6; 32], NOW_MS, new_id(NOW_MS))
        .await;
    assert!(later.unwrap());
    let shown = house.ledger.run_show(run).await.unwrap().unwrap();
    let [attempt] = shown.steps[0].1.as_slice() else {
        panic!("{shown:?}")
    };
    assert!(attempt.request.is_none() && attempt.message.is_none());
}

/// A column that comes later is either erased or stays for ever, and somebody must have said which.
#[tokio::test]
async fn of_every_column_it_is_known_whether_it_stays() {
    const ERASED: [(&str, &str); 5] = [
        ("events", "headers query body files erased_ms"),
        ("runs", "event_key context erased_ms"),
        (
            "steps",
            "version item natural_key input output reference last_error accepted_token",
        ),
        (
            "attempts",
            "request_head request_body report message late_evidence late_ms late_outcome late_output late_reference",
        ),
        ("review_items", "why"),
    ];
    // Words of our own, numbers, ids, and digests that nobody can read back.
    const KEPT: [(&str, &str); 5] = [
        (
            "events",
            "id flow_id run_id kind received_ms source verified_by fingerprint signed_digest content_type content_encoding",
        ),
        (
            "runs",
            "id flow_id flow_revision event_id key_hash fingerprint state created_ms finished_ms parent_id version",
        ),
        (
            "steps",
            "id run_id ordinal flow_revision name role correction parent_id connection action state wait_reason \
             in_doubt_since_ms standing epoch due_ms last_number key_window_end_ms review_item settle_by_ms",
        ),
        // Of attempts with a natural key; the others go whole.
        (
            "attempts",
            "step_id number kind epoch connector_digest connection connection_revision action origin account natural_key \
             intent_ms intent_boot_ms send_by_ms send_by_boot_ms evidence status outcome finding started_ms ended_ms",
        ),
        (
            "review_items",
            "id version run_id step_id event_id reason may_exist opened_ms closed_ms action who stated_absent new_run_id",
        ),
    ];
    let house = house().await;
    let set_by_erasing: String = erase::ERASE.iter().map(|(text, _)| text.as_ref()).collect();
    for ((table, erased), (_, kept)) in ERASED.into_iter().zip(KEPT) {
        let mut snapshot = house.ledger.snapshot().await.unwrap();
        let sql = "SELECT name FROM pragma_table_info(?1)";
        let rows = snapshot.conn().query(sql, vec![Bound::text(table)]).await.unwrap();
        let columns = rows
            .into_iter()
            .map(|row| row.decode("columns", rows::Row::text).unwrap());
        let mut columns: Vec<String> = columns.collect();
        let mut known: Vec<&str> = erased.split(' ').chain(kept.split_whitespace()).collect();
        columns.sort_unstable();
        known.sort_unstable();
        assert_eq!(columns, known, "{table}");
        for column in erased.split(' ') {
            assert!(set_by_erasing.contains(&format!("{column} =")), "{table}.{column}");
        }
    }
}
