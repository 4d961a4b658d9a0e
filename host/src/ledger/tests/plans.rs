//! History costs nothing: every statement of the hot path finds its rows by an index.

use super::*;
use crate::ledger::sqlite::Sql;
use crate::ledger::{accept as a, due, finish as f, intend as i, read_audit, read_catalog, read_review, read_runs};

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
        (a::COUNT_DUPLICATE.sql(), &["SEARCH runs"]),
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
        (due::UNDER_WAY, &["USING INDEX steps_due"]),
        (due::LAST_INTENT, &["SEARCH attempts"]),
        (i::LATER_INTENT, &["INDEX attempts_natural"]),
        (read_runs::SUMMARY, &["SEARCH runs"]),
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

#[tokio::test]
async fn listings_of_what_is_not_completed_read_nothing_else() {
    let house = house().await;
    let filter = RunFilter {
        state: Some(run::State::NeedsReview),
        ..RunFilter::default()
    };
    let (sql, _) = read_runs::list_query(&filter, Page::default());
    check(&house, &sql, &["INDEX runs_not_completed"]).await;
}

/// Once, at start: all unfinished steps, and none that is finished.
#[tokio::test]
async fn what_steps_wait_for_is_read_from_the_index_of_unfinished_ones() {
    let house = house().await;
    let plan = plan(&house, due::WAITS).await;
    assert!(plan.contains("SCAN steps USING INDEX steps_due"), "{plan}");
}
