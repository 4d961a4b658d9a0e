//! What is SQLite's own: the file, the lock, the full disk, and rows that were changed behind our back.

use super::*;
use sqlx::{ConnectOptions, Connection};

/// Changes the file directly, as a fault would.
async fn meddle(house: &House, sql: &'static str) {
    let file = house.dir.path().join("ledger.db");
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(file)
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn one_directory_has_one_host() {
    let house = house().await;
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let error = Ledger::open(house.dir.path(), clock.clone())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("process {} holds it", std::process::id())),
        "{error}"
    );
    house.ledger.close().await;
    assert!(matches!(
        house.ledger.accept(house.event("A-1")).await.unwrap_err(),
        LedgerError::Closed
    ));
    let again = Ledger::open(house.dir.path(), clock).await.unwrap();
    assert_eq!(again.epoch(), house.ledger.epoch() + 1);
}

#[tokio::test]
async fn what_was_sent_before_closing_is_carried_out() {
    let house = house().await;
    let events: Vec<_> = (0..50).map(|number| house.event(&format!("A-{number}"))).collect();
    let accepts = futures::future::join_all(events.into_iter().map(|event| house.ledger.accept(event)));
    let (accepted, ()) = tokio::join!(accepts, house.ledger.close());
    assert!(accepted.iter().all(Result::is_ok));
    let house = house.reopen().await;
    assert_eq!(house.ledger.counts().await.unwrap().events, 50);
}

#[tokio::test]
async fn below_the_watermark_events_are_refused_and_a_full_disk_costs_the_reserve() {
    let house = house().await;
    let reserve = house.dir.path().join("reserve");
    assert!(reserve.exists());
    house.ledger.close().await;
    let scarce = Opening {
        room: Room {
            free_bytes_min: 1 << 60,
            ..Room::default()
        },
        ..Opening::default()
    };
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let ledger = Ledger::open_with(house.dir.path(), clock, &scarce).await.unwrap();
    let error = ledger.accept(house.event("A-1")).await.unwrap_err();
    assert!(matches!(error, LedgerError::NoRoom { .. }), "{error}");
    assert_eq!(ledger.counts().await.unwrap().events, 0);
    // All else is stored, and when even that fails the reserve goes.
    ledger.limit_pages(Some(1)).await.unwrap();
    assert!(reserve.exists());
    let large = |number: u8| NewToken {
        name: "x".repeat(100_000),
        hash: [number; 32],
        role: "admin".to_owned(),
        expires_ms: None,
        at_ms: NOW_MS,
    };
    let error = ledger.save_token(large(1)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Unwritable(_)), "{error}");
    assert!(!reserve.exists());
    ledger.limit_pages(None).await.unwrap();
    ledger.save_token(large(2)).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_refuses_and_forgets_nothing() {
    let house = house().await;
    house.run("before").await;
    house.ledger.limit_pages(Some(1)).await.unwrap();
    let mut refused = 0;
    let big = |number: i32| NewEvent {
        body: raw(&[b'x'; 20_000]),
        ..house.event(&format!("A-{number}"))
    };
    for number in 0..5 {
        match house.ledger.accept(big(number)).await {
            Ok(_) => {}
            Err(error) => {
                assert!(matches!(error, LedgerError::Unwritable(_)), "{error}");
                assert!(error.is_unavailable());
                refused += 1;
            }
        }
    }
    assert!(refused >= 3, "{refused} refused");
    house.ledger.limit_pages(None).await.unwrap();
    // Once it can store again, every one of them is taken, once.
    for number in 0..5 {
        house.ledger.accept(big(number)).await.unwrap();
    }
    let counts = house.ledger.counts().await.unwrap();
    assert_eq!(counts.runs.iter().map(|(_, runs)| runs).sum::<u64>(), 6);
    assert_eq!(counts.events, 6 + (5 - refused));
}

#[tokio::test]
async fn a_small_command_finds_room_where_a_big_one_of_its_group_does_not() {
    let house = house().await;
    let (run, steps) = house.run("A-1").await;
    house.ledger.limit_pages(Some(1)).await.unwrap();
    let big = NewEvent {
        body: raw(&[b'x'; 50_000]),
        ..house.event("A-2")
    };
    let small = house.finish(run, StepWrite::new(steps[0], 0, completed()), None);
    let (big, small) = tokio::join!(house.ledger.accept(big), house.ledger.finish(small));
    assert!(matches!(big.unwrap_err(), LedgerError::Unwritable(_)));
    small.unwrap();
    assert_eq!(house.step(run, 0).await.state.state, State::Completed);
}

#[tokio::test]
async fn a_corrupt_row_is_named_and_not_guessed_at() {
    let house = house().await;
    let (run, steps) = house.run("A-1").await;
    meddle(&house, "UPDATE steps SET standing = '{}' WHERE name = 'crm'").await;
    let error = house.ledger.run_load(run).await.unwrap_err();
    assert!(
        matches!(&error, LedgerError::Corrupt { table: "steps", id, .. } if *id == steps[0].to_string()),
        "{error}"
    );
    let (run, _) = house.run("A-2").await;
    meddle(&house, "UPDATE steps SET state = 'completed'").await;
    let error = house.ledger.run_load(run).await.unwrap_err().to_string();
    assert!(error.contains("do not fit"), "{error}");
}

#[tokio::test]
async fn a_ledger_of_a_newer_version_is_refused() {
    let house = house().await;
    house.ledger.close().await;
    meddle(&house, "INSERT INTO migrations VALUES (99, 0)").await;
    let error = Ledger::open(house.dir.path(), Arc::new(ManualClock::new(NOW_MS)))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("newer version") && error.contains("schema 99"),
        "{error}"
    );
}

#[tokio::test]
async fn the_file_is_durable_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let house = house().await;
    let mode = std::fs::metadata(house.dir.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    for (pragma, expected) in [
        ("PRAGMA journal_mode", "wal"),
        ("PRAGMA synchronous", "2"),
        ("PRAGMA foreign_keys", "1"),
    ] {
        let found = house.ledger.rare(move |mut conn| {
            Box::pin(async move {
                let row = conn.query(pragma, Vec::new()).await?.pop().unwrap();
                Ok(format!("{row:?}"))
            })
        });
        let found = found.await.unwrap();
        assert!(found.contains(expected), "{pragma}: {found}");
    }
}

#[tokio::test]
async fn readers_cannot_write() {
    let house = house().await;
    let mut snapshot = house.ledger.snapshot().await.unwrap();
    assert!(
        snapshot
            .conn()
            .query("UPDATE flows SET active = 0", Vec::new())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_process_and_nobody_is_told_ok() {
    let house = house().await;
    let (run, _) = house.run("before").await;
    // The writer is kept busy until both wait for it: else the event might be committed before the disk fails.
    let busy = house.ledger.rare(|_| {
        Box::pin(async {
            std::thread::sleep(std::time::Duration::from_millis(200));
            Ok(())
        })
    });
    let failing = house
        .ledger
        .rare(|_| Box::pin(async { Err::<(), _>(LedgerError::Fatal("input/output error".into())) }));
    let (_, beside, failed) = tokio::join!(busy, house.ledger.accept(house.event("A-1")), failing);
    assert!(matches!(failed.unwrap_err(), LedgerError::Fatal(_)));
    assert!(matches!(beside.unwrap_err(), LedgerError::Fatal(_)));
    assert_eq!(house.ledger.failed().await, "input/output error");
    assert!(matches!(
        house.ledger.accept(house.event("A-2")).await.unwrap_err(),
        LedgerError::Fatal(_)
    ));
    // The next process reads what is there: neither of the two.
    let house = house.reopen().await;
    assert_eq!(house.ledger.counts().await.unwrap().events, 1);
    assert!(house.ledger.run_load(run).await.unwrap().is_some());
}
