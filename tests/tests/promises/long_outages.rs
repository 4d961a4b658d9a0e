//! C15: a destination that refuses every connection for hours while many steps want to go, and whose credential expires
//! meanwhile. Nobody has to do anything about any step: all wait, nothing is burnt, and all complete once it is back.

use crate::MAIL;
use oncegate::clock::Clock;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, eventually, orders};
use serde_json::Value;

const STEPS: usize = 24;
const OUTAGE_MS: i64 = 3 * 3_600_000;
const LOOK_MS: u64 = 10 * 60_000;

async fn host(destination: &Destination) -> TestHost {
    let mail = Connection::mailer(&destination.origin("mailer"))
        .concurrency(2)
        .probe("/account");
    let bearer = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { file = \"mailer\" }";
    let toml = mail.toml().replace("kind = \"none\"", bearer);
    let folder = Folder::new().connection(&mail).flow("orders", &orders("orders", MAIL));
    folder.write("connections/mail.toml", toml.as_bytes());
    let host = TestHost::start(&folder).await;
    renew(&host, "the-old-token");
    host
}

fn renew(host: &TestHost, token: &str) {
    std::fs::write(host.data().join("secrets/mailer"), token).unwrap();
}

/// Waits until every step waits for a moment that has not come. Nothing of it is in front of a person, and an attempt was
/// counted for those alone who found the destination away before anybody knew.
async fn all_wait(host: &TestHost, runs: &[Id]) {
    eventually("all steps wait", || async {
        for run in runs {
            let view = host.run(*run).await;
            let step = view.step("mail");
            if !["waiting", "retrying"].contains(&view.stands("mail")) || step.due_ms <= Some(host.clock.now_ms()) {
                return None;
            }
        }
        Some(())
    })
    .await;
    assert_eq!(host.reviews().await.len(), 0);
    let mut tried = 0;
    for run in runs {
        let attempts = host.run(*run).await.step("mail").state.attempts;
        assert!(attempts <= 1, "an outage burns no attempts, and not {attempts}");
        tried += attempts;
    }
    assert!(tried <= 4, "a handful finds out, and not {tried}");
}

async fn blocked(host: &TestHost) -> Value {
    host.client.get("connections").await["items"][0]["blocked"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_hours_and_a_credential_that_expires_in_it_cost_time_and_nothing_else() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let mut host = host(&destination).await;
    assert!(destination.refuse("mailer").await);
    let mut runs = Vec::new();
    for n in 0..STEPS {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    let began_ms = host.clock.now_ms();
    while host.clock.now_ms() < began_ms + OUTAGE_MS {
        all_wait(&host, &runs).await;
        host.clock.advance(LOOK_MS);
    }
    host.restart().await;
    all_wait(&host, &runs).await;

    // It is back, and knows the token no more.
    destination.script(Rule::always("mailer", Behaviour::status(401)));
    destination.script(Rule::always("mailer", Behaviour::status(401)).reads());
    assert!(destination.accept("mailer").await);
    for _ in 0..3 {
        host.clock.advance(LOOK_MS);
        all_wait(&host, &runs).await;
    }
    assert!(
        blocked(&host).await.is_string(),
        "whoever looks is told: {:?}",
        blocked(&host).await
    );

    renew(&host, "the-new-token");
    destination.clear_script();
    destination.script(Rule::always("mailer", Behaviour::status_with(200, &[], "{}")).reads());
    for run in &runs {
        let view = host.settle(*run).await;
        assert_eq!(
            view.state(),
            run::State::Completed,
            "{:?}",
            view.step("mail").last_error
        );
        assert!(view.step("mail").state.attempts <= 2);
    }
    assert_eq!(blocked(&host).await, Value::Null);
    assert_eq!(destination.effects_total(), STEPS as u64);
    assert_eq!(destination.duplicates(), []);
}
