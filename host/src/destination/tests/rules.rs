//! Which request gets which behaviour.

use super::raw::{Left, ask, get, once, post};
use crate::destination::{Behaviour, Destination, Rule, Service};
use serde_json::json;

/// The statuses of writes with these texts (and as keys the same), one after the other.
async fn statuses(destination: &Destination, texts: &[&str]) -> Vec<String> {
    let mut statuses = Vec::new();
    for text in texts {
        let request = post("/messages", text, &json!({"text": text}).to_string());
        let answer = ask(destination.address("mailer"), &request).await;
        statuses.push(answer[9..12].to_owned());
    }
    statuses
}

async fn mailer(rules: impl IntoIterator<Item = Rule>) -> Destination {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    rules.into_iter().for_each(|rule| destination.script(rule));
    destination
}

#[tokio::test]
async fn rules_are_a_queue() {
    let destination = mailer([]).await;
    destination.script_next(
        "mailer",
        [Behaviour::status(503), Behaviour::usual(), Behaviour::status(500)],
    );
    assert_eq!(
        statuses(&destination, &["a", "b", "c", "d"]).await,
        ["503", "201", "500", "201"]
    );
}

#[tokio::test]
async fn a_rule_may_hold_always_or_several_times() {
    let destination = mailer([
        Rule::next("mailer", Behaviour::status(500)).times(2),
        Rule::always("mailer", Behaviour::status(503)),
    ])
    .await;
    assert_eq!(
        statuses(&destination, &["a", "b", "c", "d"]).await,
        ["500", "500", "503", "503"]
    );
    destination.clear_script();
    assert_eq!(statuses(&destination, &["e"]).await, ["201"]);
}

#[tokio::test]
async fn a_rule_may_ask_for_the_nth_for_a_text_and_for_a_key() {
    let destination = mailer([
        Rule::next("mailer", Behaviour::status(503)).nth(3),
        Rule::always("mailer", Behaviour::status(422)).text("bad"),
        Rule::next("mailer", Behaviour::status(500)).key("k"),
    ])
    .await;
    let statuses = statuses(&destination, &["a", "bad lead", "c", "k", "bad lead", "k"]).await;
    assert_eq!(statuses, ["201", "422", "503", "500", "422", "201"]);
}

#[tokio::test]
async fn rules_about_writes_leave_reads_alone_and_the_other_way_round() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let address = destination.address("crm");
    destination.script(Rule::always("crm", Behaviour::status(503)));
    assert!(ask(address, &get("/account")).await.starts_with("HTTP/1.1 200"));
    destination.script(Rule::next("crm", Behaviour::status(401)).reads());
    assert!(ask(address, &get("/account")).await.starts_with("HTTP/1.1 401"));
    assert!(
        ask(address, &post("/contacts", "k", "{}"))
            .await
            .starts_with("HTTP/1.1 503")
    );
}

#[tokio::test]
async fn a_rule_that_reads_little_waits_for_its_turn() {
    let destination = mailer([]).await;
    destination.script_next("mailer", [Behaviour::status(503), Behaviour::reset_after_head()]);
    let address = destination.address("mailer");
    assert_eq!(statuses(&destination, &["a"]).await, ["503"]);
    assert_eq!(
        once(address, &post("/messages", "b", "{}"), 20_000).await.1,
        Left::Reset
    );
    assert_eq!(statuses(&destination, &["c"]).await, ["201"]);

    // With a condition on the text all of it is read first.
    destination.script(Rule::next("mailer", Behaviour::reset_after_half()).text("bad"));
    assert_eq!(statuses(&destination, &["good"]).await, ["201"]);
    assert_eq!(
        once(address, &post("/messages", "d", "bad"), 20_000).await.1,
        Left::Reset
    );
    assert!(destination.requests().last().unwrap().whole);
}
