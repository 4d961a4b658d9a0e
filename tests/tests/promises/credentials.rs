//! What proves who somebody is: the secrets of connections, and the tokens of people.

use crate::CHAT;
use oncegate::api::token_hash;
use oncegate::clock::Clock;
use oncegate::ledger::NewToken;
use oncegate_domain::run;
use oncegate_domain::step::{State, Wait};
use oncegate_tests::{Client, Connection, Destination, Folder, RunView, Service, TestHost, orders};
use serde_json::json;

const SECRET: &str = "the-secret-of-the-chat";

/// The chat, which wants a secret that the operator has not put there yet.
async fn host() -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat"));
    let bearer = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { file = \"chat\" }";
    let toml = chat.toml().replace("kind = \"none\"", bearer);
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    folder.write("connections/chat.toml", toml.as_bytes());
    let host = TestHost::start(&folder).await;
    (destination, host)
}

fn is_blocked(view: &RunView) -> bool {
    let blocked = Wait::ConnectionBlocked;
    matches!(view.step("chat").state.state, State::Waiting { reason, .. } if reason == blocked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_wait_for_a_missing_secret_and_go_on_by_themselves_once_it_is_there() {
    let (destination, mut host) = host().await;
    let run = host.order("orders", "A-1").await;
    let mut view = host.until(run, is_blocked).await;
    // Whoever looks again finds the same, minute by minute, over a restart as well.
    for looks in 0..3 {
        let due_ms = view.step("chat").due_ms.unwrap();
        assert_eq!(due_ms - host.clock.now_ms(), 60_000, "look {looks}");
        if looks == 1 {
            host.restart().await;
        }
        host.clock.advance_to(due_ms);
        view = host.until(run, |view| view.step("chat").due_ms > Some(due_ms)).await;
        assert!(is_blocked(&view), "{:?}", view.step("chat").state);
    }
    let shown = host.client.get(&format!("runs/{run}")).await;
    let step = &shown["steps"][0];
    assert_eq!((&step["state"], &step["attempts"]), (&json!("waiting"), &json!(0)));
    assert!(
        step["why"].as_str().unwrap().contains("credentials are missing"),
        "{step}"
    );
    assert!(
        step["last_error"].as_str().unwrap().contains("secret file chat"),
        "{step}"
    );
    assert_eq!(host.reviews().await.len(), 0);
    assert_eq!(destination.count("chat").connections, 0);

    std::fs::write(host.data().join("secrets/chat"), SECRET).unwrap();
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), view.step("chat").state.attempts),
        (run::State::Completed, 1)
    );
    assert_eq!(destination.effects_total(), 1);
    let sent = &destination.requests_of("chat")[0];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

/// A pipe would be waited for until somebody writes to it, a file that never ends read until the memory is full, and a line
/// end within a secret would burn the attempts of every step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_used_as_a_secret_blocks_its_connection_and_holds_the_host_up_in_nothing() {
    let (destination, mut host) = host().await;
    let place = host.data().join("secrets/chat");
    let put = |number: usize| match number {
        0 => rustix::fs::mkfifoat(rustix::fs::CWD, &place, rustix::fs::Mode::RWXU).unwrap(),
        1 => std::fs::File::create(&place).unwrap().set_len(3 << 30).unwrap(),
        2 => std::fs::write(&place, "the-secret\nof-the-chat").unwrap(),
        _ => std::fs::write(&place, "the-secret\0of-the-chat").unwrap(),
    };
    for (number, why) in [
        "a pipe (FIFO)",
        "3221225472 bytes",
        "do not fit there",
        "do not fit there",
    ]
    .into_iter()
    .enumerate()
    {
        put(number);
        host.restart().await;
        let run = host.order("orders", &format!("A-{number}")).await;
        host.until(run, is_blocked).await;
        let shown = host.client.get(&format!("runs/{run}")).await;
        let step = &shown["steps"][0];
        assert_eq!(step["attempts"], 0, "{step}");
        assert!(step["last_error"].as_str().unwrap().contains(why), "{step}");
        let notices = host.inside().notices("127.0.0.1:8080".parse().unwrap()).await;
        assert!(notices.len() == 1 && notices[0].contains(why), "{notices:?}");
        assert_eq!(destination.count("chat").requests, number as u64);

        std::fs::remove_file(&place).unwrap();
        std::fs::write(&place, SECRET).unwrap();
        assert_eq!(host.settle(run).await.state(), run::State::Completed);
        std::fs::remove_file(&place).unwrap();
    }
}

/// Neither reads nor changes anything.
async fn refused(client: &Client, host: &TestHost) {
    for answer in [
        client.ask("runs").await,
        client.apply(&[], &[]).await,
        client
            .post("runs/01J0000000000000000000000A/cancel", &json!({ "reason": "x" }))
            .await,
    ] {
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    let snapshot = host.inside().catalog.snapshot();
    assert!(snapshot.connection("chat").is_some(), "an empty folder was applied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_replaces_the_token_file_locks_the_old_token_out() {
    let (_destination, mut host) = host().await;
    let old = host.client.token.clone();
    host.restart().await;
    assert_eq!(host.client.token, old, "a restart alone changes nothing");

    host.stop().await;
    std::fs::remove_file(host.data().join("token")).unwrap();
    host.come_up().await;
    assert_ne!(host.client.token, old);
    assert_eq!(host.client.ask("runs").await.status, 200);
    let with_old = Client {
        token: old,
        ..host.client.clone()
    };
    refused(&with_old, &host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_is_refused_at_once() {
    let (_destination, host) = host().await;
    assert_eq!(host.client.ask("runs").await.status, 200);
    let ledger = &host.inside().ledger;
    for token in ledger.tokens().await.unwrap() {
        ledger
            .revoke_token(token.id, "admin", host.clock.now_ms())
            .await
            .unwrap();
    }
    refused(&host.client, &host).await;
}

/// Not valid from that moment on, and valid until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_refused_from_the_moment_at_which_it_expires() {
    let (_destination, host) = host().await;
    let now_ms = host.clock.now_ms();
    let token = NewToken {
        name: "ada".to_owned(),
        hash: token_hash("of-a-second"),
        role: "admin".to_owned(),
        expires_ms: Some(now_ms + 1_000),
        at_ms: now_ms,
    };
    host.inside().ledger.save_token(token).await.unwrap();
    let client = Client {
        token: "of-a-second".to_owned(),
        ..host.client.clone()
    };
    host.clock.advance(999);
    assert_eq!(client.ask("runs").await.status, 200);
    host.clock.advance(1);
    refused(&client, &host).await;
    assert_eq!(
        host.client.ask("runs").await.status,
        200,
        "the others are as good as before"
    );
}
