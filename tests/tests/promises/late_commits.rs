//! C17: a destination that takes three times our timeout to carry out what it was sent. It can be asked and recognises no
//! keys, so one *absent* proves nothing, and there is one resend at most.

use crate::{CRM, HOST};
use oncegate::clock::parse_utc;
use oncegate_domain::run;
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, TestHost, orders};

fn crm(destination: &Destination) -> Connection {
    Connection::http("crm", &destination.origin("crm"))
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
}

fn methods(destination: &Destination) -> Vec<String> {
    let requests = destination.requests_of("crm").into_iter();
    requests.map(|request| request.method).collect()
}

/// The effect shows between the first look and the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_absent_at_the_first_look_and_there_at_the_second_is_not_sent_again() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&crm(&destination).asked("30s"))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    destination.script(Rule::next("crm", Behaviour::status(404)).reads());

    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;

    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(methods(&destination), ["POST", "GET", "GET"]);
    let asked = &view.attempts("crm")[1..];
    assert!(asked[0].started_ms - view.attempts("crm")[0].ended_ms.unwrap() >= 30_000);
    assert!(
        asked[1].started_ms - asked[0].ended_ms.unwrap() >= 30_000,
        "two looks, `lookup_after` apart"
    );
    assert_eq!(destination.effects_total(), 1);
}

/// In real time: the first request is lost before it gets there, and the resend takes three times our timeout as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_request_is_sent_once_more_after_two_looks_and_its_late_commit_is_found() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = crm(&destination).timeout("500ms").asked("2s");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", CRM));
    let host = ChildHost::start(HOST, &folder).await;
    destination.script_next(
        "crm",
        [Behaviour::hang_before_effect(60_000), Behaviour::late_effect(1_500)],
    );

    assert_eq!(host.order("orders", "A-1").await.unwrap().status, 202);
    let run = host.settled("A-1").await;

    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(methods(&destination), ["POST", "GET", "GET", "POST", "GET"]);
    let attempts = run["steps"][0]["timeline"].as_array().unwrap();
    let at_ms = |nth: usize, what: &str| parse_utc(attempts[nth][what].as_str().unwrap()).unwrap();
    for sent in [0, 3] {
        assert!(at_ms(sent, "ended_at") - at_ms(sent, "intent_at") >= 500, "{run:#}");
    }
    // From when the request before was given up, and not from when it was sent.
    for (before, asked) in [(0, 1), (1, 2), (3, 4)] {
        let after_ms = at_ms(asked, "started_at") - at_ms(before, "ended_at");
        assert!(after_ms >= 2_000, "asked before it can be seen: {run:#}");
    }
    assert_eq!(destination.effects_total(), 1);
}
