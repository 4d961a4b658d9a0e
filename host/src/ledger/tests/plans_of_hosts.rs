//! History costs nothing, and neither do other hosts: PostgreSQL's own statements find their rows by an index.

use super::*;
use crate::ledger::database::Sql;
use crate::ledger::postgres::hosts as h;

/// The plan of a statement with these values, one line per node.
async fn plan(house: &House, sql: &str, values: &[&str]) -> String {
    let mut text = sql.to_owned();
    for (place, value) in values.iter().enumerate() {
        text = text.replace(&format!("?{}", place + 1), value);
    }
    let mut snapshot = house.ledger.snapshot().await.unwrap();
    // Of a table with few rows everything is read at once, whatever indexes it has.
    for way in ["enable_seqscan", "enable_bitmapscan"] {
        let off = Sql::Built(format!("SET LOCAL {way} = off").into());
        snapshot.conn().query(off, Vec::new()).await.unwrap();
    }
    let explained = Sql::Built(format!("EXPLAIN {text}").into());
    let rows = snapshot.conn().query(explained, Vec::new()).await.unwrap();
    let lines = rows.into_iter().map(|row| row.decode("plan", rows::Row::text).unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_backlog_of_a_host_is_found_by_its_owner() {
    let house = house_on_postgres().await;
    house.run("A-1").await;
    for (sql, values) in [
        (h::DUE, ["1", "'crm'", "5", "0", "'\\x00'::bytea", "10"].as_slice()),
        (h::WAITING, &["1", "'crm'", "0", "'\\x00'::bytea", "10"]),
        (h::BACKLOGS, &["1"]),
        (h::LEFT_BEHIND, &["1"]),
    ] {
        let plan = plan(&house, sql, values).await;
        assert!(plan.contains("using steps_due_of_owner on steps"), "{plan}");
        let others = plan.lines().filter(|line| line.contains("on steps"));
        let others: Vec<&str> = others.filter(|line| !line.contains("steps_due_of_owner")).collect();
        assert_eq!(others, [""; 0], "{plan}");
    }
}
