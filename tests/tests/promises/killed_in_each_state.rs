//! C14: one SIGKILL finds a step in every state. After the restart each stands where the ledger proves, says why, and can
//! be cancelled.

use crate::HOST;
use oncegate_tests::wait::PATIENCE;
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, eventually, orders};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// No service answers more slowly than this, unless it is told to. The killed exchanges outlast the test.
const TIMEOUT: &str = "60s";
/// The waits that the host must not forget outlast the test as well.
const RETRY: &str = "retry = { attempts = 4, first = \"20m\", longest = \"30m\" }";

/// The places where a step can be when the host is killed; each has a service, a connection and a flow of this name.
const PLACES: [&str; 6] = [
    "in-flight",
    "before-send",
    "backoff",
    "to-look-up",
    "told-to-wait",
    "looking-up",
];

fn connection(destination: &Destination, place: &str) -> Connection {
    let origin = destination.origin(place);
    let http = Connection::http(place, &origin)
        .timeout(TIMEOUT)
        .writes("POST /contacts");
    match place {
        // One at a time: whoever comes second is ready and waits for a place.
        "in-flight" => http.concurrency(1),
        "before-send" => Connection::puppet(place, &origin)
            .timeout(TIMEOUT)
            .settings(
                "script = [{ op = \"send\", method = \"GET\", path = \"/contacts\" }, { op = \"send\", path = \
                 \"/contacts\", json = { email = \"a@example.com\" } }, { op = \"judge\" }]",
            )
            .reads("GET /contacts")
            .writes("POST /contacts"),
        "backoff" => http.trust("refused_before_effect = [503]"),
        "to-look-up" => http.keyed("24h").asked("30m"),
        "looking-up" => http.timeout("2s").keyed("24h").asked("2s"),
        _ => http,
    }
}

fn flow(place: &str) -> String {
    let action = if place == "before-send" { "do" } else { "send" };
    let with = match place {
        "before-send" => String::new(),
        _ => "with = { path = \"/contacts\", body = { email = \"{{ body.order.id }}@example.com\" } }\n".to_owned(),
    };
    let step = |id: &str| format!("[[steps]]\nid = \"{id}\"\nuse = \"{place}.{action}\"\n{RETRY}\n{with}");
    let steps = match place {
        "backoff" => format!("{}{}", step("first"), step("second")),
        _ => step("first"),
    };
    orders(place, &steps)
}

fn script(destination: &Destination) {
    destination.script_next("in-flight", [Behaviour::effect_then_silence(600_000)]);
    destination.script(Rule::next("before-send", Behaviour::hang_before_effect(600_000)).reads());
    let ok = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("before-send", ok).reads());
    destination.script(Rule::always("backoff", Behaviour::status(503)));
    destination.script_next("to-look-up", [Behaviour::effect_then_reset()]);
    destination.script_next("told-to-wait", [Behaviour::retry_after("1200")]);
    destination.script_next("looking-up", [Behaviour::effect_then_reset()]);
    destination.script(Rule::next("looking-up", Behaviour::hang_before_effect(600_000)).reads());
}

/// Every run by its key.
async fn runs(host: &ChildHost) -> BTreeMap<String, Value> {
    let listed = host.client.get("runs").await;
    let mut runs = BTreeMap::new();
    for run in listed["items"].as_array().unwrap() {
        let shown = host.client.get(&format!("runs/{}", run["id"].as_str().unwrap())).await;
        runs.insert(shown["key"].as_str().unwrap().to_owned(), shown);
    }
    runs
}

/// The run of each key, once the first step of each stands as wanted. On the way every step that is not over says why.
async fn standing(host: &ChildHost, wanted: &[(&str, &str)]) -> BTreeMap<String, Value> {
    eventually("all steps stand as wanted", || async {
        let runs = runs(host).await;
        for step in runs.values().flat_map(|run| run["steps"].as_array().unwrap()) {
            let over = ["completed", "failed", "cancelled", "skipped"].contains(&step["state"].as_str().unwrap());
            assert!(over || step["why"].is_string(), "why is it here? {step:#}");
        }
        let stands = |(key, state): &(&str, &str)| runs.get(*key).is_some_and(|run| run["steps"][0]["state"] == *state);
        wanted.iter().all(stands).then_some(runs)
    })
    .await
}

async fn cancel(host: &ChildHost, run: &Value) {
    let path = format!("runs/{}/cancel", run["id"].as_str().unwrap());
    let answer = host.client.post(&path, &json!({ "reason": "not wanted" })).await;
    assert_eq!(answer.status, 200, "{answer:?}: {run:#}");
}

/// A host that has a step in every state, and is killed; what it showed before.
async fn killed(destination: &Destination) -> (ChildHost, BTreeMap<String, Value>) {
    let folder = PLACES.iter().fold(Folder::new(), |folder, place| {
        folder
            .connection(&connection(destination, place))
            .flow(place, &flow(place))
    });
    let mut host = ChildHost::start(HOST, &folder).await;
    script(destination);
    for place in PLACES {
        assert_eq!(host.order(place, place).await.unwrap().status, 202);
    }
    let sent = destination.until(|tally| {
        let reads = |service: &str| tally.services[service].requests;
        reads("in-flight") == 1 && reads("before-send") == 1
    });
    tokio::time::timeout(PATIENCE, sent).await.expect("the requests come");
    assert_eq!(host.order("in-flight", "next-in-line").await.unwrap().status, 202);
    let before = standing(
        &host,
        &[
            ("in-flight", "processing"),
            ("next-in-line", "pending"),
            // Under way, as the destination knows; the ledger knows of nothing before the intent.
            ("before-send", "pending"),
            ("backoff", "retrying"),
            ("to-look-up", "retrying"),
            ("told-to-wait", "waiting"),
            ("looking-up", "retrying"),
        ],
    )
    .await;
    let asked = destination.until(|tally| tally.services["looking-up"].requests == 2);
    tokio::time::timeout(PATIENCE, asked).await.expect("it is asked");
    host.kill();
    (host, before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_in_any_state_a_step_stands_where_the_ledger_proves_and_can_be_cancelled() {
    let services = PLACES.map(|place| Service::crm().named(place));
    let destination = Destination::start(services).await.unwrap();
    let (mut host, before) = killed(&destination).await;
    host.come_up().await;
    // Not a moment later: nobody holds what the killed process had sent, and nobody says so.
    let first = runs(&host).await["in-flight"]["steps"][0].clone();
    assert_eq!(
        (&first["state"], &first["attempts"]),
        (&json!("retrying"), &json!(1)),
        "{first:#}"
    );
    let after = standing(
        &host,
        &[
            // It may have been carried out; a person decides once the exchange counts as over. What waited for it goes on.
            ("in-flight", "retrying"),
            ("next-in-line", "completed"),
            // Nothing had been sent.
            ("before-send", "completed"),
            // Not a moment is forgotten, and none is added.
            ("backoff", "retrying"),
            ("to-look-up", "retrying"),
            ("told-to-wait", "waiting"),
            // Asking twice does no harm, and finds it.
            ("looking-up", "completed"),
        ],
    )
    .await;
    for key in ["backoff", "to-look-up", "told-to-wait"] {
        for field in ["why", "until", "attempts", "in_doubt_since"] {
            assert_eq!(
                after[key]["steps"][0][field], before[key]["steps"][0][field],
                "{key}: {field}"
            );
        }
    }
    assert!(after["in-flight"]["steps"][0]["in_doubt_since"].is_string());
    for place in PLACES {
        let once = match place {
            "in-flight" => 2,
            _ => 1,
        };
        assert_eq!(destination.writes_of(place), once, "{place}: nothing was sent twice");
    }
    assert_eq!(destination.duplicates(), []);

    for key in ["in-flight", "backoff", "to-look-up", "told-to-wait"] {
        cancel(&host, &after[key]).await;
    }
    host.kill();
    host.come_up().await;
    let cancelled = [
        ("in-flight", "cancelling"),
        ("backoff", "cancelled"),
        ("to-look-up", "cancelling"),
        ("told-to-wait", "cancelled"),
    ];
    let ended = standing(&host, &cancelled).await;
    assert_eq!(ended["backoff"]["state"], "cancelled", "the step behind it as well");
    for key in ["in-flight", "to-look-up"] {
        assert_eq!(ended[key]["state"], "cancelling", "{key}: a doubt is settled first");
    }
}
