//! Moving a stopped installation: all of it arrives, a used key stays used, and at no time do two take hosts.

use super::*;
use crate::ledger::database::Value as Bound;
use oncegate_test_database::new_database;

fn asked() -> Asked {
    Asked {
        who: "ada".into(),
        why: "grown".into(),
        at_ms: NOW_MS + 5,
    }
}

fn place_of(house: &House) -> LedgerPlace {
    match &house.opening.database {
        Database::Embedded => LedgerPlace::Embedded(house.dir.path().to_owned()),
        Database::Postgres(url) => LedgerPlace::Postgres(url.clone()),
    }
}

async fn moved(from: &LedgerPlace, to: &LedgerPlace) -> Result<Vec<MovedTable>> {
    move_ledger(from, to, &asked(), |_| {}).await
}

/// A ledger with a bit of everything, at rest.
async fn filled(house: &House) -> (Id, Id) {
    let (done, steps) = house.run("done").await;
    let intent = NewIntent {
        natural_key: Some([4; 32]),
        ..house.intent(done, steps[0], 0, 1)
    };
    house.ledger.intend(intent).await.unwrap();
    let write = StepWrite {
        output: Some(serde_json::json!({ "id": 7, "name": "Ünal \u{fffd}" }).into()),
        ..StepWrite::new(steps[0], 1, completed())
    };
    let mut finish = house.finish(done, write, Some(confirmed(1, true)));
    finish.others.push(StepWrite::new(steps[1], 0, completed()));
    finish.run_state = Some(run::State::Completed);
    house.ledger.finish(finish).await.unwrap();
    let (doubt, steps) = house.run("doubt").await;
    house.ledger.intend(house.intent(doubt, steps[0], 0, 1)).await.unwrap();
    let other = NewEvent {
        fingerprint: [9; 32],
        body: raw(&[0, 255, 7, 0]),
        ..house.event("done")
    };
    house.ledger.accept(other).await.unwrap();
    let connector = NewConnector {
        digest: "sha256:00".into(),
        name: "http".into(),
        version: "1".into(),
        bytes: vec![0; 9 << 20],
        manifest: "{}".into(),
        at_ms: NOW_MS,
        who: "admin".into(),
    };
    house.ledger.save_connector(connector).await.unwrap();
    let keys = (0..2_500).map(|number| house.event(&format!("A-{number}")));
    let keys: Vec<_> = keys.map(|event| house.ledger.accept(event)).collect();
    futures::future::join_all(keys)
        .await
        .into_iter()
        .for_each(|done| drop(done.unwrap()));
    (done, doubt)
}

async fn shown(ledger: &Ledger, run: Id) -> String {
    format!("{:?}", ledger.run_show(run).await.unwrap().unwrap())
}

/// From `house` to `target`, and on with a host there.
async fn moves_and_goes_on(house: House, target: Database) {
    let dir = tempfile::tempdir().unwrap();
    let (done, doubt) = filled(&house).await;
    let before = (shown(&house.ledger, done).await, shown(&house.ledger, doubt).await);
    let counts = house.ledger.counts().await.unwrap();
    let (secret, epoch) = (house.ledger.installation().secret.clone(), house.ledger.epoch());
    let from = place_of(&house);
    let to = match &target {
        Database::Embedded => LedgerPlace::Embedded(dir.path().to_owned()),
        Database::Postgres(url) => LedgerPlace::Postgres(url.clone()),
    };
    // Not while a host is at work.
    let refused = moved(&from, &to).await.unwrap_err().to_string();
    assert!(refused.contains("stop"), "{refused}");
    house.ledger.close().await;

    let tables = moved(&from, &to).await.unwrap();
    let rows = |name: &str| tables.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!(
        (
            rows("runs"),
            rows("events"),
            rows("steps"),
            rows("attempts"),
            rows("connectors")
        ),
        (2_502, 2_503, 5_004, 2, 1)
    );
    assert!(
        tables
            .iter()
            .all(|table| table.texts_changed == 0 && table.checksum.len() == 64)
    );

    // The source says where it went, to hosts and to whoever would move it again.
    let clock = || Arc::new(ManualClock::new(NOW_MS));
    let refused = Ledger::open_with(house.dir.path(), clock(), &house.opening).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("it was moved to") && refused.contains("oncegate ledger reopen"),
        "{refused}"
    );
    let again = moved(&from, &LedgerPlace::Embedded(dir.path().join("other"))).await;
    assert!(again.unwrap_err().to_string().contains("it was moved to"));
    // A full target is nobody's target.
    let refused = moved(&to, &to).await.unwrap_err().to_string();
    assert!(refused.contains("the same"), "{refused}");

    let opening = Opening {
        database: target,
        ..Opening::default()
    };
    let ledger = Ledger::open_with(dir.path(), clock(), &opening).await.unwrap();
    assert_eq!(ledger.installation().secret.0, secret.0);
    assert!(ledger.epoch() > epoch);
    assert_eq!((shown(&ledger, done).await, shown(&ledger, doubt).await), before);
    let there = ledger.counts().await.unwrap();
    assert_eq!(
        (there.events, there.runs, there.review),
        (counts.events, counts.runs, counts.review)
    );
    let line = &ledger.audit_list(Page::default()).await.unwrap().items[0].entry;
    assert_eq!(
        (line.what.as_str(), line.who.as_str(), line.why.as_str()),
        ("ledger.moved", "ada", "grown")
    );
    // A duplicate of what was taken in before the move is one after it, and the work goes on.
    let moved_house = House { ledger, ..house };
    let again = moved_house.ledger.accept(moved_house.event("done")).await.unwrap();
    assert!(
        matches!(again, Accepted::Duplicate { run, .. } if run == done),
        "{again:?}"
    );
    let under_way = moved_house.ledger.under_way(None, 10).await.unwrap();
    assert_eq!(under_way.iter().map(|way| way.step.run).collect::<Vec<_>>(), [doubt]);
    moved_house.run("new").await;
    moved_house.ledger.close().await;
}

#[tokio::test]
async fn from_sqlite_to_postgres() {
    moves_and_goes_on(house().await, Database::Postgres(new_database().await)).await;
}

#[tokio::test]
async fn from_postgres_to_sqlite() {
    moves_and_goes_on(house_on_postgres().await, Database::Embedded).await;
}

#[tokio::test]
async fn a_moved_ledger_can_be_opened_again() {
    let house = house().await;
    house.ledger.close().await;
    let (from, dir) = (place_of(&house), tempfile::tempdir().unwrap());
    let refused = reopen(&from, &asked()).await.unwrap_err().to_string();
    assert!(refused.contains("it was not moved away"), "{refused}");
    moved(&from, &LedgerPlace::Embedded(dir.path().to_owned()))
        .await
        .unwrap();
    reopen(&from, &asked()).await.unwrap();
    let house = house.reopen().await;
    let lines = house.ledger.audit_list(Page::default()).await.unwrap().items;
    let has = |what: &str| lines.iter().any(|line| line.entry.what == what);
    assert!(has("ledger.move") && has("ledger.reopen"), "{lines:?}");
}

#[tokio::test]
async fn a_target_that_holds_something_is_refused_and_left_alone() {
    let (house, other) = (house().await, house_on_postgres().await);
    house.ledger.close().await;
    other.run("A").await;
    other.ledger.close().await;
    let refused = moved(&place_of(&house), &place_of(&other))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("it is not empty"), "{refused}");
    let other = other.reopen().await;
    assert_eq!(other.ledger.counts().await.unwrap().events, 1);
    house.reopen().await.run("A").await;
}

/// What was sent before is refused by the constraint that holds for every row: the move ends in the middle.
#[tokio::test]
async fn a_move_that_fails_leaves_a_target_for_nobody_and_the_source_as_it_was() {
    let house = house().await;
    house.run("A").await;
    house
        .ledger
        .rare(|mut conn| {
            Box::pin(async move {
                // A number where PostgreSQL wants text.
                let sql = "UPDATE runs SET context = CAST(x'ff' AS BLOB)";
                conn.query(sql, Vec::new()).await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    house.ledger.close().await;
    let (from, url) = (place_of(&house), new_database().await);
    let to = LedgerPlace::Postgres(url.clone());
    let failed = moved(&from, &to).await.unwrap_err().to_string();
    assert!(
        failed.contains("runs.context holds bytes") && failed.contains("empty it and begin again"),
        "{failed}"
    );

    let opening = Opening {
        database: Database::Postgres(url),
        ..Opening::default()
    };
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NOW_MS)));
    let refused = Ledger::open_with(dir.path(), clock, &opening)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("was not finished"), "{refused}");
    let refused = moved(&from, &to).await.unwrap_err().to_string();
    assert!(refused.contains("was not finished"), "{refused}");
    let house = house.reopen().await;
    assert_eq!(house.ledger.counts().await.unwrap().events, 1);
}

#[tokio::test]
async fn a_character_that_postgres_cannot_hold_is_counted() {
    let house = house().await;
    let (run, steps) = house.run("A").await;
    let write = StepWrite {
        last_error: Some("it said \0 and went".into()),
        ..StepWrite::new(steps[0], 0, ready())
    };
    house.ledger.finish(house.finish(run, write, None)).await.unwrap();
    house.ledger.close().await;
    let to = LedgerPlace::Postgres(new_database().await);
    let tables = moved(&place_of(&house), &to).await.unwrap();
    let changed: Vec<_> = tables.iter().filter(|table| table.texts_changed > 0).collect();
    assert_eq!(
        (changed.len(), changed[0].name.as_str(), changed[0].texts_changed),
        (1, "steps", 1)
    );
}

#[tokio::test]
async fn a_ledger_that_is_not_there_or_of_another_version_is_not_moved() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (
        LedgerPlace::Embedded(dir.path().to_owned()),
        LedgerPlace::Embedded(other.path().to_owned()),
    );
    let refused = moved(&from, &to).await.unwrap_err().to_string();
    assert!(refused.contains("there is no ledger.db in it"), "{refused}");
    assert!(!dir.path().join("ledger.db").exists());
    let house = house().await;
    house
        .ledger
        .rare(|mut conn| {
            Box::pin(async move {
                let sql = "DELETE FROM migrations WHERE version > ?1";
                conn.query(sql, vec![Bound::int(1)]).await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    house.ledger.close().await;
    let refused = moved(&place_of(&house), &to).await.unwrap_err().to_string();
    assert!(
        refused.contains("it has the schema 1") && refused.contains("start a host of this version"),
        "{refused}"
    );
}
