//! What callers of hooks are told, and how often they may call.

use crate::CHAT;
use oncegate_domain::run;
use oncegate_tests::{
    Behaviour, Connection, Destination, Folder, HOOK_SECRET, Rule, Service, TestHost, eventually, orders,
};
use serde_json::json;
use std::time::Duration;

async fn host(flow: &str) -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", flow);
    let host = TestHost::start(&folder).await;
    (destination, host)
}

const BEARER: &str = "{ scheme = \"bearer\", secret = \"hook\" }";
const ORDER: &str = r#"{"order":{"id":"A-1"}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_hook_tells_nobody_whether_a_key_existed() {
    let (destination, host) = host(&orders("orders", CHAT).replace(BEARER, "\"none\"")).await;
    let mut told = Vec::new();
    for body in [ORDER, ORDER, r#"{"order":{"id":"A-1"},"other":1}"#] {
        let answer = host.client.deliver("orders", None, body).await.unwrap();
        told.push((answer.status, answer.text));
    }
    assert_eq!(told[0], (202, json!({ "accepted": true }).to_string()));
    assert!(told.iter().all(|answer| answer == &told[0]), "{told:?}");
    let runs = host.client.get("runs").await;
    let run = runs["items"][0]["id"].as_str().unwrap().parse().unwrap();
    host.settle(run).await;
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verified_hook_takes_nothing_without_its_secret() {
    let (destination, host) = host(&orders("orders", CHAT)).await;
    for secret in [None, Some("wrong"), Some("")] {
        let answer = host.client.deliver("orders", secret, ORDER).await.unwrap();
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    assert_eq!(host.client.get("counts").await["events"], 0);
    assert_eq!(destination.count("chat").connections, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_an_event_is_refused_and_nothing_is_stored() {
    let (_destination, host) = host(&orders("orders", CHAT)).await;
    let bad = [
        (r#"{"order":{"id":"A-1","id":"A-2"}}"#, 400),
        (r#"{"order":{}}"#, 400),
        (r#"{"order":{"id":""}}"#, 400),
        (r#"{"order":{"id":"  "}}"#, 400),
        ("{\"order\":", 400),
        ("", 400),
    ];
    for (body, status) in bad {
        let answer = host.deliver("orders", body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        assert!(
            answer.json()["detail"]
                .as_str()
                .is_some_and(|detail| !detail.is_empty()),
            "{answer:?}"
        );
    }
    assert_eq!(host.deliver("nothing-here", ORDER).await.status, 404);
    // One byte makes the difference.
    let keyed = |bytes: usize| json!({ "order": { "id": "x".repeat(bytes) } }).to_string();
    let large = |bytes: usize| {
        let body = |filler: usize| format!(r#"{{"order":{{"id":"A-1"}},"x":"{}"}}"#, "x".repeat(filler));
        body(bytes - body(0).len())
    };
    for (past, status) in [(keyed(513), 400), (large((1 << 20) + 1), 413)] {
        let answer = host.deliver("orders", &past).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    assert_eq!(host.client.get("counts").await["events"], 0);
    for at in [keyed(512), large(1 << 20)] {
        let answer = host.deliver("orders", &at).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_is_called_too_often_says_when_to_come_again() {
    called_too_often("{ per_source = \"3/m\" }").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_all_together_call_too_often_says_when_to_come_again() {
    called_too_often("{ total = \"3/m\" }").await;
}

/// Three calls in a minute are taken, the fourth when it comes at the time that it was told.
async fn called_too_often(limit: &str) {
    let flow = orders("orders", CHAT).replace("key = ", &format!("limit = {limit}\nkey = "));
    let (destination, host) = host(&flow).await;
    let order = |n: u32| format!(r#"{{"order":{{"id":"A-{n}"}}}}"#);
    for n in 0..3 {
        let answer = host.deliver("orders", &order(n)).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        // Time must not jump while a request is under way: to the host that is a machine that was suspended.
        host.settle(oncegate_tests::run_of(&answer)).await;
    }
    let answer = host.deliver("orders", &order(3)).await;
    assert_eq!(answer.status, 429, "{answer:?}");
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    host.clock.advance(seconds * 1_000);
    let answer = host.deliver("orders", &order(3)).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let run = host.settle(oncegate_tests::run_of(&answer)).await;
    assert_eq!(run.state(), run::State::Completed);
    assert_eq!(destination.effects_total(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_wants_the_result_gets_it_and_a_duplicate_gets_the_same() {
    let flow = orders("orders", CHAT).replace("key = ", "respond = \"result\"\nkey = ");
    let (destination, host) = host(&flow).await;
    let first = host.deliver("orders", ORDER).await;
    assert_eq!(first.status, 200, "{first:?}");
    let told = first.json();
    assert_eq!(
        (&told["state"], &told["duplicate"]),
        (&json!("completed"), &json!(false))
    );
    assert_eq!(told["result"]["chat"]["body"]["id"], "chat-1");

    let second = host.deliver("orders", ORDER).await;
    assert_eq!(second.status, 200, "{second:?}");
    assert_eq!(
        (&second.json()["result"], &second.json()["duplicate"]),
        (&told["result"], &json!(true))
    );
    assert_eq!(destination.effects_total(), 1);
}

/// A caller holds a connection open, and so do we: after a while it is told how things stand, and the run goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_wants_the_result_is_kept_for_25_seconds_and_not_longer() {
    let flow = orders("orders", CHAT).replace("key = ", "respond = \"result\"\nkey = ");
    let (destination, host) = host(&flow).await;
    destination.script_next("chat", [Behaviour::retry_after("600")]);
    let client = host.client.clone();
    let mut caller = tokio::spawn(async move { client.deliver("orders", Some(HOOK_SECRET), ORDER).await.unwrap() });
    let run = eventually("the run is there", || async {
        host.client.get("runs").await["items"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    let run = run.await.parse().unwrap();
    host.until(run, |view| view.stands("chat") == "waiting").await;
    host.clock.advance(24_999);
    let early = tokio::time::timeout(Duration::from_millis(200), &mut caller).await;
    assert!(early.is_err(), "{early:?}");
    host.clock.advance(1);
    let told = caller.await.unwrap();
    assert_eq!(
        (told.status, &told.json()["state"]),
        (202, &json!("waiting")),
        "{told:?}"
    );
    assert_eq!(host.settle(run).await.state(), run::State::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_wants_the_result_of_what_needs_a_person_is_told_so() {
    let flow = orders("orders", CHAT).replace("key = ", "respond = \"result\"\nkey = ");
    let (destination, host) = host(&flow).await;
    destination.script(Rule::always("chat", Behaviour::status(422)));
    let answer = host.deliver("orders", ORDER).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json()["state"], "needs_review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_api_cannot_read_is_answered_like_every_other_error() {
    let (_destination, host) = host(&orders("orders", CHAT)).await;
    let answers = [
        (400, host.client.ask("runs?limit=-1").await),
        (400, host.client.ask("review?page=2").await),
        (405, host.client.post("runs", &json!({})).await),
        (
            422,
            host.client
                .post("apply", &json!({ "files": [], "unheard_of": 1 }))
                .await,
        ),
        (
            422,
            host.client
                .post("runs/01J0000000000000000000000A/cancel", &json!({ "reason": 1 }))
                .await,
        ),
    ];
    for (status, answer) in answers {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{answer:?}"
        );
        assert!(answer.json()["detail"].is_string(), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_says_at_its_start_what_the_first_event_would_find_out() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat"));
    let folder = Folder::new()
        .connection(&chat)
        .flow("orders", &orders("orders", CHAT).replace(BEARER, "\"none\""));
    let secret = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { env = \"ONCEGATE_SECRET_UNSET\" }";
    let unset = chat.toml().replace("kind = \"none\"", secret);
    folder.write("connections/chat.toml", unset.as_bytes());
    let host = TestHost::start(&folder).await;
    let said = host.inside().notices("0.0.0.0:8080".parse().unwrap()).await;
    for (notice, about) in said
        .iter()
        .zip(["ONCEGATE_SECRET_UNSET", "/hooks/orders", "0.0.0.0:8080"])
    {
        assert!(notice.contains(about), "{said:?}");
    }
    assert_eq!(said.len(), 3, "{said:?}");
}
