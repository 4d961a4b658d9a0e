//! C24: the answer comes while a person decides. It is known to a host that could not store it, and had to leave its work to another.

use super::{chat, effects, shown, with, writes};
use crate::HOST;
use oncegate_test_database::{Fault, Wire, new_database};
use oncegate_tests::{Answer, Behaviour, ChildHost, Destination, Fleet, Service, eventually};
use serde_json::{Value, json};

/// One order was sent to a chat, and its answer is known to a host that cannot store it; the other one asks a person.
struct Asked {
    destination: Destination,
    hosts: Fleet,
    /// Between the first host and the database.
    wire: Wire,
    /// The run, as the person sees it.
    run: Value,
}

async fn asked_meanwhile() -> Asked {
    let destination = with(Service::chat()).await;
    let database = new_database().await;
    let wire = Wire::to(&database);
    let hosts = Fleet::start_at(HOST, &chat(&destination, "2s"), &database, &[wire.address(), &database]).await;
    let answer = Behaviour {
        answer_after_ms: 500,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [answer]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    wire.set(Fault::Cut);
    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    Asked {
        destination,
        hosts,
        wire,
        run,
    }
}

/// The person who is asked has not decided yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_while_a_person_is_asked_settles_the_step() {
    let asked = asked_meanwhile().await;
    asked.wire.set(Fault::None);
    let (destination, hosts) = (&asked.destination, &asked.hosts);
    let run = completed(&hosts[1]).await;
    let closed = &run["reviews"][0]["closed"];
    assert_eq!(
        (&closed["action"], &closed["who"]),
        (&json!("settled"), &json!("host")),
        "{run:#}"
    );
    assert_eq!((destination.effects_total(), writes(destination, "chat")), (1, 1));
    let refused = stated_absent(&hosts[1], &asked.run).await;
    assert_eq!(refused.status, 409, "{refused:?}");
}

/// The person has looked, found nothing, and says so just before the answer comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_stated_absent_is_not_sent_again_once_the_answer_is_there() {
    let asked = asked_meanwhile().await;
    let (destination, hosts) = (&asked.destination, &asked.hosts);
    // Nobody has a turn meanwhile, so that the answer comes after the decision and before the next attempt.
    let pause = json!({ "reason": "the answer comes first" });
    assert_eq!(hosts[1].client.post("connections/chat/pause", &pause).await.status, 200);
    let retried = stated_absent(&hosts[1], &asked.run).await;
    assert_eq!(retried.status, 200, "{retried:?}");
    asked.wire.set(Fault::None);
    eventually("the answer is known", || async {
        let run = shown(&hosts[1], "A-1").await;
        run["steps"][0]["timeline"][0]["late"]["saw"].is_string().then_some(())
    })
    .await;
    assert_eq!(
        hosts[1].client.post("connections/chat/resume", &pause).await.status,
        200
    );
    completed(&hosts[1]).await;
    assert_eq!((destination.effects_total(), writes(destination, "chat")), (1, 1));
}

/// A person who saw the run as it was then says that there is no effect.
async fn stated_absent(host: &ChildHost, asked: &Value) -> Answer {
    let review = &asked["reviews"][0];
    let decision = json!({ "version": review["version"], "stated_absent": true, "reason": "it is not there" });
    let path = format!("review/{}/retry", review["id"].as_str().unwrap());
    host.client.post(&path, &decision).await
}

async fn completed(host: &ChildHost) -> Value {
    eventually("the run is completed", || async {
        let run = shown(host, "A-1").await;
        (run["state"] == "completed").then_some(run)
    })
    .await
}
