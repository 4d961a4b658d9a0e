//! Scripting and counting over HTTP, as from another process.

use super::raw::{Left, ask, body_of, get, once, post};
use crate::destination::{Behaviour, Destination, Options, Rule, Service, Tally};
use serde_json::json;
use std::net::SocketAddr;
use tokio::net::TcpStream;

fn control(destination: &Destination) -> SocketAddr {
    destination
        .control_origin()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn a_destination_can_be_scripted_and_counted_from_outside() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (control, chat) = (control(&destination), destination.address("chat"));
    let rules = [
        Rule::next("chat", Behaviour::retry_after("3")),
        Rule::next("chat", Behaviour::effect_then_reset()).text("lost"),
    ];
    let set = ask(control, &post("/_script", "", &serde_json::to_string(&rules).unwrap())).await;
    assert_eq!(body_of(&set), json!({"rules": 2}));
    // By hand, with nothing but what differs from the ordinary.
    let by_hand = r#"{"service": "chat", "nth": 3, "times": null,
        "behaviour": {"effect_after_ms": null, "answer": {"own": {"status": 422, "body": "no"}}}}"#;
    assert!(
        ask(control, &post("/_script", "", by_hand))
            .await
            .starts_with("HTTP/1.1 200")
    );

    assert!(
        ask(chat, &post("/messages", "", "{}"))
            .await
            .starts_with("HTTP/1.1 429")
    );
    assert_eq!(
        once(chat, &post("/messages", "", r#"{"text":"lost"}"#), 20_000).await.1,
        Left::Reset
    );
    assert!(
        ask(chat, &post("/messages", "", "{}"))
            .await
            .starts_with("HTTP/1.1 422")
    );

    let effects = ask(control, &get("/_effects")).await;
    let tally: Tally = serde_json::from_value(body_of(&effects)).unwrap();
    assert_eq!(tally, destination.tally());
    assert_eq!(tally.services["chat"].effects["lost"], 1);
    let requests = body_of(&ask(control, &get("/_requests")).await);
    assert_eq!(
        (&requests[1]["path"], &requests[1]["body"]),
        (&json!("/messages"), &json!(r#"{"text":"lost"}"#))
    );

    let clear = "DELETE /_script HTTP/1.1\r\n\r\n";
    assert!(ask(control, clear).await.starts_with("HTTP/1.1 200"));
    assert!(
        ask(chat, &post("/messages", "", "{}"))
            .await
            .starts_with("HTTP/1.1 201")
    );
}

#[tokio::test]
async fn a_port_can_be_turned_and_a_record_put_from_outside() {
    let destination = Destination::start([Service::address_book()]).await.unwrap();
    let (control, book) = (control(&destination), destination.address("book"));
    assert!(
        ask(control, &post("/_refuse", "", r#"{"service":"book"}"#))
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(TcpStream::connect(book).await.is_err());
    assert!(
        ask(control, &post("/_accept", "", r#"{"service":"book"}"#))
            .await
            .starts_with("HTTP/1.1 200")
    );
    let record = r#"{"service":"book","key":"a@example.com","body":{"phone":"1"}}"#;
    ask(control, &post("/_record", "", record)).await;
    assert_eq!(body_of(&ask(book, &get("/contacts/a@example.com")).await)["phone"], "1");
}

#[tokio::test]
async fn what_control_does_not_understand_it_says_so() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let control = control(&destination);
    for (request, status) in [
        (get("/_nothing"), "404"),
        (post("/_script", "", r#"{"service":"chat","behavior":{}}"#), "400"),
        (post("/_script", "", "nonsense"), "400"),
        (post("/_refuse", "", r#"{"service":"nobody"}"#), "409"),
    ] {
        let answer = ask(control, &request).await;
        assert_eq!(&answer[9..12], status, "{answer}");
    }
}

#[tokio::test]
async fn options_can_be_written_as_json() {
    let text = r#"{
        "services": [{"name": "crm", "writes": [{"method": "PUT", "path": "/c/{}"}], "dedup": {"header": "X-Key"},
            "chances": {"lost_answer": 0.5}}],
        "rules": [{"service": "crm", "behaviour": {"answer": "silence", "end": "reset"}}]
    }"#;
    let options: Options = serde_json::from_str(text).unwrap();
    let again: Options = serde_json::from_value(serde_json::to_value(&options).unwrap()).unwrap();
    assert_eq!(again.rules, [Rule::next("crm", Behaviour::effect_then_reset())]);
    let destination = Destination::start_with(again).await.unwrap();
    let request = "PUT /c/1 HTTP/1.1\r\nX-Key: k1\r\n\r\n";
    assert_eq!(once(destination.address("crm"), request, 20_000).await.1, Left::Reset);
    assert_eq!(
        destination.effects("crm").into_iter().collect::<Vec<_>>(),
        [("k1".to_owned(), 1)]
    );
}
