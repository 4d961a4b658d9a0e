//! The ledger's contract: every command in both directions, on a real database. Each test of it runs on both kinds; what is
//! SQLite's or PostgreSQL's own is in `on_sqlite` and `on_postgres`.
#![allow(clippy::unwrap_used)]

mod catalog;
mod erasing;
mod events;
mod forgetting;
mod hosts;
mod late;
mod many;
mod moving;
mod news;
mod on_postgres;
mod on_sqlite;
mod people;
mod plans;
mod plans_of_hosts;
mod work;

use super::*;
use crate::clock::ManualClock;
use crate::flow::{ContentEncoding, RawBody};
use oncegate_domain::evidence::{Evidence, Report};
use oncegate_domain::key::{EventKey, Role, key_hash};
use oncegate_domain::outcome::{Outcome, Proof};
use oncegate_domain::run;
use oncegate_domain::step::{OpenIntent as Open, Review, State, Step, Wait};
use std::collections::BTreeMap;

const NOW_MS: i64 = 1_800_000_000_000;

/// A ledger in a folder of its own, with one flow.
struct House {
    ledger: Ledger,
    flow: Id,
    dir: tempfile::TempDir,
    opening: Opening,
}

/// Runs tests of the contract on both databases.
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::house().await).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::house_on_postgres().await).await;
            })*
        }
    };
}
use on_both;

async fn house() -> House {
    house_on(Database::Embedded).await
}

async fn house_on_postgres() -> House {
    house_on(Database::Postgres(oncegate_test_database::new_database().await)).await
}

async fn house_on(database: Database) -> House {
    let dir = tempfile::tempdir().unwrap();
    let opening = Opening {
        database,
        ..Opening::default()
    };
    let ledger = open(dir.path(), &opening).await;
    let flow = ledger.save_flow(new_flow("lead", "name = 'lead'")).await.unwrap().0;
    House {
        ledger,
        flow,
        dir,
        opening,
    }
}

async fn open(dir: &std::path::Path, opening: &Opening) -> Ledger {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    Ledger::open_with(dir, clock, opening).await.unwrap()
}

impl House {
    /// The host is gone without closing anything, and comes back.
    async fn reopen(self) -> House {
        let House {
            ledger,
            flow,
            dir,
            opening,
        } = self;
        drop(ledger);
        let ledger = open(dir.path(), &opening).await;
        House {
            ledger,
            flow,
            dir,
            opening,
        }
    }

    fn event(&self, key: &str) -> NewEvent {
        let key = EventKey::from_parts(&[key.to_owned()]).unwrap();
        NewEvent {
            id: new_id(NOW_MS),
            flow_id: self.flow,
            flow_revision: 1,
            key_hash: key_hash(&self.ledger.installation().secret, &self.flow.to_string(), &key),
            fingerprint: [1; 32],
            fingerprint_covers: true,
            received_ms: NOW_MS,
            source: "webhook".into(),
            verified_by: "bearer".into(),
            signed_digest: None,
            body: raw(key.as_str().as_bytes()),
            headers: BTreeMap::from([("x-id".into(), "7".into())]),
            query: BTreeMap::new(),
            context: vec![ContextItem {
                name: "order".into(),
                value: format!("№ {key}"),
                personal: false,
            }],
            steps: vec![new_step(0, "crm", ready()), new_step(1, "mail", Step::new())],
            key,
        }
    }

    /// Every step that has a due time, by connection.
    async fn due(&self) -> Vec<DueStep> {
        let mut due = Vec::new();
        for (connection, _) in self.ledger.backlogs().await.unwrap() {
            let steps = self.ledger.due_steps(&connection, i64::MAX, None, PAGE_ITEMS_MAX);
            due.extend(steps.await.unwrap());
        }
        due
    }

    /// A new run and its two steps.
    async fn run(&self, key: &str) -> (Id, Vec<Id>) {
        match self.ledger.accept(self.event(key)).await.unwrap() {
            Accepted::New { run, steps, .. } => (run, steps),
            other => panic!("{other:?}"),
        }
    }

    fn intent(&self, run: Id, step: Id, version: i64, number: u32) -> NewIntent {
        NewIntent {
            run,
            step,
            epoch: self.ledger.epoch(),
            version,
            step_after: sending(),
            due_ms: Some(NOW_MS + 15_000),
            number,
            kind: AttemptKind::Perform,
            place: place(),
            action: "upsert".into(),
            input: r#"{"email":"a@example.com"}"#.into(),
            natural_key: None,
            overtaken_after_ms: None,
            request: request(),
            at_ms: NOW_MS,
            boot_ms: 10,
            send_by_ms: NOW_MS + 5_000,
            send_by_boot_ms: 5_010,
            key_window_end_ms: Some(NOW_MS + 86_400_000),
        }
    }

    fn finish(&self, run: Id, step: StepWrite, attempt: Option<AttemptEnd>) -> Finish {
        let epoch = self.ledger.epoch();
        Finish {
            run,
            run_state: None,
            run_version: 0,
            epoch,
            at_ms: NOW_MS,
            step,
            attempt,
            others: Vec::new(),
            notify: Vec::new(),
        }
    }

    async fn step(&self, run: Id, place: usize) -> StoredStep {
        self.ledger
            .run_load(run)
            .await
            .unwrap()
            .unwrap()
            .steps
            .swap_remove(place)
    }
}

fn new_flow(name: &str, source: &str) -> NewFlow {
    NewFlow {
        name: name.into(),
        renamed_from: None,
        source: source.into(),
        examples: BTreeMap::new(),
        at_ms: NOW_MS,
        who: "admin".into(),
    }
}

fn new_step(ordinal: u32, name: &str, state: Step) -> NewStep {
    NewStep {
        ordinal,
        step_id: name.into(),
        role: Role::Do,
        item: String::new(),
        connection: name.into(),
        action: "upsert".into(),
        input: None,
        state,
        due_ms: None,
    }
}

fn place() -> Place {
    Place {
        connector_digest: "sha256:00".into(),
        connection: "crm".into(),
        connection_revision: 1,
        origin: "https://crm.example".into(),
        account: "prod".into(),
    }
}

fn raw(bytes: &[u8]) -> RawBody {
    RawBody {
        bytes: bytes.to_vec(),
        encoding: ContentEncoding::Identity,
        content_type: "application/json".into(),
    }
}

fn request() -> StoredRequest {
    StoredRequest {
        method: "POST".into(),
        path_and_query: "/contacts?x=1".into(),
        headers: vec![("idempotency-key".into(), "og1_a".into())],
        body: b"{}".to_vec(),
    }
}

fn ready() -> Step {
    Step {
        ready_ms: Some(NOW_MS),
        ..Step::new()
    }
}

fn sending() -> Step {
    Step {
        state: State::Processing,
        first_intent_ms: Some(NOW_MS),
        last_intent_ms: Some(NOW_MS),
        open_intent: Some(Open {
            at_ms: NOW_MS,
            over_ms: NOW_MS + 15_000,
        }),
        ..ready()
    }
}

fn completed() -> Step {
    Step {
        state: State::Completed,
        attempts: 1,
        ..ready()
    }
}

fn in_review() -> Step {
    Step {
        state: State::NeedsReview {
            reason: Review::AttemptsUsedUp,
        },
        attempts: 8,
        ..ready()
    }
}

fn confirmed(number: u32, has_intent: bool) -> AttemptEnd {
    AttemptEnd {
        number,
        kind: AttemptKind::Perform,
        has_intent,
        place: Some(place()),
        evidence: Evidence::Answered(201),
        status: Some(201),
        report: Some(Report::Ok),
        outcome: Some(Outcome::Confirmed(Proof::Answered(201))),
        finding: None,
        message: Some("created".into()),
        started_ms: NOW_MS,
        ended_ms: NOW_MS + 40,
    }
}
