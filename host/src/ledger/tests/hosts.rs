//! Several hosts on one database: leases, ends, claims, and who may write what.

use super::*;
use crate::ledger::database::Value;
use crate::ledger::hosts::Starting;
use crate::ledger::rows::Row;
use oncegate_test_database::new_database;
use std::collections::{BTreeMap as Map, HashSet};
use std::time::Duration;

/// Short enough to wait for its end, long enough for a slow machine to renew it.
const LEASE_MS: u64 = 1_500;

/// The first host of a new database.
async fn first() -> House {
    let opening = Opening {
        database: new_database().await.parse().unwrap(),
        lease: LeaseTerm { ms: LEASE_MS },
        ..Opening::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let ledger = open(dir.path(), &opening).await;
    let flow = ledger.save_flow(new_flow("lead", "name = 'lead'")).await.unwrap().0;
    House {
        ledger,
        flow,
        dir,
        opening,
    }
}

/// Another one on the same database.
async fn another(house: &House) -> House {
    let dir = tempfile::tempdir().unwrap();
    House {
        ledger: open(dir.path(), &house.opening).await,
        flow: house.flow,
        dir,
        opening: house.opening.clone(),
    }
}

/// The epochs that have ended, as `house` reads them.
async fn ended(house: &House) -> Vec<i64> {
    const ENDED: &str = "SELECT epoch FROM hosts WHERE ended_ms IS NOT NULL ORDER BY epoch";
    let mut snapshot = house.ledger.snapshot().await.unwrap();
    let rows = snapshot.conn().query(ENDED, Vec::new()).await.unwrap();
    rows.into_iter()
        .map(|row| row.decode("hosts", Row::int).unwrap())
        .collect()
}

impl House {
    /// Its pulse stands still, as when it is stopped or cut off; everything else goes on.
    fn stop_pulse(&self) {
        self.ledger.inner.pulse.get().unwrap().abort();
    }

    /// Stops its pulse and waits until `other` has written down its end.
    async fn loses_its_lease(&self, other: &House) {
        self.stop_pulse();
        let epoch = self.ledger.epoch();
        for _ in 0..200 {
            if ended(other).await.contains(&epoch) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the lease of {epoch} does not end");
    }

    async fn beat(&self) -> Result<()> {
        let starting = Starting {
            host: self.ledger.inner.host.clone(),
            term: self.opening.lease,
        };
        self.ledger.beat(&Arc::new(starting)).await
    }
}

#[tokio::test]
async fn hosts_that_start_together_make_the_tables_once_and_have_epochs_of_their_own() {
    let opening = Opening {
        database: new_database().await.parse().unwrap(),
        ..Opening::default()
    };
    let dirs: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let hosts = futures::future::join_all(dirs.iter().map(|dir| open(dir.path(), &opening))).await;
    let epochs: HashSet<i64> = hosts.iter().map(Ledger::epoch).collect();
    assert_eq!(epochs, HashSet::from([1, 2, 3, 4]));
    let secrets: HashSet<[u8; 32]> = hosts.iter().map(|host| host.installation().secret.0).collect();
    assert_eq!(secrets.len(), 1, "one installation");
}

#[tokio::test]
async fn a_lease_is_renewed_for_as_long_as_its_host_lives() {
    let a = first().await;
    let b = another(&a).await;
    let before = (a.ledger.epoch(), b.ledger.epoch());
    tokio::time::sleep(Duration::from_millis(2 * LEASE_MS)).await;
    assert_eq!((a.ledger.epoch(), b.ledger.epoch()), before);
    assert_eq!(ended(&a).await, [0_i64; 0]);
}

#[tokio::test]
async fn a_lease_that_has_ended_is_never_renewed_and_its_host_goes_on_under_a_new_one() {
    let a = first().await;
    let b = another(&a).await;
    let (lost, news) = (a.ledger.epoch(), a.ledger.host_news());
    a.loses_its_lease(&b).await;
    // By its own reckoning it was over before that.
    let late = a.ledger.send_within_ms(a.flow, lost, 5_000);
    assert!(matches!(late, Err(LedgerError::LeaseEnds)), "{late:?}");
    a.beat().await.unwrap();
    assert!(a.ledger.epoch() > b.ledger.epoch());
    assert_eq!(news.borrow().lost, 1);
    assert_eq!(ended(&b).await, [lost]);
    let late = a.ledger.send_within_ms(a.flow, lost, 5_000);
    assert!(matches!(late, Err(LedgerError::LeaseLost { .. })));
}

#[tokio::test]
async fn after_an_outage_of_the_database_hosts_are_left_the_time_to_come_back() {
    let a = first().await;
    let b = another(&a).await;
    let epoch = a.ledger.epoch();
    a.stop_pulse();
    b.stop_pulse();
    tokio::time::sleep(Duration::from_millis(LEASE_MS + 200)).await;
    // To `b` its own lease is over as well: it ends nobody.
    let lease = &b.ledger.inner.lease;
    lease.renewed(lease.start(), i64::MIN, false);
    b.beat().await.unwrap();
    assert_eq!(ended(&b).await, [0_i64; 0]);
    a.beat().await.unwrap();
    b.beat().await.unwrap();
    assert_eq!((a.ledger.epoch(), ended(&b).await), (epoch, Vec::new()));
}

#[tokio::test]
async fn the_work_of_a_host_that_lives_is_its_own() {
    let a = first().await;
    let b = another(&a).await;
    let (run, steps) = a.run("A-1").await;
    assert_eq!(b.ledger.take_over(vec![run]).await.unwrap(), []);
    assert_eq!(b.due().await, []);
    assert_eq!(b.ledger.backlogs().await.unwrap(), []);
    assert_eq!(a.due().await.len(), 1);
    a.ledger.intend(a.intent(run, steps[0], 0, 1)).await.unwrap();
    assert_eq!(b.ledger.under_way(None, 10).await.unwrap(), []);
}

#[tokio::test]
async fn the_work_of_a_host_that_stopped_in_order_is_taken_at_once() {
    let a = first().await;
    let b = another(&a).await;
    let (run, _) = a.run("A-1").await;
    a.ledger.close().await;
    b.beat().await.unwrap();
    assert!(b.ledger.host_news().borrow().left_behind);
    assert_eq!(b.due().await.len(), 1);
    assert_eq!(b.ledger.take_over(vec![run]).await.unwrap(), [run]);
    assert_eq!(b.step(run, 1).await.epoch, b.ledger.epoch());
    b.beat().await.unwrap();
    assert!(!b.ledger.host_news().borrow().left_behind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_of_hosts_never_overlap_and_no_run_is_split() {
    let a = first().await;
    let (b, c) = (another(&a).await, another(&a).await);
    let mut runs = Vec::new();
    for number in 0..60 {
        runs.push(a.run(&format!("A-{number}")).await.0);
    }
    a.ledger.close().await;
    let mut owners: Map<Id, i64> = Map::new();
    while owners.len() < runs.len() {
        let backwards: Vec<Id> = runs.iter().rev().copied().collect();
        let (of_b, of_c) = tokio::join!(b.ledger.take_over(runs.clone()), c.ledger.take_over(backwards));
        for (host, owned) in [(&b, of_b.unwrap()), (&c, of_c.unwrap())] {
            for run in owned {
                let before = owners.insert(run, host.ledger.epoch());
                assert!(before.is_none_or(|before| before == host.ledger.epoch()), "{run} twice");
            }
        }
    }
    for (run, owner) in owners {
        for place in 0..2 {
            assert_eq!(b.step(run, place).await.epoch, owner);
        }
    }
}

#[tokio::test]
async fn a_run_that_somebody_writes_right_now_is_left_for_later() {
    use sqlx::{ConnectOptions, Connection};
    let a = first().await;
    let b = another(&a).await;
    let (run, steps) = a.run("A-1").await;
    a.ledger.close().await;
    let Database::Postgres(url) = &a.opening.database else {
        unreachable!()
    };
    let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let mut writing = connection.begin().await.unwrap();
    let locked = sqlx::query("SELECT id FROM steps WHERE id = $1 FOR UPDATE").bind(steps[1].to_bytes().to_vec());
    locked.execute(&mut *writing).await.unwrap();
    assert_eq!(b.ledger.take_over(vec![run]).await.unwrap(), []);
    assert_ne!(b.step(run, 0).await.epoch, b.ledger.epoch());
    writing.rollback().await.unwrap();
    assert_eq!(b.ledger.take_over(vec![run]).await.unwrap(), [run]);
}

#[tokio::test]
async fn a_host_that_stops_within_a_transaction_keeps_nothing_from_the_others() {
    let a = first().await;
    let b = another(&a).await;
    let (run, _) = a.run("A-1").await;
    let lost = a.ledger.epoch();
    let touch = "UPDATE steps SET due_ms = due_ms WHERE run_id = ?1";
    let stopped = a.ledger.rare(move |mut conn| {
        Box::pin(async move {
            conn.query(touch, vec![Value::id(run)]).await?;
            tokio::time::sleep(Duration::from_secs(30)).await;
            Ok(())
        })
    });
    let taken = async {
        while !ended(&b).await.contains(&lost) || b.ledger.take_over(vec![run]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let taken = async { tokio::time::timeout(Duration::from_secs(25), taken).await };
    tokio::select! {
        taken = taken => taken.expect("what it has locked is free again"),
        written = stopped => panic!("{written:?} before it could go on"),
    }
    assert_eq!(b.step(run, 0).await.epoch, b.ledger.epoch());
}

#[tokio::test]
async fn an_owner_that_lost_its_lease_changes_nothing_and_may_append_evidence() {
    let a = first().await;
    let b = another(&a).await;
    let (run, steps) = a.run("A-1").await;
    a.ledger.intend(a.intent(run, steps[0], 0, 1)).await.unwrap();
    let lost = a.ledger.epoch();
    a.loses_its_lease(&b).await;
    assert_eq!(b.ledger.under_way(None, 10).await.unwrap()[0].open.epoch, lost);
    assert_eq!(b.ledger.take_over(vec![run]).await.unwrap(), [run]);

    let end = a.finish(run, StepWrite::new(steps[0], 1, completed()), Some(confirmed(1, true)));
    assert!(matches!(a.ledger.finish(end).await, Err(LedgerError::LeaseLost { epoch, .. }) if epoch == lost));
    let again = a.ledger.intend(a.intent(run, steps[0], 1, 2)).await;
    assert!(matches!(again, Err(LedgerError::LeaseLost { .. })));
    let step = b.step(run, 0).await;
    assert_eq!((step.state, step.version, step.epoch), (sending(), 1, b.ledger.epoch()));

    let (of_a, of_b) = (
        a.ledger.last_intent(steps[0]).await,
        b.ledger.last_intent(steps[0]).await,
    );
    assert!(!of_a.unwrap().unwrap().by_other_host);
    assert!(of_b.unwrap().unwrap().by_other_host);
    let late = |epoch| LateEvidence {
        run,
        attempt: AttemptId {
            step: steps[0],
            number: 1,
        },
        epoch,
        evidence: Evidence::Answered(201),
        status: Some(201),
        outcome: Some(Outcome::Confirmed(Proof::Answered(201))),
        output: None,
        reference: Some("crm-1".into()),
        at_ms: NOW_MS,
    };
    assert!(matches!(
        a.ledger.late_evidence(late(b.ledger.epoch())).await,
        Err(LedgerError::NotFound { .. })
    ));
    a.ledger.late_evidence(late(lost)).await.unwrap();
    let found = b.ledger.late_found(steps[0]).await.unwrap().unwrap();
    assert_eq!(found.reference.as_deref(), Some("crm-1"));
}

#[tokio::test]
async fn a_person_decides_at_any_host_and_an_owner_that_lives_keeps_the_run() {
    let a = first().await;
    let b = another(&a).await;
    let (run, steps) = a.run("A-1").await;
    let review = a.finish(run, StepWrite::new(steps[0], 0, in_review()), Some(confirmed(1, false)));
    let item = a.ledger.finish(review).await.unwrap().item.unwrap();
    let decision = |version| PersonDecision {
        item,
        version,
        who: "ada".into(),
        why: String::new(),
        action: PersonAction::Retry,
        stated_absent: false,
        at_ms: NOW_MS,
        step: StepWrite::new(steps[0], 1, ready()),
        others: Vec::new(),
        run_state: None,
        run_version: 0,
    };
    assert_eq!(b.ledger.decide(decision(1)).await.unwrap(), a.ledger.epoch());
    assert_eq!(a.due().await[0].version, 2);
    assert_eq!(b.due().await, []);
    // The owner, who has not heard of it, writes over nothing.
    let unaware = a.finish(run, StepWrite::new(steps[0], 1, completed()), None);
    assert!(matches!(a.ledger.finish(unaware).await, Err(LedgerError::Stale { .. })));

    a.ledger.close().await;
    let cancelled = Step {
        state: State::Cancelled,
        ..ready()
    };
    let cancel = Cancel {
        run,
        who: "ada".into(),
        why: "not wanted".into(),
        at_ms: NOW_MS,
        steps: vec![StepWrite::new(steps[0], 2, cancelled)],
        run_state: run::State::Cancelled,
        run_version: 0,
    };
    assert_eq!(b.ledger.cancel(cancel).await.unwrap(), b.ledger.epoch());
}

/// The same bytes under two keys, at two hosts, at the same moment: the unique value that one of them takes is in the way of
/// the other, who looks again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_arrives_at_two_hosts_at_once_is_one_run() {
    let a = first().await;
    let b = another(&a).await;
    let signed = |house: &House, key: String, number: u8| NewEvent {
        signed_digest: Some([number; 32]),
        ..house.event(&key)
    };
    for number in 0..20 {
        let (of_a, of_b) = tokio::join!(
            a.ledger.accept(signed(&a, format!("A-{number}"), number)),
            b.ledger.accept(signed(&b, format!("B-{number}"), number)),
        );
        match (of_a.unwrap(), of_b.unwrap()) {
            (Accepted::New { run, .. }, Accepted::Duplicate { run: same, .. })
            | (Accepted::Duplicate { run: same, .. }, Accepted::New { run, .. }) => assert_eq!(run, same),
            other => panic!("{other:?}"),
        }
    }
}
