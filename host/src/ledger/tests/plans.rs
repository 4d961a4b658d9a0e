//! History costs nothing: every statement of the hot path finds its rows by an index.

use super::*;
use crate::ledger::batch::Template;
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
    let mut templates: Vec<(&Template, usize, &[&str])> = vec![
        (&a::FIND_SIGNED, 3, &["USING INDEX events_signed"]),
        (&a::FIND_KEY, 3, &["SEARCH runs"]),
        (&a::COUNT_DUPLICATES, 2, &["SEARCH runs"]),
        (&i::INTEND_STEP, 12, &["SEARCH steps"]),
        (&f::UPDATE_STEP, 14, &["SEARCH steps"]),
        (&f::END_INTENT, 10, &["SEARCH attempts"]),
        (&f::UPDATE_RUN, 3, &["SEARCH runs"]),
    ];
    templates.extend([
        (&a::INSERT_RUN, 12, [].as_slice()),
        (&a::INSERT_EVENT, 14, [].as_slice()),
        (&a::INSERT_STEP, 19, [].as_slice()),
        (&i::INSERT_INTENT, 18, [].as_slice()),
        (&f::INSERT_ATTEMPT, 17, [].as_slice()),
    ]);
    for (template, width, expected) in templates {
        for size in [1, 64] {
            check(&house, &template.build(size, width), expected).await;
        }
    }
}

#[tokio::test]
async fn every_frequent_read_uses_an_index() {
    let house = house().await;
    for (sql, expected) in [
        (due::DUE, ["USING INDEX steps_due"].as_slice()),
        (due::NEXT_DUE, &["INDEX steps_due"]),
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
