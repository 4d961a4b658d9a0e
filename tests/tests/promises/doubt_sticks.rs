//! C16: a doubt outlasts every later failure. Attempt 1 loses its answer after the effect; what comes after cannot make
//! anybody forget that, and past the key window there is no request at all.

use crate::MAIL;
use oncegate::clock::Clock;
use oncegate::ledger::AttemptKind;
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::evidence::{Cut, Evidence, Report};
use oncegate_domain::id::Id;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, orders};
use oncegate_tests::{START_MS, about_step};
use serde_json::json;

/// Of the window of a minute, 90 % may be used, and a request of up to 10 s must be over by then.
const LAST_SEND_MS: i64 = 44_000;

async fn host(destination: &Destination) -> TestHost {
    let mail = Connection::http("mail", &destination.origin("mailer"))
        .writes("POST /messages")
        .keyed("1m");
    let folder = Folder::new().connection(&mail).flow("orders", &orders("orders", MAIL));
    TestHost::start(&folder).await
}

/// Settles, and checks all that must hold once the window is over; the run.
async fn sticks(destination: &Destination, host: &TestHost, writes_at_least: u64) -> Id {
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;

    assert_eq!(
        view.reason("mail"),
        Review::Doubt(Unsettled::WindowOver),
        "{:#?}",
        view.attempts("mail")
    );
    assert!(view.step("mail").state.in_doubt());
    for attempt in view.attempts("mail") {
        assert!(
            attempt.started_ms < START_MS + LAST_SEND_MS,
            "sent past the window: {attempt:?}"
        );
    }
    let item = host.review().await;
    assert_eq!(about_step(&item), (Review::Doubt(Unsettled::WindowOver), true));

    let kinds = view.attempts("mail").iter().skip(1).map(|attempt| attempt.kind);
    assert!(
        kinds.into_iter().all(|kind| kind == AttemptKind::Resend),
        "no plain retry"
    );

    let requests = destination.count("mailer").requests;
    let seen: Vec<_> = destination
        .requests_of("mailer")
        .into_iter()
        .filter(|request| request.method != "GET")
        .collect();
    assert!(seen.len() as u64 >= writes_at_least, "{seen:?}");
    assert!(
        seen.iter()
            .all(|request| request.header("idempotency-key") == seen[0].header("idempotency-key"))
    );
    assert!(seen.iter().all(|request| request.body == seen[0].body));

    let one_click = host.decide(&item, "retry", json!({ "reason": "looks fine" })).await;
    assert_eq!(one_click.status, 409, "no one-click retry: {one_click:?}");
    let unfounded = host.decide(&item, "retry", json!({ "stated_absent": true })).await;
    assert_eq!(unfounded.status, 400, "a statement needs its reason: {unfounded:?}");
    host.clock.advance(24 * 3_600_000);
    host.run(run).await;
    assert_eq!(
        destination.count("mailer").requests,
        requests,
        "nothing is sent past the window"
    );
    assert_eq!(destination.effects_total(), 1);
    assert!(host.clock.now_ms() > START_MS);
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_survives_refused_connections() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let host = host(&destination).await;
    destination.script_next("mailer", [Behaviour::effect_then_reset().and_refuse(3_600_000)]);
    sticks(&destination, &host, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_survives_a_401() {
    survives_status(401).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_survives_a_422() {
    survives_status(422).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_survives_being_told_to_wait() {
    survives_status(429).await;
}

/// The guest asks before it sends, and what it is told makes it crash in every attempt but the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_survives_a_connector_that_crashes_before_it_sends() {
    const SCRIPT: &str = r#"script = [
        { op = "send", method = "GET", path = "/messages" },
        { op = "trap", status = 503 },
        { op = "send", path = "/messages", json = { to = "a@example.com", subject = "Thanks" } },
        { op = "judge" },
    ]"#;
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let mail = Connection::puppet("mail", &destination.origin("mailer"))
        .settings(SCRIPT)
        .reads("GET /messages")
        .writes("POST /messages")
        .keyed("1m");
    let folder = Folder::new().connection(&mail).flow(
        "orders",
        &orders("orders", "[[steps]]\nid = \"mail\"\nuse = \"mail.do\"\n"),
    );
    let host = TestHost::start(&folder).await;
    destination.script_next("mailer", [Behaviour::effect_then_reset()]);
    destination.script(Rule::always("mailer", Behaviour::status(503)).reads().nth(2));
    let run = sticks(&destination, &host, 1).await;

    let attempts = host.run(run).await;
    let (first, later) = attempts.attempts("mail").split_first().unwrap();
    assert_eq!(
        (first.kind, first.outcome),
        (AttemptKind::Perform, Some(Outcome::Unknown))
    );
    assert!(!later.is_empty());
    for attempt in later {
        assert_eq!(
            (attempt.report, attempt.evidence),
            (Some(Report::Cut(Cut::Trap)), Some(Evidence::None))
        );
    }
    let writes = destination
        .requests_of("mailer")
        .iter()
        .filter(|request| request.method == "POST")
        .count();
    assert_eq!(writes, 1, "it crashed before it sent");
}

async fn survives_status(status: u16) {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let host = host(&destination).await;
    destination.script_next("mailer", [Behaviour::effect_then_reset()]);
    destination.script(Rule::always("mailer", Behaviour::status(status)));
    sticks(&destination, &host, 2).await;
}

/// The operator says something else about the destination while a step is in doubt: how often it was asked to do it, and
/// why the step waits for a person, if it does.
async fn after_a_change_of(dedup: &str, to: &str) -> (u64, Option<Review>) {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    destination.script_next("mailer", [Behaviour::effect_then_reset()]);
    let mail = |dedup: &str| {
        Connection::http("mail", &destination.origin("mailer"))
            .writes("POST /messages")
            .trust(&format!("dedup = {dedup}"))
    };
    let folder = Folder::new()
        .connection(&mail(dedup))
        .flow("orders", &orders("orders", MAIL));
    let mut host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    host.until(run, |view| view.stands("mail") == "retrying").await;
    host.apply(&folder.connection(&mail(to))).await.unwrap();
    host.restart().await;
    let view = host.settle(run).await;
    assert_eq!(destination.effects_total(), 1, "{:#?}", view.attempts("mail"));
    let review = (view.stands("mail") == "needs_review").then(|| view.reason("mail"));
    (destination.count("mailer").requests, review)
}

const KEYED: &str = "{ kind = \"header\", name = \"Idempotency-Key\", window = \"24h\" }";

/// The request that is in doubt was built under the old word: a resend must not rest on a key that it does not carry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resend_never_rests_on_a_key_that_the_recorded_request_does_not_carry() {
    let typing_error = KEYED.replace("Key", "Kye");
    let natural = "{ kind = \"natural\", key = [\"/body/text\"] }";
    let review = Some(Review::Doubt(Unsettled::NoWayToAsk));
    for (dedup, to) in [(typing_error.as_str(), KEYED), (KEYED, natural), (natural, KEYED)] {
        assert_eq!(after_a_change_of(dedup, to).await, (1, review), "{dedup} → {to}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resend_goes_on_where_only_the_window_was_corrected() {
    let shorter = KEYED.replace("24h", "12h");
    assert_eq!(after_a_change_of(KEYED, &shorter).await, (2, None));
}

/// C23: the operator points the connection elsewhere while a step is in doubt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_is_neither_asked_nor_sent_at_another_place() {
    let destination = Destination::start([Service::mailer(), Service::mailer().named("other")])
        .await
        .unwrap();
    let host = host(&destination).await;
    destination.script_next("mailer", [Behaviour::effect_then_reset()]);
    let run = host.order("orders", "A-1").await;
    host.until(run, |view| view.stands("mail") == "retrying").await;

    let moved = Connection::http("mail", &destination.origin("other"))
        .writes("POST /messages")
        .keyed("1m");
    let folder = Folder::new().connection(&moved).flow("orders", &orders("orders", MAIL));
    host.apply(&folder).await.unwrap();
    let view = host.settle(run).await;

    let Review::Doubt(Unsettled::Blocked(why)) = view.reason("mail") else {
        panic!("{:?}", view.reason("mail"));
    };
    assert_eq!(why, oncegate_domain::doubt::Blocked::PlaceChanged);
    assert_eq!(destination.count("other").connections, 0);
    assert_eq!(
        (destination.count("mailer").requests, destination.effects_total()),
        (1, 1)
    );
}
