//! What is PostgreSQL's own: the wire to the server, and who else works on the database.

use super::*;
use oncegate_test_database::{Fault, Wire, new_database};

async fn house_on_wire() -> (House, Wire) {
    let wire = Wire::to(&new_database().await);
    let house = house_on(wire.address().parse().unwrap()).await;
    (house, wire)
}

/// The events that were taken in, as soon as the database tells.
async fn events(house: &House) -> u64 {
    for _ in 0..100 {
        if let Ok(counts) = house.ledger.counts().await {
            return counts.events;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the database does not come back");
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_asked_for_and_stands() {
    let (house, wire) = house_on_wire().await;
    wire.set(Fault::LoseAnswerToCommit);
    let accepted = house.ledger.accept(house.event("A-1")).await;
    assert!(matches!(accepted, Ok(Accepted::New { .. })), "{accepted:?}");
    assert_eq!(wire.fault(), Fault::None);
    assert_eq!(events(&house).await, 1);
    // And it goes on as before.
    house.run("A-2").await;
}

#[tokio::test]
async fn a_commit_that_never_arrived_stored_nothing_and_says_so() {
    let (house, wire) = house_on_wire().await;
    wire.set(Fault::LoseCommit);
    let refused = house.ledger.accept(house.event("A-1")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    assert_eq!(wire.fault(), Fault::None);
    assert_eq!(events(&house).await, 0);
    house.run("A-1").await;
}

#[tokio::test]
async fn while_the_database_is_away_nothing_is_taken_in_and_then_it_goes_on_by_itself() {
    let (house, wire) = house_on_wire().await;
    let (run, steps) = house.run("A-1").await;
    wire.set(Fault::Cut);
    let refused = house.ledger.accept(house.event("A-2")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    // From now on it is known without a try.
    let refused = house.ledger.has_room().unwrap_err().to_string();
    assert!(refused.contains("cannot be reached"), "{refused}");
    let refused = house
        .ledger
        .intend(house.intent(run, steps[0], 0, 1))
        .await
        .unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");

    wire.set(Fault::None);
    for _ in 0..100 {
        if house.ledger.has_room().is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // Nobody had to try: an event that comes now is taken in.
    house.run("A-2").await;
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    assert_eq!(events(&house).await, 2);
}

#[tokio::test]
async fn a_copy_of_a_data_directory_is_refused_while_its_host_works() {
    let house = house_on_postgres().await;
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(NOW_MS)));
    std::fs::copy(house.dir.path().join("host"), dir.path().join("host")).unwrap();
    let refused = Ledger::open_with(dir.path(), clock, &house.opening).await.unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("with the identity of this data directory"),
        "{refused}"
    );
}

#[tokio::test]
async fn words_that_its_text_cannot_hold_do_not_keep_an_outcome_from_being_stored() {
    let house = house_on_postgres().await;
    let (run, steps) = house.run("A-1").await;
    let step = StepWrite {
        last_error: Some("the destination said \0 and went".into()),
        ..StepWrite::new(steps[0], 0, ready())
    };
    house.ledger.finish(house.finish(run, step, None)).await.unwrap();
    let said = house.step(run, 0).await.last_error.unwrap();
    assert_eq!(said, "the destination said \u{fffd} and went");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_its_password() {
    let dir = tempfile::tempdir().unwrap();
    let opening = Opening {
        database: "postgres://anna:secret@127.0.0.1:1/orders".parse().unwrap(),
        ..Opening::default()
    };
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let refused = Ledger::open_with(dir.path(), clock, &opening)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("the database orders at 127.0.0.1:1"), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
    assert!(!format!("{opening:?}").contains("secret"));
}
