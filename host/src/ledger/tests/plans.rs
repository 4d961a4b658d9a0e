//! History costs nothing: every statement of the hot path finds its rows by an index.

use super::*;
use crate::ledger::database::Sql;
use crate::ledger::{
    accept as a, due, erase, finish as f, forget, intend as i, read_audit, read_catalog, read_review, read_runs,
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
