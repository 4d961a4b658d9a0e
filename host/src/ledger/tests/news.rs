//! What hosts tell each other, and what people tell them all.

use super::*;
use oncegate_test_database::new_database;
use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};
use std::str::FromStr;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;

on_both! {
    a_pause_is_kept_until_a_person_ends_it,
}

fn pause(why: &str) -> PersonPause {
    PersonPause {
        connection: "crm".into(),
        who: "anna".into(),
        why: why.into(),
        at_ms: NOW_MS,
    }
}

fn connection() -> NewConnection {
    NewConnection {
        name: "crm".into(),
        source: "account = 'prod'".into(),
        digest: "sha256:aa".into(),
        flows: vec!["lead".into()],
        at_ms: NOW_MS,
        who: "admin".into(),
    }
}

async fn a_pause_is_kept_until_a_person_ends_it(house: House) {
    let refused = house.ledger.pause(pause("")).await.unwrap_err();
    assert!(matches!(refused, LedgerError::NotFound { .. }), "{refused}");
    house.ledger.save_connection(connection()).await.unwrap();
    assert_eq!(house.ledger.pauses().await.unwrap(), []);
    assert!(!house.ledger.resume(pause("")).await.unwrap());

    assert!(house.ledger.pause(pause("they move")).await.unwrap());
    let again = PersonPause {
        who: "bea".into(),
        ..pause("me too")
    };
    assert!(!house.ledger.pause(again).await.unwrap());
    let house = house.reopen().await;
    // A new revision does not end it.
    let other = NewConnection {
        source: "account = 'test'".into(),
        ..connection()
    };
    house.ledger.save_connection(other).await.unwrap();
    let paused = Paused {
        connection: "crm".into(),
        since_ms: NOW_MS,
        who: "anna".into(),
        why: "they move".into(),
    };
    assert_eq!(house.ledger.pauses().await.unwrap(), [paused]);

    let ends = PersonPause {
        at_ms: NOW_MS + 1,
        ..pause("they have moved")
    };
    assert!(house.ledger.resume(ends).await.unwrap());
    assert_eq!(house.ledger.pauses().await.unwrap(), []);
    let trail = house.ledger.audit_list(Page::default()).await.unwrap().items;
    let trail: Vec<_> = trail
        .iter()
        .filter(|line| line.entry.what.ends_with("pause") || line.entry.what.ends_with("resume"))
        .map(|line| (line.entry.what.as_str(), line.entry.why.as_str()))
        .collect();
    let expected = [
        ("connection.resume", "they have moved"),
        ("connection.pause", "they move"),
    ];
    assert_eq!(trail, expected);
}

#[tokio::test]
async fn an_embedded_ledger_has_nobody_to_tell() {
    assert!(house().await.ledger.neighbours().is_none());
}

/// Two ledgers on one database, and what the second one hears.
async fn two() -> (House, House, Receiver<News>) {
    let one = house_on_postgres().await;
    let other = house_on(one.opening.database.clone()).await;
    let mut heard = other.ledger.neighbours().unwrap().listen();
    // What may have been missed before.
    assert_eq!(next(&mut heard).await, News::Catalog);
    assert_eq!(next(&mut heard).await, News::Gates);
    (one, other, heard)
}

async fn next(heard: &mut Receiver<News>) -> News {
    let news = tokio::time::timeout(Duration::from_secs(20), heard.recv());
    news.await.expect("there is news").expect("somebody listens")
}

#[tokio::test]
async fn what_one_host_does_the_others_hear() {
    let (one, _other, mut heard) = two().await;
    one.ledger.save_connection(connection()).await.unwrap();
    assert_eq!(next(&mut heard).await, News::Catalog);
    // The look of each second finds a change as well, and says it once more.
    let mut until = async |wanted: News| while next(&mut heard).await != wanted {};
    one.ledger.pause(pause("")).await.unwrap();
    until(News::Gates).await;
    let run = new_id(NOW_MS);
    let neighbours = one.ledger.neighbours().unwrap();
    neighbours.tell(News::Awaited { run }).await.unwrap();
    until(News::Awaited { run }).await;
    let told = one
        .ledger
        .rare(|mut conn| Box::pin(async move { crate::ledger::news::tell(&mut conn, News::Work { epoch: 7 }).await }));
    told.await.unwrap();
    until(News::Work { epoch: 7 }).await;
}

#[tokio::test]
async fn a_notification_that_was_lost_is_found_by_looking() {
    let (one, _other, mut heard) = two().await;
    let Database::Postgres(address) = &one.opening.database else {
        panic!("on a server")
    };
    let mut meddling = PgConnectOptions::from_str(address).unwrap().connect().await.unwrap();
    let told_nobody = "UPDATE news SET catalog = catalog + 1";
    sqlx::raw_sql(told_nobody).execute(&mut meddling).await.unwrap();
    assert_eq!(next(&mut heard).await, News::Catalog);
    let told_nobody = "INSERT INTO gates VALUES ('crm', 'failing', 1, 1, 2, 'away')";
    sqlx::raw_sql(told_nobody).execute(&mut meddling).await.unwrap();
    assert_eq!(next(&mut heard).await, News::Gates);
    meddling.close().await.unwrap();
}

#[tokio::test]
async fn who_was_cut_off_hears_of_it_once_the_wire_is_mended() {
    let wire = oncegate_test_database::Wire::to(&new_database().await);
    let far = house_on(wire.address().parse().unwrap()).await;
    let mut heard = far.ledger.neighbours().unwrap().listen();
    assert_eq!(next(&mut heard).await, News::Catalog);
    assert_eq!(next(&mut heard).await, News::Gates);
    wire.set(oncegate_test_database::Fault::Cut);
    tokio::time::sleep(Duration::from_millis(200)).await;
    wire.set(oncegate_test_database::Fault::None);
    for n in 0..100 {
        let saved = far.ledger.save_flow(new_flow("lead", &format!("# {n}"))).await;
        match saved {
            Ok(_) => break,
            Err(error) => assert!(error.is_unavailable(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(next(&mut heard).await, News::Catalog);
}

#[tokio::test]
async fn what_is_known_of_a_connection_is_kept_with_its_version() {
    let (one, other, mut heard) = two().await;
    let closure = |until_ms| Closure {
        since_ms: Some(NOW_MS),
        until_ms,
        why: "answered 500".into(),
    };
    let (ours, theirs) = (one.ledger.neighbours().unwrap(), other.ledger.neighbours().unwrap());
    let failing = GateKind::Failing;
    assert_eq!(ours.tell_gate("crm", failing, &closure(5)).await.unwrap(), 1);
    assert_eq!(next(&mut heard).await, News::Gates);
    assert_eq!(theirs.tell_gate("crm", failing, &closure(4)).await.unwrap(), 2);
    let told = GateKind::ToldToWait;
    ours.tell_gate("crm", told, &closure(9)).await.unwrap();
    // Nobody goes sooner because somebody else was told less.
    theirs.tell_gate("crm", told, &closure(8)).await.unwrap();
    let mut gates = ours.gates().await.unwrap();
    gates.sort_by_key(|gate| gate.kind.as_str());
    let known: Vec<_> = gates
        .iter()
        .map(|gate| (gate.kind, gate.version, gate.closure.until_ms))
        .collect();
    assert_eq!(known, [(failing, 2, 4), (told, 2, 9)]);
}

#[tokio::test]
async fn starts_are_given_to_each_host_one_after_the_other() {
    let (one, other, _heard) = two().await;
    let (ours, theirs) = (one.ledger.neighbours().unwrap(), other.ledger.neighbours().unwrap());
    assert_eq!(ours.reserve_starts("crm", 3, 100, 1_000).await.unwrap(), 1_000);
    assert_eq!(theirs.reserve_starts("crm", 2, 100, 1_000).await.unwrap(), 1_300);
    assert_eq!(ours.reserve_starts("crm", 1, 100, 1_000).await.unwrap(), 1_500);
    assert_eq!(ours.reserve_starts("mail", 1, 100, 1_000).await.unwrap(), 1_000);
    // Nothing is saved up, and another rate begins anew.
    assert_eq!(theirs.reserve_starts("crm", 1, 100, 9_000).await.unwrap(), 9_000);
    assert_eq!(theirs.reserve_starts("crm", 1, 10, 9_000).await.unwrap(), 9_000);
}
