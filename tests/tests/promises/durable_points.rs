//! Record first, counted at the disk: what the host says or does rests on a flush that is done. The disk of these tests
//! flushes only as often as it is allowed to, so that a host can be looked at, and lose its power, between any two.

use crate::{CRM, HOST, MAIL};
use futures::future::join_all;
use oncegate_tests::wait::PATIENCE;
use oncegate_tests::{
    Answer, ChildHost, Connection, Destination, Disk, Folder, HOOK_SECRET, Service, eventually, orders,
};
use std::io;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long a host that does not wait for its flush would take at most to show it.
const MOMENT: Duration = Duration::from_millis(300);
/// The flow of these tests: two steps, each of which changes something at a service of its own.
const SERVICES: [&str; 2] = ["crm", "mailer"];

struct Stage {
    destination: Destination,
    disk: Disk,
    host: ChildHost,
    /// Flushes until the host was ready.
    at_rest: usize,
}

impl Stage {
    async fn set() -> Stage {
        let destination = Destination::start([Service::crm(), Service::mailer()]).await.unwrap();
        let crm = Connection::http("crm", &destination.origin("crm"))
            .timeout("1s")
            .writes("POST /contacts")
            .keyed("24h")
            .asked("1s");
        let mail = Connection::mailer(&destination.origin("mailer")).timeout("1s");
        let folder = Folder::new()
            .connection(&crm)
            .connection(&mail)
            .flow("one", &orders("one", CRM))
            .flow("two", &orders("two", &format!("{CRM}{MAIL}")));
        let disk = Disk::new();
        let host = ChildHost::start_on(&disk, HOST, &folder).await;
        let at_rest = disk.flushed();
        assert!(at_rest > 0, "the disk is not the one under the host");
        Stage {
            destination,
            disk,
            host,
            at_rest,
        }
    }

    fn order(&self, hook: &'static str) -> JoinHandle<io::Result<Answer>> {
        let client = self.host.client.clone();
        let body = r#"{"order":{"id":"A-1"}}"#;
        tokio::spawn(async move { client.deliver(hook, Some(HOOK_SECRET), body).await })
    }

    /// The host may do so many flushes since it was ready, and wants one more; it had its moment to go on without.
    async fn stands_after(&self, flushes: usize) {
        self.disk.allow(self.at_rest + flushes);
        self.disk.is_asked_after(self.at_rest + flushes).await;
        tokio::time::sleep(MOMENT).await;
        assert_eq!(self.disk.flushed(), self.at_rest + flushes);
    }

    /// Whole requests that each service got.
    fn sent(&self) -> [u64; 2] {
        SERVICES.map(|service| self.destination.writes_of(service))
    }

    /// The state of the one run's first step, as the API tells it.
    async fn step(&self) -> String {
        let runs = self.host.client.get("runs").await;
        let run = runs["items"][0]["id"].as_str().unwrap().to_owned();
        let run = self.host.client.get(&format!("runs/{run}")).await;
        run["steps"][0]["state"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_step_has_three_durable_points_and_goes_beyond_none_before_its_flush() {
    let stage = Stage::set().await;
    stage.disk.allow(stage.at_rest);
    let answer = stage.order("one");

    stage.stands_after(0).await;
    assert!(!answer.is_finished(), "answered before the event was durable");
    assert_eq!(stage.sent(), [0, 0]);

    stage.stands_after(1).await;
    assert_eq!(answer.await.unwrap().unwrap().status, 202);
    assert_eq!(stage.sent(), [0, 0], "sent before the intent was durable");
    assert_eq!(stage.step().await, "pending");

    stage.stands_after(2).await;
    assert_eq!(stage.sent(), [1, 0]);
    assert_eq!(
        stage.step().await,
        "processing",
        "completed before the outcome was durable"
    );

    stage.disk.allow(stage.at_rest + 3);
    assert_eq!(stage.host.settled("A-1").await["state"], "completed");
    tokio::time::sleep(MOMENT).await;
    assert_eq!(stage.disk.flushed() - stage.at_rest, 3, "one for each point");
    assert_eq!(stage.sent(), [1, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_steps_the_second_is_made_ready_by_the_commit_that_completes_the_first() {
    let stage = Stage::set().await;
    assert_eq!(stage.order("two").await.unwrap().unwrap().status, 202);
    assert_eq!(stage.host.settled("A-1").await["state"], "completed");
    tokio::time::sleep(MOMENT).await;
    assert_eq!(
        stage.disk.flushed() - stage.at_rest,
        5,
        "the event, and two for each step"
    );
}

/// One power failure after so many flushes, and what is there afterwards. `sent`: what each service had got by then.
async fn loses_power_after(flushes: usize, sent: [u64; 2]) {
    let mut stage = Stage::set().await;
    stage.disk.allow(stage.at_rest);
    let answer = stage.order("two");
    stage.stands_after(flushes).await;
    assert_eq!(stage.sent(), sent, "after {flushes} flushes");
    stage.host.kill();
    stage.disk.loses_power(stage.host.data());
    let was_accepted = answer.await.unwrap().is_ok_and(|answer| answer.status == 202);
    assert_eq!(was_accepted, flushes > 0);

    stage.disk.allow_all();
    stage.host.come_up().await;
    let known = stage.host.client.get("runs").await["items"].as_array().unwrap().len();
    assert_eq!(
        known,
        flushes.min(1),
        "what was answered 2xx is there, and nothing else"
    );
    // The sender had no answer, or asks again for whatever reason.
    let again = stage.order("two").await.unwrap().unwrap();
    assert_eq!((again.status, &again.json()["duplicate"]), (202, &was_accepted.into()));
    let run = stage.host.settled("A-1").await;
    assert_eq!(run["state"], "completed", "after {flushes} flushes: {run:#}");
    for service in SERVICES {
        assert_eq!(
            stage.destination.count(service).effects_total,
            1,
            "{service}, after {flushes} flushes"
        );
    }
    assert_eq!(stage.destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_that_is_lost_between_any_two_flushes_costs_no_event_and_no_effect_twice() {
    let points = [[0, 0], [0, 0], [1, 0], [1, 0], [1, 1]];
    let lost = points.into_iter().enumerate();
    join_all(lost.map(|(flushes, sent)| loses_power_after(flushes, sent))).await;
}

/// The disk does not answer for a while, as disks do. Whoever finds a place waits for it, all others are told at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_disk_stands_still_so_many_wait_and_the_rest_is_refused_at_once() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = Connection::http("crm", &destination.origin("crm")).writes("POST /contacts");
    let folder = Folder::new().connection(&crm);
    let folder = ["first", "second"]
        .iter()
        .fold(folder, |folder, name| folder.flow(name, &orders(name, CRM)));
    folder.write("oncegate.toml", b"[limits]\nhooks_at_once_max = 16\n");
    let disk = Disk::new();
    let host = ChildHost::start_on(&disk, HOST, &folder).await;
    disk.allow(disk.flushed());
    let flood = |hook: &'static str, count: usize| -> Vec<_> {
        let order = |n| {
            let client = host.client.clone();
            let body = format!(r#"{{"order":{{"id":"{hook}-{n}"}}}}"#);
            tokio::spawn(async move { client.deliver(hook, Some(HOOK_SECRET), &body).await.unwrap() })
        };
        (0..count).map(order).collect()
    };
    // Of sixteen places two are for hooks that have none. Of the others one hook gets three for each that stays free.
    let mut waiting = Vec::new();
    for (hook, places) in [("first", 11), ("second", 3)] {
        let mut sent = flood(hook, 40);
        eventually("all but those who have a place are answered", || async {
            let answered = sent.iter().filter(|answer| answer.is_finished()).count();
            (answered == 40 - places).then_some(())
        })
        .await;
        let (told, waits): (Vec<_>, Vec<_>) = sent.drain(..).partition(JoinHandle::is_finished);
        for answer in join_all(told).await {
            let answer = answer.unwrap();
            assert_eq!(
                (answer.status, answer.header("retry-after")),
                (429, Some("1")),
                "{answer:?}"
            );
        }
        waiting.extend(waits);
    }
    disk.allow_all();
    for answer in join_all(waiting).await {
        assert_eq!(answer.unwrap().status, 202, "it was taken in");
    }
    // Nobody has to do anything for it to go on.
    assert_eq!(host.order("first", "later").await.unwrap().status, 202);
    let done = destination.until(|tally| tally.effects_total == 15);
    tokio::time::timeout(PATIENCE, done)
        .await
        .expect("what was taken in is done");
    assert_eq!(destination.duplicates(), []);
}
