//! C10: numbers go through digit by digit.

use oncegate_domain::run;
use oncegate_tests::{Connection, Destination, Folder, Service, TestHost, orders};

const STEP: &str = r#"[[steps]]
id = "chat"
use = "chat.send"
[steps.with]
path = "/messages"
body = { text = "{{ body.order.id }}", value = "{{ body.value }}", all = "{{ body.nested }}" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_beyond_the_precision_of_a_double_are_two_keys_and_every_digit_arrives() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", STEP));
    let host = TestHost::start(&folder).await;

    let ids = ["9007199254740992", "9007199254740993", "8202522731445525542"];
    let mut runs = Vec::new();
    for id in ids {
        let body = format!(r#"{{"order":{{"id":{id}}},"value":12.30,"nested":{{"n":{id},"one":1.0,"none":-0}}}}"#);
        let answer = host.deliver("orders", &body).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        let run = oncegate_tests::run_of(&answer);
        let view = host.settle(run).await;
        assert_eq!(view.state(), run::State::Completed, "{:?}", view.0.steps);
        assert_eq!(view.0.run.key, id, "the key in the log is what came in");
        runs.push(run);
    }
    runs.dedup();
    assert_eq!(runs.len(), 3, "three events");
    let bodies: Vec<String> = destination.requests_of("chat").iter().map(|seen| seen.text()).collect();
    let expected = ids.map(|id| format!(r#"{{"all":{{"n":{id},"none":-0,"one":1.0}},"text":{id},"value":12.30}}"#));
    let sorted = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap().to_string();
    assert_eq!(
        bodies.iter().map(|body| sorted(body)).collect::<Vec<_>>(),
        expected.map(|body| sorted(&body))
    );
    for (body, id) in bodies.iter().zip(ids) {
        for digits in [
            format!("\"n\":{id}"),
            "12.30".into(),
            "\"one\":1.0".into(),
            "\"none\":-0".into(),
        ] {
            assert!(body.contains(&digits), "{digits} did not arrive as it came in: {body}");
        }
    }
}

/// The rule for spellings of one number: the text decides, in key, log and request alike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_spellings_of_a_number_are_other_keys_and_are_sent_as_they_are_shown() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", STEP));
    let host = TestHost::start(&folder).await;

    for (came, shown) in [
        ("1000", "1000"),
        ("1e3", "1e+3"),
        ("1.0", "1.0"),
        ("1", "1"),
        ("-0", "-0"),
        ("0", "0"),
    ] {
        let body = format!(r#"{{"order":{{"id":{came}}},"value":1,"nested":[]}}"#);
        let answer = host.deliver("orders", &body).await;
        assert_eq!(answer.json()["duplicate"], false, "{came} is a key of its own");
        let view = host.settle(oncegate_tests::run_of(&answer)).await;
        assert_eq!(view.0.run.key, shown);
        let sent = destination.requests_of("chat").last().unwrap().text();
        assert!(sent.contains(&format!("\"text\":{shown}")), "{came}: {sent}");
    }
    assert_eq!(destination.effects_total(), 6);
}
