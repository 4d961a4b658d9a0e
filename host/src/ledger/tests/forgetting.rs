//! A ledger that was set back, swapped, copied or moved: it is noticed, and people say what follows.

use super::*;
use crate::ledger::witness::Witness;
use oncegate_test_database::{Fault, Wire, copy_of, put_back};
use std::path::PathBuf;

on_both! {
    a_witness_that_lags_is_no_sign_of_anything,
    a_ledger_that_was_set_back_is_noticed_until_a_person_ends_it,
    a_start_that_is_forgotten_gives_nobody_its_number,
    people_say_what_may_be_forgotten_also_where_nothing_was_noticed,
    the_ledger_of_another_installation_is_refused,
    what_cannot_be_compared_is_not_trusted,
}

/// A copy of a ledger whose host is down.
enum Backup {
    File(Vec<u8>),
    Database(String),
}

impl House {
    fn file(&self) -> PathBuf {
        self.dir.path().join("ledger.db")
    }

    /// Goes down in order, is copied, and comes back.
    async fn backed_up(self) -> (House, Backup) {
        self.ledger.close().await;
        let backup = match &self.opening.database {
            Database::Embedded => Backup::File(std::fs::read(self.file()).unwrap()),
            Database::Postgres(url) => Backup::Database(copy_of(url).await),
        };
        (self.reopen().await, backup)
    }

    /// Goes down in order, is set back, and comes back.
    async fn set_back(self, backup: Backup) -> House {
        self.ledger.close().await;
        match (&self.opening.database, backup) {
            (Database::Embedded, Backup::File(bytes)) => std::fs::write(self.file(), bytes).unwrap(),
            (Database::Postgres(url), Backup::Database(copy)) => put_back(&copy, url).await,
            (Database::Embedded, Backup::Database(_)) | (Database::Postgres(_), Backup::File(_)) => unreachable!(),
        }
        self.reopen().await
    }

    /// Waits until something that this start has committed is written down outside; that is done about once a second.
    async fn vouched(&self) {
        let position = || Witness::read(self.dir.path()).unwrap().unwrap().position;
        for _ in 0..200 {
            if position() > 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("nothing is written down");
    }

    fn window(&self) -> Window {
        match self.ledger.memory() {
            Memory::Reconcile(forgetting) => forgetting.window,
            other => panic!("{other:?}"),
        }
    }

    async fn tell(&self, statement: Statement) -> Result<Memory> {
        self.ledger.tell_memory(statement, "ada", "checked").await
    }
}

async fn a_witness_that_lags_is_no_sign_of_anything(house: House) {
    house.run("A-1").await;
    house.vouched().await;
    house.run("A-2").await;
    // Gone before what it did last is written down outside.
    let house = house.reopen().await;
    assert_eq!(house.ledger.memory(), Memory::Whole);
    house.ledger.close().await;
    let house = house.reopen().await;
    assert_eq!(house.ledger.memory(), Memory::Whole);
    assert_eq!(house.ledger.counts().await.unwrap().events, 2);
}

async fn a_ledger_that_was_set_back_is_noticed_until_a_person_ends_it(house: House) {
    house.run("A-1").await;
    let (house, backup) = house.backed_up().await;
    let life = house.ledger.installation().incarnation;
    house.run("A-2").await;
    let house = house.set_back(backup).await;

    let window = house.window();
    assert!(window.from_ms < NOW_MS && window.until_ms == NOW_MS, "{window:?}");
    assert_ne!(house.ledger.installation().incarnation, life);
    assert_eq!(house.ledger.reconciles(), Some(window));
    let notice = house.ledger.memory().notice().unwrap();
    assert!(
        notice.contains("set back") && notice.contains("oncegate ledger reconcile --end"),
        "{notice}"
    );
    // Events are taken in: the lost one as a new one, the other as a duplicate.
    house.run("A-2").await;
    let again = house.ledger.accept(house.event("A-1")).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { .. }));

    // A restart ends nothing, and finds nothing new.
    let house = house.reopen().await;
    assert_eq!(house.window(), window);
    assert_eq!(house.tell(Statement::Ended).await.unwrap(), Memory::Whole);
    assert_eq!(house.ledger.reconciles(), None);
    let trail = house.ledger.audit_list(Page::default()).await.unwrap().items;
    let is_it = |line: &&AuditLine| (line.entry.what.as_str(), line.entry.who.as_str()) == ("ledger.reconciled", "ada");
    assert_eq!(trail.iter().filter(is_it).count(), 1);
    let house = house.reopen().await;
    assert_eq!(house.ledger.memory(), Memory::Whole);
    assert!(
        house
            .tell(Statement::Ended)
            .await
            .unwrap_err()
            .to_string()
            .contains("nothing")
    );
}

async fn a_start_that_is_forgotten_gives_nobody_its_number(house: House) {
    let (house, backup) = house.backed_up().await;
    let house = house.reopen().await;
    let forgotten = house.ledger.epoch();
    let house = house.set_back(backup).await;
    assert_eq!(house.ledger.epoch(), forgotten + 1);
    house.window();
}

async fn people_say_what_may_be_forgotten_also_where_nothing_was_noticed(house: House) {
    let forgot = |from_ms, until_ms| Statement::Forgot { from_ms, until_ms };
    let (from_ms, until_ms) = (NOW_MS - 10_000, NOW_MS - 5_000);
    house.tell(forgot(from_ms, until_ms)).await.unwrap();
    let first = house.window();
    assert_eq!((first.from_ms, first.until_ms), (from_ms, until_ms));
    // A narrower window raises no new doubt, a wider one does.
    house.tell(forgot(from_ms + 1, until_ms)).await.unwrap();
    assert_eq!(
        (house.window().from_ms, house.window().found_ms),
        (from_ms + 1, first.found_ms)
    );
    house.tell(forgot(from_ms - 1, until_ms)).await.unwrap();
    assert_eq!(house.window().from_ms, from_ms - 1);
    for wrong in [forgot(until_ms, until_ms), forgot(NOW_MS + 1, NOW_MS + 2)] {
        assert!(matches!(house.tell(wrong).await, Err(LedgerError::Invalid { .. })));
    }
    assert!(house.tell(Statement::Moved).await.is_err());
    // What was said is known to the next start, which compares with the life that began with it.
    let house = house.reopen().await;
    assert_eq!(house.window().from_ms, from_ms - 1);
    assert_eq!(house.tell(Statement::Ended).await.unwrap(), Memory::Whole);
}

async fn the_ledger_of_another_installation_is_refused(house: House) {
    house.ledger.close().await;
    let other = match &house.opening.database {
        Database::Embedded => {
            std::fs::remove_file(house.file()).unwrap();
            Opening::default()
        }
        Database::Postgres(_) => Opening {
            database: Database::Postgres(oncegate_test_database::new_database().await),
            ..Opening::default()
        },
    };
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let refused = Ledger::open_with(house.dir.path(), clock, &other).await.unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("put the first one back"), "{refused}");
}

async fn what_cannot_be_compared_is_not_trusted(house: House) {
    house.ledger.close().await;
    std::fs::write(house.dir.path().join("witness"), "").unwrap();
    let house = house.reopen().await;
    house.window();
}

/// A copy of a data directory, whose witness and ledger agree.
async fn copied(house: &House) -> House {
    house.ledger.close().await;
    let dir = tempfile::tempdir().unwrap();
    for name in ["ledger.db", "witness"] {
        std::fs::copy(house.dir.path().join(name), dir.path().join(name)).unwrap();
    }
    House {
        ledger: open(dir.path(), &house.opening).await,
        flow: house.flow,
        dir,
        opening: house.opening.clone(),
    }
}

#[tokio::test]
async fn a_ledger_that_was_moved_takes_events_in_and_waits_for_one_word() {
    let house = house().await;
    house.run("A-1").await;
    let moved = copied(&house).await;
    assert!(matches!(moved.ledger.memory(), Memory::Elsewhere(_)));
    let notice = moved.ledger.memory().notice().unwrap();
    assert!(notice.contains("oncegate ledger moved"), "{notice}");
    moved.run("A-2").await;
    assert!(moved.tell(Statement::Ended).await.is_err(), "which of the two is it?");
    // A restart asks again, for nobody has said anything.
    let moved = moved.reopen().await;
    assert!(matches!(moved.ledger.memory(), Memory::Elsewhere(_)));
    assert_eq!(moved.tell(Statement::Moved).await.unwrap(), Memory::Whole);
    let moved = moved.reopen().await;
    assert_eq!(moved.ledger.memory(), Memory::Whole);
}

#[tokio::test]
async fn a_copy_is_another_life_of_the_ledger_and_in_reconcile() {
    let house = house().await;
    let life = house.ledger.installation().incarnation;
    let copy = copied(&house).await;
    assert_ne!(copy.ledger.installation().incarnation, life);
    copy.tell(Statement::Copied).await.unwrap();
    copy.window();
    // The first one lies where it lay, and is as it was.
    let house = house.reopen().await;
    assert_eq!(house.ledger.memory(), Memory::Whole);
    assert_eq!(house.ledger.installation().incarnation, life);
}

#[tokio::test]
async fn a_database_that_was_set_back_while_it_was_away_ends_the_process() {
    let url = oncegate_test_database::new_database().await;
    let house = house_on(Database::Postgres(url.clone())).await;
    house.run("A-1").await;
    house.ledger.close().await;
    let copy = copy_of(&url).await;

    let wire = Wire::to(&url);
    let opening = Opening {
        database: wire.address().parse().unwrap(),
        ..Opening::default()
    };
    let house = House {
        ledger: open(house.dir.path(), &opening).await,
        opening,
        ..house
    };
    house.run("A-2").await;
    wire.set(Fault::Cut);
    put_back(&copy, &url).await;
    wire.set(Fault::None);
    // Whoever asks is refused, and nothing is written to a ledger that is not the one this process knows.
    let refused = house.ledger.accept(house.event("A-3")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    let why = house.ledger.failed().await;
    assert!(why.contains("set back"), "{why}");
    let house = house.reopen().await;
    house.window();
    assert_eq!(house.ledger.counts().await.unwrap().events, 1);
}

#[tokio::test]
async fn a_database_without_our_tables_is_not_the_ledger() {
    let url = oncegate_test_database::new_database().await;
    let wire = Wire::to(&url);
    let house = house_on(wire.address().parse().unwrap()).await;
    house.run("A-1").await;
    wire.set(Fault::Cut);
    let mut connection = oncegate_test_database::connection(&url).await;
    let anew = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    sqlx::raw_sql(anew).execute(&mut connection).await.unwrap();
    wire.set(Fault::None);
    let refused = house.ledger.accept(house.event("A-2")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    let why = house.ledger.failed().await;
    assert!(why.contains("set back"), "{why}");
}

#[tokio::test]
async fn a_commit_of_a_moment_ago_is_missed_although_nobody_has_written_it_down() {
    let url = oncegate_test_database::new_database().await;
    let wire = Wire::to(&url);
    let house = house_on(wire.address().parse().unwrap()).await;
    let (run, steps) = house.run("A-1").await;
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    wire.set(Fault::Cut);
    // Only the last commit is lost, as on a copy that lagged by an instant: the intent, and what that commit said of itself.
    let mut connection = oncegate_test_database::connection(&url).await;
    let back =
        "DELETE FROM attempts; UPDATE steps SET version = 0, last_number = 0; UPDATE hosts SET position = position - 1";
    sqlx::raw_sql(back).execute(&mut connection).await.unwrap();
    wire.set(Fault::None);
    let refused = house.ledger.accept(house.event("A-2")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    let why = house.ledger.failed().await;
    assert!(why.contains("set back"), "{why}");
}
