//! C23: the operator points a connection at another place while a step is in doubt. What may exist at the old place is
//! neither asked for nor sent at the new one; what is known not to exist goes where the connection points now.

use crate::{CHAT, CRM};
use oncegate_domain::doubt::{Blocked, Unsettled};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, orders};
use serde_json::json;

fn folder(crm: &Connection) -> Folder {
    Folder::new().connection(crm).flow("orders", &orders("orders", CRM))
}

async fn places() -> Destination {
    let services = [Service::crm(), Service::crm().named("other")];
    Destination::start(services).await.unwrap()
}

/// A host whose step lost its answer after the effect and waits to ask, with a key that would protect a resend as well.
async fn in_doubt(destination: &Destination) -> (TestHost, Id) {
    let host = TestHost::start(&folder(&Connection::crm(&destination.origin("crm")))).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    let run = host.order("orders", "A-1").await;
    host.until(run, |view| view.stands("crm") == "retrying").await;
    (host, run)
}

/// It is in review for that reason, and says so to people; nobody was asked and nothing was sent anywhere.
async fn stays_where_it_was(destination: &Destination, host: &TestHost, run: Id) {
    let view = host.settle(run).await;
    let reason = Review::Doubt(Unsettled::Blocked(Blocked::PlaceChanged));
    assert_eq!(view.reason("crm"), reason, "{:#?}", view.attempts("crm"));
    assert!(view.step("crm").state.in_doubt());
    let item = host.review().await;
    let shown = host.client.get(&format!("review/{}", item.id)).await;
    assert_eq!(shown["effect_may_exist"], true);
    let step = &host.client.get(&format!("runs/{run}")).await["steps"][0];
    let why = step["why"].as_str().unwrap();
    assert!(why.contains("the effect may exist") && why.contains("account"), "{why}");
    assert_eq!(destination.count("crm").requests, 1);
    assert_eq!(destination.count("other").connections, 0);
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_is_not_asked_about_at_another_origin_and_goes_on_once_the_old_one_is_back() {
    let destination = places().await;
    let (mut host, run) = in_doubt(&destination).await;
    let moved = folder(&Connection::crm(&destination.origin("other")));
    host.apply(&moved).await.unwrap();
    stays_where_it_was(&destination, &host, run).await;

    // Asked to go on, there as well as after a restart, it does not go to the other place.
    let item = host.review().await;
    host.decide(&item, "retry", json!({ "reason": "try again" })).await;
    stays_where_it_was(&destination, &host, run).await;
    host.restart().await;
    stays_where_it_was(&destination, &host, run).await;

    let back = folder(&Connection::crm(&destination.origin("crm")));
    host.apply(&back).await.unwrap();
    let item = host.review().await;
    let answer = host.decide(&item, "retry", json!({ "reason": "it is back" })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed, "{:?}", view.step("crm").last_error);
    let methods: Vec<String> = destination
        .requests_of("crm")
        .into_iter()
        .map(|seen| seen.method)
        .collect();
    assert_eq!(methods, ["POST", "GET"], "found where it was sent");
    assert_eq!(
        (destination.count("other").connections, destination.effects_total()),
        (0, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_is_not_asked_about_in_another_account_of_the_same_destination() {
    let destination = places().await;
    let (host, run) = in_doubt(&destination).await;
    let moved = Connection::crm(&destination.origin("crm")).account("somebody-else");
    host.apply(&folder(&moved)).await.unwrap();
    stays_where_it_was(&destination, &host, run).await;
}

/// Whoever cancels does not make it safe to ask elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_doubt_is_not_asked_about_at_another_place_either() {
    let destination = places().await;
    let (host, run) = in_doubt(&destination).await;
    let moved = Connection::crm(&destination.origin("other"));
    host.apply(&folder(&moved)).await.unwrap();
    let reason = json!({ "reason": "not wanted" });
    let answer = host.client.post(&format!("runs/{run}/cancel"), &reason).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let view = host.settle(run).await;
    assert!(view.reason("crm").effect_may_exist(), "{:?}", view.reason("crm"));
    assert_eq!(destination.count("crm").requests, 1);
    assert_eq!(destination.count("other").connections, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_not_to_exist_goes_to_the_place_that_the_connection_names_now() {
    let destination = Destination::start([Service::chat(), Service::chat().named("other")])
        .await
        .unwrap();
    let chat = |service| Connection::chat(&destination.origin(service)).trust("refused_before_effect = [503]");
    let folder = |service| {
        Folder::new()
            .connection(&chat(service))
            .flow("orders", &orders("orders", CHAT))
    };
    let host = TestHost::start(&folder("chat")).await;
    destination.script(Rule::always("chat", Behaviour::status(503)));
    let run = host.order("orders", "A-1").await;
    host.until(run, |view| view.stands("chat") == "retrying").await;
    host.apply(&folder("other")).await.unwrap();

    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(
        (destination.count("chat").requests, destination.count("other").requests),
        (1, 1)
    );
    assert_eq!(destination.effects_total(), 1);
}
