//! C7: a destination that answers 429. It is left alone for as long as it says, by all who use the connection, and nobody
//! pays for it with an attempt.

use crate::{CHAT, PUPPET};
use oncegate::clock::Clock;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, RunView, Service, TestHost, orders};
use serde_json::json;
use std::time::{Duration, UNIX_EPOCH};

/// How many runs wait for the destination at the same time.
const CROWD: usize = 500;
const AT_ONCE: usize = 4;
/// How long an answer takes that is waited for: long enough for the slowest machine to count before it is there.
const SLOW: Duration = Duration::from_secs(5);

async fn host(destination: &Destination) -> TestHost {
    host_of(Connection::chat(&destination.origin("chat")).concurrency(AT_ONCE as u32)).await
}

async fn host_of(chat: Connection) -> TestHost {
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    TestHost::start(&folder).await
}

/// Orders, once, with a 429 of this `Retry-After`; how it stands after that, and the moment of the answer.
async fn told(destination: &Destination, host: &TestHost, order: &str, header: Option<&str>) -> (Id, RunView, i64) {
    let behaviour = match header {
        Some(value) => Behaviour::retry_after(value),
        None => Behaviour::status(429),
    };
    destination.script_next("chat", [behaviour]);
    let at_ms = host.clock.now_ms();
    let run = host.order("orders", order).await;
    let view = host
        .until(run, |view| ["waiting", "needs_review"].contains(&view.stands("chat")))
        .await;
    assert_eq!(
        view.step("chat").state.attempts,
        0,
        "{header:?}: a 429 burns no attempt"
    );
    (run, view, at_ms)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seconds_and_dates_are_heeded_and_what_makes_no_sense_falls_back_to_backoff() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    let backoff = (1_800, 2_200);
    let cases = [
        ("seconds", Some("120"), (120_000, 132_000)),
        ("date", None, (90_000, 99_000)),
        ("a second less than a day", Some("86399"), (86_399_000, 86_400_000)),
        ("negative", Some("-5"), backoff),
        ("garbled", Some("abc"), backoff),
        ("fraction", Some("1.5"), backoff),
        ("empty", Some(""), backoff),
        ("past", Some("Sun, 06 Nov 1994 08:49:37 GMT"), backoff),
        ("none", None, backoff),
    ];
    for (name, header, (least_ms, most_ms)) in cases {
        // A date has no milliseconds, so the moment has none either.
        host.clock.advance_to((host.clock.now_ms() / 1_000 + 1) * 1_000);
        let date = http_date(host.clock.now_ms() + 90_000);
        let header = if name == "date" { Some(date.as_str()) } else { header };
        let before = destination.count("chat").requests;
        let (run, view, at_ms) = told(&destination, &host, name, header).await;
        let due_ms = view.step("chat").due_ms.unwrap();
        let wait_ms = due_ms - at_ms;
        assert!((least_ms..=most_ms).contains(&wait_ms), "{name}: {wait_ms} ms");

        host.clock.advance_to(at_ms + least_ms - 1);
        for _ in 0..10 {
            host.run(run).await;
        }
        assert_eq!(destination.count("chat").requests, before + 1, "{name}: asked too soon");
        let view = host.settle(run).await;
        assert_eq!(
            (view.state(), view.step("chat").state.attempts),
            (run::State::Completed, 1),
            "{name}"
        );
    }
    assert_eq!(destination.effects_total(), cases.len() as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_time_goes_to_a_person_and_holds_up_nobody_else() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    // A day is the longest that anybody waits.
    let absurd = ["86401", "999999999", "99999999999999999999999999"];
    for (order, absurd) in ["A-1", "A-2", "A-3"].into_iter().zip(absurd) {
        let (_, view, _) = told(&destination, &host, order, Some(absurd)).await;
        assert_eq!(view.reason("chat"), Review::ToldToWaitTooLong);
        assert!(!view.reason("chat").effect_may_exist());
    }
    let run = host.order("orders", "A-4").await;
    let view = host.until(run, |view| view.stands("chat") == "completed").await;
    assert_eq!(view.step("chat").state.attempts, 1);
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_answer_pauses_all_who_wait_and_they_come_back_no_more_than_the_connection_allows_at_once() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    destination.script_next("chat", vec![Behaviour::retry_after("120"); AT_ONCE]);
    let told_ms = host.clock.now_ms();
    let mut runs = Vec::new();
    for n in 0..CROWD {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    let mut due = Vec::new();
    for run in &runs {
        let view = host.until(*run, |view| view.stands("chat") == "waiting").await;
        let due_ms = view.step("chat").due_ms.unwrap();
        assert!(due_ms >= told_ms + 120_000, "sooner than told: {}", due_ms - told_ms);
        assert_eq!(view.step("chat").state.attempts, 0);
        due.push(due_ms);
    }
    are_spread(&mut due);
    let told = destination.count("chat").requests;
    assert!(told <= AT_ONCE as u64, "only those under way were told, and not {told}");

    host.clock.advance_to(told_ms + 119_999);
    for run in runs.iter().take(10) {
        host.run(*run).await;
    }
    assert_eq!(destination.count("chat").requests, told, "asked too soon");
    comes_back(&destination, &host, &runs, due[CROWD - 1]).await;
    for run in &runs {
        let view = host.settle(*run).await;
        assert_eq!(
            (view.state(), view.step("chat").state.attempts),
            (run::State::Completed, 1)
        );
    }
    assert_eq!(destination.count("chat").requests, told + CROWD as u64);
    assert_eq!(destination.duplicates(), []);
}

/// They all may come within the twelve seconds after the pause; the connection's own pace lets them through one by one, and
/// saves nothing up while it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_back_from_a_pause_keeps_the_pace_of_the_connection() {
    const COME_BACK: u64 = 150;
    const EVERY_MS: u64 = 100;
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host_of(Connection::chat(&destination.origin("chat")).rate("10/s")).await;
    destination.script_next("chat", [Behaviour::retry_after("120")]);
    let told_ms = host.clock.now_ms();
    let mut runs = vec![host.order("orders", "A-0").await];
    host.until(runs[0], |view| view.stands("chat") == "waiting").await;
    for n in 1..COME_BACK {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    for run in &runs {
        host.until(*run, |view| view.stands("chat") == "waiting").await;
    }
    assert_eq!(destination.count("chat").requests, 1);

    host.clock.advance_to(told_ms + 120_000);
    let mut passed_ms = 0;
    while destination.count("chat").requests <= COME_BACK {
        let so_far = destination.count("chat").requests - 1;
        assert!(so_far <= passed_ms / EVERY_MS + 1, "{so_far} after {passed_ms} ms");
        assert!(passed_ms < 60_000, "only {so_far} came back within a minute");
        tokio::time::sleep(Duration::from_millis(5)).await;
        host.clock.advance(EVERY_MS);
        passed_ms += EVERY_MS;
    }
    for run in &runs {
        let view = host.until(*run, |view| view.stands("chat") == "completed").await;
        assert_eq!(view.step("chat").state.attempts, 1);
    }
    assert_eq!(
        (destination.effects_total(), destination.duplicates()),
        (COME_BACK, vec![])
    );
}

/// Who was told is the one by whom it is known after a restart, whether the answer was a 429 or an error before any effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_before_a_restart_holds_for_whoever_comes_after_it() {
    for (status, attempts) in [(429, 1), (503, 2)] {
        let destination = Destination::start([Service::chat()]).await.unwrap();
        let chat = Connection::chat(&destination.origin("chat")).trust("refused_before_effect = [503]");
        let mut host = host_of(chat).await;
        let told = Behaviour::status_with(status, &[("retry-after", "120")], "{}");
        destination.script_next("chat", [told]);
        let told_ms = host.clock.now_ms();
        let first = host.order("orders", "A-1").await;
        host.until(first, |view| view.stands("chat") == "waiting").await;

        host.restart().await;
        let second = host.order("orders", "A-2").await;
        let view = host
            .until(second, |view| view.step("chat").due_ms > Some(told_ms))
            .await;
        assert_eq!(view.stands("chat"), "waiting", "{status}");
        let wait_ms = view.step("chat").due_ms.unwrap() - told_ms;
        assert!(wait_ms >= 120_000, "{status}: sooner than told: {wait_ms} ms");
        assert_eq!(destination.count("chat").requests, 1, "{status}");

        for (run, attempts) in [(first, attempts), (second, 1)] {
            let view = host.settle(run).await;
            assert_eq!(
                (view.state(), view.step("chat").state.attempts),
                (run::State::Completed, attempts),
                "{status}"
            );
        }
        assert_eq!(
            (destination.effects_total(), destination.count("chat").requests),
            (2, 3)
        );
    }
}

/// What a connector asks for by itself is its word alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_asks_to_wait_delays_its_own_step_and_no_other() {
    const DAY_MS: u64 = 86_400_000;
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let puppet = Connection::puppet("puppet", &destination.origin("chat")).writes("POST /messages");
    let steps = format!("{PUPPET}with = {{ script = \"{{{{ body.script }}}}\" }}\n");
    let folder = Folder::new()
        .connection(&puppet)
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;
    let asks = async |order: &str, wait_ms: u64| {
        let script = json!([{ "op": "temporary", "message": "later", "retry_after_ms": wait_ms }]);
        host.taken_in("orders", &json!({ "order": { "id": order }, "script": script }))
            .await
    };
    let at_ms = host.clock.now_ms();
    for (order, wait_ms, most_ms) in [("A-1", 120_000, 132_000), ("A-2", DAY_MS, DAY_MS)] {
        let run = asks(order, wait_ms).await;
        let view = host.until(run, |view| view.stands("puppet") == "retrying").await;
        let due_ms = view.step("puppet").due_ms.unwrap() - at_ms;
        assert!(
            (wait_ms..=most_ms).contains(&due_ms.unsigned_abs()),
            "{wait_ms}: {due_ms} ms"
        );
    }
    for (order, wait_ms) in [("A-3", DAY_MS + 1), ("A-4", u64::MAX)] {
        let run = asks(order, wait_ms).await;
        let view = host.until(run, |view| view.stands("puppet") == "needs_review").await;
        assert_eq!(view.reason("puppet"), Review::ToldToWaitTooLong, "{wait_ms}");
    }
    assert_eq!(destination.count("chat").connections, 0);

    let send = json!([{ "op": "send", "path": "/messages", "json": { "text": "now" } }, { "op": "judge" }]);
    let other = json!({ "order": { "id": "A-5" }, "script": send });
    let run = host.taken_in("orders", &other).await;
    host.until(run, |view| view.stands("puppet") == "completed").await;
    assert_eq!((host.clock.now_ms(), destination.effects_total()), (at_ms, 1));
}

/// The pause is over, and the first answers take long: until the first of them no more requests come than may be under way.
async fn comes_back(destination: &Destination, host: &TestHost, runs: &[Id], last_ms: i64) {
    let slow = Behaviour {
        answer_after_ms: SLOW.as_millis() as u64,
        ..Behaviour::usual()
    };
    destination.clear_script();
    destination.script_next("chat", vec![slow; AT_ONCE]);
    let at_once = destination.count("chat").requests + AT_ONCE as u64;
    let back = async {
        host.clock.advance_to(last_ms);
        destination
            .until(|tally| tally.services["chat"].requests >= at_once)
            .await;
        for run in runs.iter().take(10) {
            host.run(*run).await;
        }
        destination.count("chat").requests
    };
    // Once the first answers are there the count shows nothing.
    let requests = tokio::time::timeout(SLOW, back).await;
    let requests = requests.expect("counted before the first answers are there");
    assert_eq!(requests, at_once, "more than the connection allows at once");
}

/// The moments at which they come, in order: over more than half of the twelve seconds, and never many at once.
fn are_spread(due: &mut [i64]) {
    due.sort_unstable();
    let over_ms = due[due.len() - 1] - due[0];
    assert!(over_ms > 6_000, "all come within {over_ms} ms");
    for (n, first_ms) in due.iter().enumerate() {
        let at_once = due[n..].partition_point(|due_ms| *due_ms < first_ms + 100);
        assert!(at_once * 20 <= due.len(), "{at_once} come within 100 ms");
    }
}

/// `at_ms` as an HTTP-date (RFC 9110 section 5.6.7).
fn http_date(at_ms: i64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms.unsigned_abs());
    httpdate::fmt_http_date(at)
}
