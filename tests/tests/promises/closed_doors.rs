//! C12, the second half: addresses that are closed unless the operator opens them. Nothing is connected to, nothing is
//! sent, and whoever looks is told which address and why.

use crate::{CHAT, PUPPET};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::{Outcome, Permanent};
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Service, TestHost, orders};

/// A connection whose operator opened `allowed` and nothing else.
fn folder(origin: &str, allowed: &str) -> Folder {
    let chat = Connection::chat(origin);
    let toml = chat.toml().replace("[\"127.0.0.1/32\"]", allowed);
    let steps = CHAT.replace("[steps.with]", "retry = { attempts = 1 }\n[steps.with]");
    let folder = Folder::new()
        .connection(&chat)
        .flow("orders", &orders("orders", &steps));
    folder.write("connections/chat.toml", toml.as_bytes());
    folder
}

/// An order through a connection to a closed place: nothing leaves, and a person reads why.
async fn is_refused(host: &TestHost, origin: &str, why: &str) {
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::NeedsReview, "{origin}");
    assert!(!view.reason("chat").effect_may_exist(), "{origin}");
    let attempt = &view.attempts("chat")[0];
    assert_eq!(
        (attempt.evidence, attempt.outcome, attempt.intent_ms),
        (Some(Evidence::NothingSent), Some(Outcome::Unsent), None),
        "{origin}"
    );
    let message = view.step("chat").last_error.clone().unwrap_or_default();
    assert!(message.contains(why), "{origin}: {message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_addresses_are_not_connected_to_and_the_reason_can_be_read() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let port = destination.address("chat").port();
    let cases = [
        // Never, not even where the operator opens everything.
        (
            "http://169.254.169.254".to_owned(),
            "[\"0.0.0.0/0\"]",
            "169.254.169.254 is never reached",
        ),
        (format!("http://127.0.0.1:{port}"), "[]", "127.0.0.1 is closed"),
        (format!("http://[::ffff:127.0.0.1]:{port}"), "[]", "127.0.0.1 is closed"),
        ("http://10.0.0.5".to_owned(), "[\"127.0.0.1/32\"]", "10.0.0.5 is closed"),
        // A name, and what it resolves to.
        (format!("http://localhost:{port}"), "[]", "is closed"),
    ];
    for (origin, allowed, why) in cases {
        let host = TestHost::start(&folder(&origin, allowed)).await;
        is_refused(&host, &origin, why).await;
    }
    assert_eq!(destination.count("chat").connections, 0);
}

/// A name is as closed as what it resolves to, in whatever form that is written: whoever owns the name owns the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_resolves_inwards_is_not_connected_to_and_the_address_is_told() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let origin = format!("http://crm.example.com:{}", destination.address("chat").port());
    let cases: [(&[&str], &str, &str); 7] = [
        (&["10.0.0.5"], "[]", "10.0.0.5 is closed (private)"),
        (&["127.0.0.1"], "[]", "127.0.0.1 is closed (loopback)"),
        (&["10.0.0.5", "127.0.0.1"], "[]", "127.0.0.1 is closed"),
        (&["::ffff:127.0.0.1"], "[]", "127.0.0.1 is closed"),
        (&["64:ff9b::a00:5"], "[]", "64:ff9b::a00:5 is closed"),
        // What the operator opened opens nothing beside it; and never this one.
        (&["10.0.0.5"], "[\"127.0.0.1/32\"]", "10.0.0.5 is closed"),
        (
            &["169.254.169.254"],
            "[\"0.0.0.0/0\"]",
            "169.254.169.254 is never reached",
        ),
    ];
    for (addresses, allowed, why) in cases {
        let mut host = TestHost::start(&folder(&origin, allowed)).await;
        host.stop().await;
        host.come_up_resolving(&[("crm.example.com", addresses)]).await;
        is_refused(&host, &format!("{addresses:?}"), why).await;
    }
    assert_eq!(destination.count("chat").connections, 0);

    // The same name is reached where the address that it has is open.
    let mut host = TestHost::start(&folder(&origin, "[\"127.0.0.1/32\"]")).await;
    host.stop().await;
    host.come_up_resolving(&[("crm.example.com", &["10.0.0.5", "127.0.0.1"])])
        .await;
    let run = host.order("orders", "A-1").await;
    assert_eq!(host.settle(run).await.state(), run::State::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_to_this_machine_is_not_followed_and_proves_nothing() {
    let destination = Destination::start([Service::chat(), Service::chat().named("inside")])
        .await
        .unwrap();
    let host = TestHost::start(&folder(&destination.origin("chat"), "[\"127.0.0.1/32\"]")).await;
    let inside = format!("http://localhost:{}/messages", destination.address("inside").port());
    destination.script_next("chat", [Behaviour::redirect(&inside)]);
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert!(view.reason("chat").effect_may_exist(), "{:?}", view.reason("chat"));
    let message = view.step("chat").last_error.clone().unwrap_or_default();
    assert!(
        message.contains(&format!(
            "answered 307 and points to {inside}; redirects are not followed"
        )),
        "{message}"
    );
    assert_eq!(destination.count("inside").connections, 0);
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 0)
    );
}

/// A connector names an endpoint of its connection and a path. Whatever else it writes there leads nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_asks_for_an_address_of_its_own_is_denied_and_nothing_is_connected_to() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let asked = [
        // Of these the SDK makes no request.
        ("path = \"http://169.254.169.254/\"", Permanent::Rejected),
        ("path = \"@169.254.169.254/\"", Permanent::Rejected),
        ("path = \"//169.254.169.254/\"", Permanent::Denied),
        (
            "path = \"/messages\", endpoint = \"http://169.254.169.254\"",
            Permanent::Denied,
        ),
        (
            "path = \"/messages\", headers = [[\"host\", \"169.254.169.254\"]]",
            Permanent::Denied,
        ),
    ];
    for (asked, refused) in asked {
        let script = format!("{{ op = \"send\", {asked}, json = {{}} }}, {{ op = \"judge\" }}");
        let puppet = Connection::puppet("puppet", &destination.origin("chat"))
            .settings(&format!("script = [{script}]"))
            .writes("POST /messages");
        let folder = Folder::new()
            .connection(&puppet)
            .flow("orders", &orders("orders", PUPPET));
        let host = TestHost::start(&folder).await;
        let run = host.order("orders", "A-1").await;
        let view = host.settle(run).await;
        assert_eq!(view.reason("puppet"), Review::Refused(refused), "{asked}");
        let message = view.step("puppet").last_error.clone().unwrap_or_default();
        let is_denied = message.contains("the host denied a request");
        assert_eq!(is_denied, refused == Permanent::Denied, "{asked}: {message}");
    }
    assert_eq!(destination.count("chat").connections, 0);
}
