//! C15: a destination that refuses every connection for hours while thousands of steps want to go, and whose credential
//! expires meanwhile. Nobody has to do anything about any step: all wait, nothing is burnt, and all complete once it is back.

use crate::MAIL;
use oncegate::clock::Clock;
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, eventually, log, orders};
use serde_json::Value;

/// The log of the whole process is listened to: nobody else calls a connection so.
const NAME: &str = "mail-of-c15";
const STEPS: usize = 4_000;
/// In doubt when the outage begins; the key protects the resend.
const IN_DOUBT: usize = 2;
/// Who finds out that it is away, before the others come.
const FIRST: usize = 10;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
const OUTAGE_MS: i64 = 3 * HOUR_MS;
const LOOK_MS: u64 = 5_400_000;
/// Our own pace, and that of the test once the destination is back.
const RATE_PER_S: u64 = 200;
const TICK_MS: u64 = 100;

async fn host(destination: &Destination) -> TestHost {
    let mail = Connection::mailer(&destination.origin("mailer"))
        .named(NAME)
        .concurrency(16)
        .rate(&format!("{RATE_PER_S}/s"))
        .probe("/account");
    let bearer = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { file = \"mailer\" }";
    let toml = mail.toml().replace("kind = \"none\"", bearer);
    let steps = MAIL.replace("mail.send", &format!("{NAME}.send"));
    let folder = Folder::new()
        .connection(&mail)
        .flow("orders", &orders("orders", &steps));
    folder.write(&format!("connections/{NAME}.toml"), toml.as_bytes());
    let host = TestHost::start(&folder).await;
    renew(&host, "the-old-token");
    host
}

fn renew(host: &TestHost, token: &str) {
    std::fs::write(host.data().join("secrets/mailer"), token).unwrap();
}

/// Waits until every step waits for a moment that has not come, and nothing of it is in front of a person.
async fn all_wait(host: &TestHost) {
    eventually("all steps wait", || async {
        let backlogs = host.inside().ledger.backlogs().await.unwrap();
        let now_ms = host.clock.now_ms();
        let waits = backlogs.iter().all(|(_, due_ms)| *due_ms > now_ms);
        // Who has a place waits for its turn by our own pace.
        host.clock.advance(10);
        (waits && host.inside().executor.seated() == 0).then_some(())
    })
    .await;
    assert_eq!(host.reviews().await.len(), 0);
}

async fn blocked(host: &TestHost) -> Value {
    host.client.get("connections").await["items"][0]["blocked"].clone()
}

/// How many attempts were counted together by those who came first and every twentieth of the others; none counted more
/// than two.
async fn attempts(host: &TestHost, runs: &[Id]) -> u32 {
    let mut counted = 0;
    for run in runs.iter().take(FIRST).chain(runs.iter().skip(FIRST).step_by(20)) {
        let attempts = host.run(*run).await.step("mail").state.attempts;
        assert!(attempts <= 2, "an outage burns no attempts, and not {attempts}");
        counted += attempts;
    }
    counted
}

/// The destination goes away, and all the others want to go.
async fn go_away(host: &TestHost, destination: &Destination) -> Vec<Id> {
    destination.script_next("mailer", vec![Behaviour::effect_then_reset(); IN_DOUBT]);
    let mut runs = Vec::new();
    for n in 0..IN_DOUBT {
        runs.push(host.order("orders", &format!("A-{n}")).await);
        host.until(runs[n], |view| view.stands("mail") == "retrying").await;
        host.clock.advance(10);
    }
    assert!(destination.refuse("mailer").await);
    for n in IN_DOUBT..FIRST {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    // It is looked at less and less often.
    for _ in 0..8 {
        all_wait(host).await;
        host.clock.advance(MINUTE_MS);
    }
    all_wait(host).await;
    let mut n = FIRST;
    while n < STEPS {
        // Several senders at a time.
        let order = async |n: usize| host.order("orders", &format!("A-{n}")).await;
        let (a, b, c, d, e) = tokio::join!(order(n), order(n + 1), order(n + 2), order(n + 3), order(n + 4));
        runs.extend([a, b, c, d, e]);
        n += 5;
    }
    runs
}

/// Lets time pass in ticks until all is done, and sees that no more goes out than the pace allows.
async fn comes_back(host: &TestHost, destination: &Destination) {
    let before = destination.writes_of("mailer");
    let mut passed_ms = 0;
    while destination.effects_total() < STEPS as u64 {
        let sent = destination.writes_of("mailer") - before;
        let allowed = passed_ms * RATE_PER_S / 1_000 + 1;
        assert!(sent <= allowed, "{sent} within {passed_ms} ms");
        assert!(passed_ms < 600_000, "{} are done", destination.effects_total());
        host.clock.advance(TICK_MS);
        passed_ms += TICK_MS;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_hours_and_a_credential_that_expires_in_it_cost_time_and_nothing_else() {
    log::listen();
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let mut host = host(&destination).await;
    let runs = go_away(&host, &destination).await;
    let began_ms = host.clock.now_ms();
    while host.clock.now_ms() < began_ms + OUTAGE_MS {
        all_wait(&host).await;
        host.clock.advance(LOOK_MS);
    }
    all_wait(&host).await;
    let tried = attempts(&host, &runs).await;
    assert!(tried <= 6, "a handful finds out, and not {tried}");
    let alerts = log::lines_about(NAME);
    assert_eq!(alerts.len(), 1, "one outage is one alert: {alerts:#?}");
    assert!(alerts[0].0 == "WARN" && alerts[0].1.contains("failing"), "{alerts:#?}");
    host.restart().await;
    all_wait(&host).await;

    // It is back, and knows the token no more.
    destination.script(Rule::always("mailer", Behaviour::status(401)));
    destination.script(Rule::always("mailer", Behaviour::status(401)).reads());
    assert!(destination.accept("mailer").await);
    host.clock.advance(LOOK_MS);
    all_wait(&host).await;
    let why = blocked(&host).await;
    assert!(why.is_string(), "whoever looks is told: {why}");
    let alerts = log::lines_about(NAME);
    assert_eq!(alerts.len(), 2, "and a dead token is another: {alerts:#?}");
    assert!(alerts[1].0 == "ERROR" && alerts[1].1.contains("blocked"), "{alerts:#?}");

    renew(&host, "the-new-token");
    destination.clear_script();
    destination.script(Rule::always("mailer", Behaviour::status_with(200, &[], "{}")).reads());
    host.clock.advance(LOOK_MS);
    comes_back(&host, &destination).await;
    all_wait(&host).await;
    attempts(&host, &runs).await;
    assert_eq!(blocked(&host).await, Value::Null);
    assert_eq!(log::lines_about(NAME).len(), 2);
    assert_eq!(
        (destination.effects_total(), destination.duplicates()),
        (STEPS as u64, vec![])
    );
    let first = host.run(runs[0]).await;
    let window_ms = first.step("mail").key_window_end_ms.unwrap() - first.attempts("mail")[0].started_ms;
    assert_eq!(window_ms, 24 * HOUR_MS / 10 * 9);
    assert!(
        first
            .attempts("mail")
            .iter()
            .all(|attempt| attempt.started_ms < began_ms + window_ms)
    );
}

/// What is in doubt waits no longer than its key protects it; what was never sent waits for as long as it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_window_that_closes_behind_an_open_breaker_leaves_the_doubt_to_a_person_and_sends_nothing() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let mail = Connection::http("mail", &destination.origin("mailer"))
        .writes("POST /messages")
        .keyed("1m");
    let folder = Folder::new().connection(&mail).flow("orders", &orders("orders", MAIL));
    let host = TestHost::start(&folder).await;
    destination.script_next("mailer", vec![Behaviour::effect_then_reset(); IN_DOUBT]);
    let mut doubtful = Vec::new();
    for n in 0..IN_DOUBT {
        doubtful.push(host.order("orders", &format!("doubtful-{n}")).await);
        host.until(doubtful[n], |view| view.stands("mail") == "retrying").await;
    }
    assert!(destination.refuse("mailer").await);
    let mut unsent = Vec::new();
    for n in 0..3 {
        unsent.push(host.order("orders", &format!("unsent-{n}")).await);
    }
    eventually("the breaker opens", || async {
        let connections = host.client.get("connections").await;
        connections["items"][0]["failing"].is_string().then_some(())
    })
    .await;

    host.clock.advance(MINUTE_MS);
    for run in &doubtful {
        let view = host.until(*run, |view| view.stands("mail") == "needs_review").await;
        assert_eq!(view.reason("mail"), Review::Doubt(Unsettled::WindowOver));
        assert!(view.step("mail").state.in_doubt());
    }
    assert!(destination.accept("mailer").await);
    for run in &unsent {
        let view = host.settle(*run).await;
        assert_eq!(view.state(), run::State::Completed, "{:#?}", view.attempts("mail"));
    }
    let sent = destination.requests_of("mailer");
    let of_doubtful = sent.iter().filter(|seen| seen.text().contains("doubtful")).count();
    assert_eq!((of_doubtful, sent.len()), (IN_DOUBT, IN_DOUBT + unsent.len()));
    assert_eq!(destination.effects_total() as usize, IN_DOUBT + unsent.len());
    assert_eq!(destination.duplicates(), []);
}
