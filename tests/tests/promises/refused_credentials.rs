//! A destination that answers 401: a dead token holds everybody up and burns nothing; a right that one step lacks goes to a
//! person and holds up nobody.

use crate::{CHAT, CRM};
use oncegate::clock::Clock;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::{Retry, Review, State, Wait};
use oncegate_tests::{
    Behaviour, Connection, Destination, Folder, Rule, RunView, Service, TestHost, about_step, eventually, orders,
    request,
};
use serde_json::{Value, json};

const MINUTE_MS: i64 = 60_000;

/// The chat, with a read that tells whether the credentials work.
fn probed(destination: &Destination) -> Connection {
    Connection::chat(&destination.origin("chat")).probe("/account")
}

async fn host(chat: &Connection) -> TestHost {
    let folder = Folder::new().connection(chat).flow("orders", &orders("orders", CHAT));
    TestHost::start(&folder).await
}

/// Nobody gets in: whatever changes something is answered 401, and so is the probe.
fn revoke(destination: &Destination, service: &str) {
    destination.script(Rule::always(service, Behaviour::status(401)));
    destination.script(Rule::always(service, Behaviour::status(401)).reads());
}

/// From now on all goes well, and the probe says so.
fn renew(destination: &Destination) {
    destination.clear_script();
    let well = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("chat", well).reads());
}

fn is_blocked(view: &RunView, step: &str) -> bool {
    let blocked = Wait::ConnectionBlocked;
    matches!(view.step(step).state.state, State::Waiting { reason, .. } if reason == blocked)
}

/// Waits until a run's step waits for its connection, which has the same name; when it is looked at again.
async fn blocked_until(host: &TestHost, run: Id, step: &str) -> i64 {
    // It waits as well for as long as nobody knows whether the connection is blocked.
    let next_look_ms = || {
        host.inside()
            .executor
            .blocked()
            .get(step)
            .map(|blocked| blocked.next_look_ms)
    };
    let is_told = |view: &RunView| is_blocked(view, step) && view.step(step).due_ms == next_look_ms();
    let view = host.until(run, is_told).await;
    assert_eq!(
        view.step(step).state.attempts,
        0,
        "a 401 under a block counts no attempt"
    );
    view.step(step).due_ms.unwrap()
}

/// The reads and the writes that came so far.
fn asked(destination: &Destination, service: &str) -> (usize, u64) {
    let requests = destination.requests_of(service);
    let reads = requests.iter().filter(|seen| seen.method == "GET").count();
    (reads, destination.writes_of(service))
}

async fn listed(host: &TestHost) -> Value {
    host.client.get("connections").await["items"][0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_token_blocks_the_connection_and_all_complete_in_order_once_it_is_mended() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let mut host = host(&probed(&destination).concurrency(1)).await;
    assert_eq!(listed(&host).await["blocked"], json!(null));
    revoke(&destination, "chat");
    let mut runs = Vec::new();
    for order in 1..=4 {
        runs.push(host.order("orders", &format!("A-{order}")).await);
        blocked_until(&host, runs[order - 1], "chat").await;
        host.clock.advance(1);
    }
    assert_eq!(
        asked(&destination, "chat"),
        (1, 1),
        "one is refused, one read finds out why"
    );

    // It is looked at every minute, over a restart as well, and nothing is sent for it but the read.
    for look in 2..=4 {
        let due_ms = blocked_until(&host, runs[0], "chat").await;
        assert!(due_ms - host.clock.now_ms() <= MINUTE_MS);
        if look == 3 {
            host.restart().await;
            assert_eq!(
                asked(&destination, "chat"),
                (look - 1, 1),
                "a restart is no reason to ask"
            );
            let why = listed(&host).await["blocked"].clone();
            assert!(why.as_str().unwrap().contains("GET /account"), "{why}");
        }
        host.clock.advance_to(due_ms);
        for run in &runs {
            host.until(*run, |view| {
                is_blocked(view, "chat") && view.step("chat").due_ms > Some(due_ms)
            })
            .await;
        }
        assert_eq!(asked(&destination, "chat"), (look, 1));
    }
    let connection = listed(&host).await;
    let why = connection["blocked"].as_str().unwrap();
    assert!(why.contains("GET /account") && why.contains("401"), "{connection}");
    let step = host.client.get(&format!("runs/{}", runs[3])).await["steps"][0].clone();
    assert!(step["last_error"].as_str().unwrap().contains("GET /account"), "{step}");
    assert_eq!(host.reviews().await.len(), 0);

    renew(&destination);
    for run in &runs {
        let view = host.settle(*run).await;
        assert_eq!(
            (view.state(), view.step("chat").state.attempts),
            (run::State::Completed, 1)
        );
    }
    let effects: Vec<String> = destination
        .effects_in_full()
        .iter()
        .map(|effect| effect.body.clone())
        .collect();
    let expected: Vec<String> = (1..=4).map(|order| format!("Order A-{order}")).collect();
    assert!(
        effects.iter().zip(&expected).all(|(body, order)| body.contains(order)),
        "{effects:?}"
    );
    assert_eq!((effects.len(), asked(&destination, "chat")), (4, (5, 5)));
    assert_eq!(listed(&host).await["blocked"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_401_for_one_step_goes_to_a_person_where_the_credentials_work() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&probed(&destination)).await;
    destination.script(Rule::always("chat", Behaviour::status(401)).text("A-2"));
    let well = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("chat", well).reads());

    for (order, state) in [
        ("A-1", run::State::Completed),
        ("A-2", run::State::NeedsReview),
        ("A-3", run::State::Completed),
    ] {
        let run = host.order("orders", order).await;
        assert_eq!(host.settle(run).await.state(), state, "{order}");
    }
    let item = host.review().await;
    assert_eq!(about_step(&item), (Review::Unauthorized, false));
    assert_eq!(asked(&destination, "chat"), (1, 3));

    // Once the right is there, one click is enough.
    renew(&destination);
    assert_eq!(
        host.decide(&item, "retry", json!({ "reason": "granted" })).await.status,
        200
    );
    assert_eq!(host.settle(item.run).await.state(), run::State::Completed);
    assert_eq!(destination.effects_total(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_probe_the_third_different_run_in_a_row_blocks() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&Connection::chat(&destination.origin("chat"))).await;
    revoke(&destination, "chat");
    let mut runs = Vec::new();
    for order in ["A-1", "A-2"] {
        let run = host.order("orders", order).await;
        let backoff = |view: &RunView| matches!(view.step("chat").state.state, State::Retrying { reason, .. } if reason == Retry::Backoff);
        let view = host.until(run, backoff).await;
        assert_eq!(view.step("chat").state.attempts, 1, "it counts");
        runs.push(run);
    }
    runs.push(host.order("orders", "A-3").await);
    let due_ms = blocked_until(&host, runs[2], "chat").await;
    assert_eq!(due_ms - host.clock.now_ms(), MINUTE_MS);
    // Those in backoff wait as well, and burn nothing more.
    host.clock.advance(10_000);
    for run in &runs {
        host.until(*run, |view| is_blocked(view, "chat")).await;
    }
    assert_eq!(asked(&destination, "chat"), (0, 3));

    // One step finds out each minute, and it costs nothing.
    for look in 1..=2 {
        let due_ms = host.run(runs[0]).await.step("chat").due_ms.unwrap();
        host.clock.advance_to(due_ms);
        for run in &runs {
            host.until(*run, |view| {
                is_blocked(view, "chat") && view.step("chat").due_ms > Some(due_ms)
            })
            .await;
        }
        assert_eq!(asked(&destination, "chat"), (0, 3 + look));
    }
    assert_eq!(host.reviews().await.len(), 0);
    destination.clear_script();
    for run in &runs {
        assert_eq!(host.settle(*run).await.state(), run::State::Completed);
    }
    assert_eq!((destination.effects_total(), asked(&destination, "chat").1), (3, 8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_never_gives_a_verdict_blocks_nobody_for_ever() {
    for (status, looks_max) in [(302, 1), (403, 1), (404, 1), (429, 4), (500, 4)] {
        let destination = Destination::start([Service::chat()]).await.unwrap();
        let host = host(&probed(&destination)).await;
        destination.script(Rule::always("chat", Behaviour::status(401)));
        destination.script(Rule::always("chat", Behaviour::status(status)).reads());
        let mut runs = Vec::new();
        for order in 1..=4 {
            runs.push(host.order("orders", &format!("A-{order}")).await);
            if order < 3 {
                host.until(runs[order - 1], |view| view.stands("chat") == "retrying")
                    .await;
            } else {
                blocked_until(&host, runs[order - 1], "chat").await;
            }
        }
        host.clock
            .advance_to(host.run(runs[3]).await.step("chat").due_ms.unwrap() - 1);
        for run in &runs {
            host.until(*run, |view| is_blocked(view, "chat")).await;
        }
        assert_eq!(destination.writes_of("chat"), 3);

        // The secret is put right; what the probe says stays as it is.
        destination.clear_script();
        destination.script(Rule::always("chat", Behaviour::status(status)).reads());
        let mended_ms = host.clock.now_ms();
        for run in &runs {
            assert_eq!(host.settle(*run).await.state(), run::State::Completed, "{status}");
        }
        let took_ms = host.clock.now_ms() - mended_ms;
        assert!(took_ms <= looks_max * MINUTE_MS + 5_000, "{status}: {took_ms} ms");
        assert_eq!(destination.effects_total(), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lookup_under_a_block_waits_and_settles_the_doubt_afterwards() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = Connection::crm(&destination.origin("crm")).probe("/account");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    destination.script(Rule::always("crm", Behaviour::status(401)).reads());
    let run = host.order("orders", "A-1").await;
    let view = host.until(run, |view| view.stands("crm") == "retrying").await;
    host.clock.advance_to(view.step("crm").due_ms.unwrap());
    let view = host.until(run, |view| is_blocked(view, "crm")).await;
    assert_eq!(
        (view.step("crm").state.attempts, view.step("crm").state.lookups),
        (1, 0)
    );

    destination.clear_script();
    destination.script(Rule::next("crm", Behaviour::status_with(200, &[], "{}")).reads());
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), view.step("crm").state.lookups),
        (run::State::Completed, 1)
    );
    assert_eq!((destination.effects_total(), destination.writes_of("crm")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_401_for_a_token_that_has_been_replaced_meanwhile_is_tried_again() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = probed(&destination);
    let bearer = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { file = \"chat\" }";
    let toml = chat.toml().replace("kind = \"none\"", bearer);
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    folder.write("connections/chat.toml", toml.as_bytes());
    let host = TestHost::start(&folder).await;
    let secret = host.data().join("secrets/chat");
    std::fs::write(&secret, "the-old-token").unwrap();
    let refused = Behaviour {
        answer_after_ms: 500,
        ..Behaviour::status(401)
    };
    destination.script_next("chat", [refused]);
    let well = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("chat", well).reads());

    let run = host.order("orders", "A-1").await;
    destination.until(|tally| tally.services["chat"].requests == 1).await;
    std::fs::write(&secret, "the-new-token").unwrap();
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), view.step("chat").state.attempts),
        (run::State::Completed, 2)
    );
    assert_eq!(asked(&destination, "chat"), (0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_breaker_asks_the_probe_before_it_sends_a_step() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = probed(&destination).trust("refused_before_effect = [503]");
    let host = host(&chat).await;
    destination.script(Rule::always("chat", Behaviour::status(503)));
    destination.script(Rule::always("chat", Behaviour::status(503)).reads());
    let mut runs = Vec::new();
    for order in 1..=4 {
        let run = host.order("orders", &format!("A-{order}")).await;
        host.until(run, |view| matches!(view.stands("chat"), "retrying" | "waiting"))
            .await;
        runs.push(run);
    }
    let writes = destination.writes_of("chat");
    assert_eq!(writes, 3, "the fourth waits, unsent");
    let connection = listed(&host).await;
    let why = connection["failing"].as_str().unwrap();
    assert!(why.contains("3 different steps") && why.contains("503"), "{connection}");
    assert!(connection["failing_since"].is_string() && connection["failing_until"].is_string());
    let ready = request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap();
    assert_eq!(ready.status, 200);
    for probes in 1..=3 {
        // Whoever waits for the breaker comes back when it lets somebody find out.
        let view = host.run(runs[3]).await;
        host.clock.advance_to(view.step("chat").due_ms.unwrap());
        destination.until(|_| asked(&destination, "chat").0 >= probes).await;
        host.until(runs[3], |after| after.step("chat").due_ms > view.step("chat").due_ms)
            .await;
    }
    assert_eq!(
        destination.writes_of("chat"),
        writes,
        "nothing is sent while the read says that it is not back"
    );
    renew(&destination);
    for run in &runs {
        assert_eq!(host.settle(*run).await.state(), run::State::Completed);
    }
    assert_eq!((destination.effects_total(), host.reviews().await.len()), (4, 0));
    assert_eq!(listed(&host).await["failing"], json!(null));
}

/// The operator need not wait for the minute to be over, and neither do those who wait: as long as the clock stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_apply_that_mends_it_all_who_wait_are_looked_at_at_once() {
    for restarted in [false, true] {
        let destination = Destination::start([Service::chat()]).await.unwrap();
        let mut host = host(&probed(&destination)).await;
        revoke(&destination, "chat");
        let mut runs = Vec::new();
        for order in 1..=4 {
            runs.push(host.order("orders", &format!("A-{order}")).await);
            blocked_until(&host, runs[order - 1], "chat").await;
        }
        if restarted {
            host.restart().await;
        }
        let applied = |concurrency: u32| {
            let chat = probed(&destination).concurrency(concurrency);
            Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT))
        };
        // Not mended yet: one finds out, and nothing is lost by it.
        host.clock.advance(1_000);
        let before = listed(&host).await["next_look_at"].as_str().unwrap().to_owned();
        host.apply(&applied(2)).await.unwrap();
        eventually("it was looked at in vain", || async {
            (listed(&host).await["next_look_at"].as_str() > Some(before.as_str())).then_some(())
        })
        .await;
        renew(&destination);
        host.apply(&applied(3)).await.unwrap();
        for run in &runs {
            host.until(*run, |view| view.stands("chat") == "completed").await;
        }
        assert_eq!((destination.effects_total(), destination.writes_of("chat")), (4, 5));
    }
}
