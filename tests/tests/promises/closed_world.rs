//! What a connector sees of the world: a clock that stands at the event's time, randomness of the step's own, nothing
//! else. And what hostile ones do to the run that called them.

use crate::PUPPET;
use oncegate_domain::outcome::{Outcome, Permanent};
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Connection, Destination, Folder, RunView, START_MS, Service, TestHost, orders};
use serde_json::{Value, json};

const SEND: &str = "{ op = \"send\", path = \"/messages\", json = { text = \"{{key}}\" } }";

async fn plays(destination: &Destination, script: &str) -> RunView {
    let connection = Connection::puppet("puppet", &destination.origin("chat"))
        .settings(&format!("script = [{script}]"))
        .writes("POST /messages");
    let folder = Folder::new()
        .connection(&connection)
        .flow("orders", &orders("orders", PUPPET));
    let host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    host.settle(run).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wasi_is_closed_and_the_same_step_always_sees_the_same() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let view = plays(&destination, &format!("{{ op = \"wasi\" }}, {SEND}")).await;
    assert_eq!(
        view.state(),
        run::State::Completed,
        "{:?}",
        view.step("puppet").last_error
    );
    let seen = view.step("puppet").output.clone().unwrap();
    let wasi = &seen["wasi"];
    assert_eq!(
        wasi["wall"],
        json!([[START_MS / 1_000, 0], [START_MS / 1_000, 0]]),
        "the event's time, standing"
    );
    for nothing in ["environment", "arguments", "files"] {
        assert_eq!(wasi[nothing], json!([]), "{nothing}");
    }
    assert_eq!(wasi["cwd"], Value::Null);
    assert_ne!(wasi["random"][0], wasi["random"][1], "random it is");
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connectors_that_hurt_before_sending_are_cut_and_nothing_is_sent() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    for harm in ["trap", "grow", "loop", "recurse", "exit"] {
        let view = plays(&destination, &format!("{{ op = \"{harm}\" }}, {SEND}")).await;
        assert_eq!(
            view.reason("puppet"),
            Review::Refused(Permanent::ConnectorFault),
            "{harm}"
        );
    }
    assert_eq!(destination.count("chat").connections, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_traps_after_sending_leaves_a_doubt() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let view = plays(&destination, &format!("{SEND}, {{ op = \"trap\" }}")).await;
    assert_eq!(view.attempts("puppet")[0].outcome, Some(Outcome::Unknown));
    assert!(view.reason("puppet").effect_may_exist());
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_that_breaks_its_schema_stops_what_needs_it_and_the_effect_stands() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let connection = Connection::puppet("puppet", &destination.origin("chat"))
        .action("strict")
        .settings(&format!("script = [{SEND}, {{ op = \"ok\", output = {{ id = 7 }} }}]"))
        .writes("POST /messages");
    let steps = "[[steps]]\nid = \"puppet\"\nuse = \"puppet.strict\"\n[[steps]]\nid = \"second\"\nuse = \
                 \"puppet.strict\"\nwith = { script = [\"{{ steps.puppet.output.id }}\"] }\n";
    let folder = Folder::new()
        .connection(&connection)
        .flow("orders", &orders("orders", steps));
    let host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!(view.stands("puppet"), "completed", "the effect stands");
    assert_eq!(view.stands("second"), "needs_review");
    assert!(!view.reason("second").effect_may_exist());
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}
