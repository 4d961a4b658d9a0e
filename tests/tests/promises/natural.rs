//! C21: an upsert is cut off half-way, and a contact with the same e-mail address was there before.

use crate::PUPPET;
use oncegate_domain::run;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Service, TestHost, orders};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_contact_is_not_taken_for_our_update_which_is_sent_again_and_made_once() {
    let destination = Destination::start([Service::address_book()]).await.unwrap();
    let book = Connection::puppet("puppet", &destination.origin("book"))
        .settings(
            "script = [{ op = \"send\", path = \"/contacts\", json = { email = \"ada@example.com\", phone = \"+49 2\" } }, \
             { op = \"judge\" }]\nlookup = [{ op = \"send\", method = \"GET\", path = \"/contacts/ada%40example.com\" }, \
             { op = \"judge\" }]",
        )
        .trust("dedup = { kind = \"natural\", key = [\"/email\"] }\nlookup_after = \"10s\"\nabsent_on = [404]")
        .writes("POST /contacts")
        .reads("GET /contacts/{email}");
    let folder = Folder::new()
        .connection(&book)
        .flow("orders", &orders("orders", PUPPET));
    let host = TestHost::start(&folder).await;
    destination.put_record(
        "book",
        "ada@example.com",
        &json!({ "email": "ada@example.com", "phone": "+49 1" }),
    );
    destination.script_next("book", [Behaviour::reset_after_half()]);

    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;

    assert_eq!(view.state(), run::State::Completed, "{:#?}", view.0.steps);
    let methods: Vec<String> = destination
        .requests_of("book")
        .into_iter()
        .map(|seen| seen.method)
        .collect();
    assert_eq!(methods, ["POST", "GET", "POST"]);
    let effects = destination.effects_in_full();
    assert_eq!(effects.len(), 1);
    assert!(effects[0].body.contains("+49 2"), "{effects:?}");
}
