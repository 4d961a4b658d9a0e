//! History costs nothing: every statement of the hot path finds its rows by an index.

use super::*;
use crate::ledger::database::{Conn, Sql, WriterConnection};
use crate::ledger::{
    accept as a, due, erase, finish as f, forget, intend as i, late as ledger_late, read_audit, read_catalog,
    read_review, read_runs,
};
use crate::ledger::{read_counts, read_list, read_page, sqlite};

/// The plan of a statement, one line per node.
async fn plan(house: &House, sql: &str) -> String {
    let sql = Sql::Built(format!("EXPLAIN QUERY PLAN {sql}").into());
    let mut snapshot = house.ledger.snapshot().await.unwrap();
    let rows = snapshot.conn().query(sql, Vec::new()).await.unwrap();
    let line = |row: rows::Row| {
        row.decode("plan", |row| {
            for _ in 0..3 {
                row.skip()?;
            }
            row.text()
        })
    };
    rows.into_iter()
        .map(|row| line(row).unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

async fn check(house: &House, sql: &str, expected: &[&str]) {
    let plan = plan(house, sql).await;
    for table in [
        "events",
        "runs",
        "steps",
        "attempts",
        "review_items",
        "flows",
        "audit",
        "latest",
        "tokens",
        "newest",
        "again",
    ] {
        assert!(!plan.contains(&format!("SCAN {table}")), "{sql}\n{plan}");
    }
    assert!(!plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    for part in expected {
        assert!(plan.contains(part), "{part} is not in\n{plan}\nof {sql}");
    }
}

#[tokio::test]
async fn every_statement_of_the_hot_path_uses_an_index() {
    let house = house().await;
    for (sql, expected) in [
        (a::FIND_SIGNED.sql(), ["USING INDEX events_signed"].as_slice()),
        (a::FIND_KEY.sql(), &["SEARCH runs"]),
        (a::INSERT_RUN.sql(), &[]),
        (a::INSERT_EVENT.sql(), &[]),
        (a::INSERT_STEP.sql(), &[]),
        (i::INTEND_STEP.sql(), &["SEARCH steps"]),
        (i::INSERT_INTENT.sql(), &[]),
        (f::UPDATE_STEP.sql(), &["SEARCH steps"]),
        (f::OPEN_ITEM.sql(), &["INDEX review_step"]),
        (f::END_INTENT.sql(), &["SEARCH attempts"]),
        (f::INSERT_ATTEMPT.sql(), &[]),
        (f::UPDATE_RUN.sql(), &["SEARCH runs"]),
    ] {
        check(&house, sql, expected).await;
    }
}

/// Of each event they get a row or more; the other tables have as many as there are hosts, flows or connections.
const GROWING: [&str; 6] = ["events", "runs", "steps", "attempts", "review_items", "audit"];

/// Whatever the writer runs while events come, are worked on and decided about, and not only what is named above.
#[tokio::test]
async fn no_statement_of_the_writer_reads_what_grows() {
    let house = house().await;
    play(&house).await;
    let texts = house.ledger.rare_with((), |conn, _| {
        Box::pin(async move {
            match conn {
                Conn::Writer(WriterConnection::Sqlite(writer)) => Ok(writer.texts.clone()),
                Conn::Writer(WriterConnection::Postgres(_)) | Conn::Reader(_) => Ok(Default::default()),
            }
        })
    });
    let mut looked_at = 0;
    for sql in texts.await.unwrap() {
        let verb = sql.split_whitespace().next().unwrap_or_default();
        let has_plan = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&verb);
        if has_plan && GROWING.iter().any(|table| sql.contains(table)) {
            check(&house, &sql, &[]).await;
            looked_at += 1;
        }
    }
    assert!(looked_at >= 25, "only {looked_at}");
}

/// Everything that may happen to an event.
async fn play(house: &House) {
    let (run, steps) = house.run("A-1").await;
    let signed = |key: &str| NewEvent {
        signed_digest: Some([9; 32]),
        ..house.event(key)
    };
    let other = NewEvent {
        fingerprint: [2; 32],
        ..house.event("A-1")
    };
    for event in [house.event("A-1"), other, signed("A-2"), signed("A-3")] {
        house.ledger.accept(event).await.unwrap();
    }
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    let done = Finish {
        others: vec![StepWrite::new(steps[1], 0, ready())],
        run_state: Some(run::State::Pending),
        ..house.finish(run, StepWrite::new(steps[0], 1, completed()), Some(confirmed(1, true)))
    };
    house.ledger.finish(done).await.unwrap();
    let natural = NewIntent {
        natural_key: Some([7; 32]),
        overtaken_after_ms: Some(NOW_MS),
        ..house.intent(run, steps[1], 1, 1)
    };
    house.ledger.intend(natural).await.unwrap();

    let (run, steps, item) = people::reviewed(house, "B-1").await;
    let attempt = AttemptId {
        step: steps[0],
        number: 1,
    };
    house
        .ledger
        .late_evidence(late::late(house, run, attempt))
        .await
        .unwrap();
    let seen = ReviewItem {
        version: item.version + 1,
        ..item
    };
    let retry = people::decision(&seen, StepWrite::new(steps[0], 1, ready()), PersonAction::Retry);
    house.ledger.decide(retry).await.unwrap();
    let failing = StepWrite {
        last_error: Some("503".into()),
        ..StepWrite::new(steps[0], 2, in_review())
    };
    house.ledger.finish(house.finish(run, failing, None)).await.unwrap();
    let again = StepWrite::new(steps[0], 3, in_review());
    house.ledger.finish(house.finish(run, again, None)).await.unwrap();
    let settled = StepWrite::new(steps[0], 4, completed());
    house.ledger.finish(house.finish(run, settled, None)).await.unwrap();
    house.ledger.take_over(vec![run]).await.unwrap();
}

#[tokio::test]
async fn every_frequent_read_uses_an_index() {
    let house = house().await;
    for (sql, expected) in [
        (
            due::DUE,
            ["USING INDEX steps_due (connection=? AND (due_ms,id)>(?,?) AND due_ms<?)"].as_slice(),
        ),
        (
            due::WAITING,
            &["USING INDEX steps_due (connection=? AND (due_ms,id)>(?,?))"],
        ),
        (due::BACKLOGS, &["INDEX steps_due"]),
        (due::UNDER_WAY, &["USING INDEX steps_under_way"]),
        (due::WAITS, &["INDEX steps_waiting"]),
        (due::LAST_INTENT, &["SEARCH attempts"]),
        (ledger_late::FOUND, &["SEARCH attempts"]),
        (i::LATER_INTENT, &["INDEX attempts_natural"]),
        (&read_page::RUNS, &["SEARCH runs", "SEARCH events"]),
        (&read_page::STEPS, &["SEARCH steps"]),
        (read_runs::SUMMARY, &["SEARCH runs", "USING INDEX events_again"]),
        (read_runs::EVENT, &["SEARCH events"]),
        (read_runs::STEPS, &["SEARCH steps"]),
        (read_runs::ATTEMPTS, &["SEARCH attempts"]),
        (read_runs::AGAIN, &["USING INDEX events_again"]),
        (read_runs::RESULT, &["SEARCH steps"]),
        (read_review::ONE, &["SEARCH review_items"]),
        (read_review::OPEN, &["review_open"]),
        (read_review::ALL, &["SEARCH review_items"]),
        (read_review::OF_RUN, &["USING INDEX review_run"]),
        (read_review::OF_STEP, &["USING INDEX review_step"]),
        (read_audit::ALL, &["SEARCH audit"]),
        (read_audit::OF_SUBJECT, &["USING INDEX audit_subject"]),
        (read_catalog::TOKEN, &["SEARCH tokens"]),
    ] {
        check(&house, sql, expected).await;
    }
}

/// In their own order, so that a page ends where it is full and a search where it has to.
#[tokio::test]
async fn listings_read_runs_in_order_and_no_further_than_they_must() {
    let house = house().await;
    let by_id = "runs USING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)";
    let bound = "runs USING COVERING INDEX sqlite_autoindex_runs_1 (id<?)";
    for (sql, expected) in [
        (read_list::ANY, [by_id].as_slice()),
        (
            read_list::NOT_COMPLETED,
            &["runs USING INDEX runs_not_completed (state=? AND id>? AND id<?)"],
        ),
        (read_list::BOUND, &[bound]),
        (
            read_list::BOUND_NOT_COMPLETED,
            &["runs USING COVERING INDEX runs_not_completed (state=? AND id<?)"],
        ),
    ] {
        check(&house, sql, expected).await;
    }
}

/// Each batch finds its runs by the order of their ids and all that belongs to them by their indexes, in every table that grows.
#[tokio::test]
async fn erasing_reads_no_more_than_its_batch() {
    let house = house().await;
    let by_id = "runs USING COVERING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)";
    check(&house, erase::FRESH, &[by_id]).await;
    check(&house, erase::LATER, &["USING COVERING INDEX erasing_later_due"]).await;
    check(
        &house,
        &erase::STANDING,
        &["SEARCH runs", "SEARCH steps", "USING INDEX review_run"],
    )
    .await;
    for (sql, _) in erase::ERASE.iter() {
        check(&house, sql, &["SEARCH"]).await;
    }
    check(
        &house,
        forget::CONTEXTS,
        &["runs USING INDEX sqlite_autoindex_runs_1 (id>?)"],
    )
    .await;
    check(
        &house,
        forget::CONFLICTS,
        &["review_items USING INDEX review_event", "SEARCH events"],
    )
    .await;
    check(&house, forget::ERASE_EVENT, &["SEARCH events", "INDEX review_event"]).await;
}

/// History by its last row, the rest by indexes that hold nothing of it; effects in some of the newest runs.
#[tokio::test]
async fn counting_reads_no_history() {
    let house = house().await;
    check(&house, sqlite::RUNS_EVER, &["SEARCH runs"]).await;
    check(&house, sqlite::EVENTS_EVER, &["SEARCH events"]).await;
    check(&house, read_counts::CONFLICTS, &["INDEX review_event (event_id>?)"]).await;
    for (sql, index) in [
        (
            read_counts::NOT_COMPLETED,
            "SCAN runs USING COVERING INDEX runs_not_completed",
        ),
        (
            read_counts::OPEN_ITEMS,
            "SCAN review_items USING COVERING INDEX review_open_reason",
        ),
    ] {
        let plan = plan(&house, sql).await;
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
    }
    let plan = plan(&house, read_counts::EFFECTS).await;
    for part in [
        "SEARCH runs USING INDEX",
        "SEARCH newest USING COVERING INDEX",
        "SEARCH steps USING INDEX",
    ] {
        assert!(plan.contains(part), "{part} is not in\n{plan}");
    }
}
