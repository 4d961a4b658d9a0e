//! People act at any host; the one that has the run goes on with it.

use super::{chat, effects, requests, shown, with, writes};
use crate::HOST;
use oncegate_tests::{Behaviour, Fleet, Service, eventually};
use rustix::process::Signal;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_decides_at_another_host_and_the_owner_goes_on() {
    let destination = with(Service::chat()).await;
    let hosts = Fleet::start(HOST, &chat(&destination, "1s"), 2).await;
    destination.script_next("chat", [Behaviour::hang_before_effect(60_000)]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    let run = hosts[0].settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    let review = &run["reviews"][0];
    let decision = json!({ "version": review["version"], "stated_absent": true, "reason": "asked them" });
    let path = format!("review/{}/retry", review["id"].as_str().unwrap());
    let decided = hosts[1].client.post(&path, &decision).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    // The other one can do nothing any more.
    hosts[1].signal(Signal::STOP);
    let run = eventually("the owner has sent it", || async {
        let run = shown(&hosts[0], "A-1").await;
        (run["state"] == "completed").then_some(run)
    })
    .await;
    hosts[1].signal(Signal::CONT);
    assert_eq!(
        (destination.effects_total(), writes(&destination, "chat")),
        (1, 2),
        "{run:#}"
    );
}

/// The request is on its way while somebody cancels the run at another host: what comes back decides, and it is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_at_another_host_does_not_lose_the_answer_that_comes() {
    let destination = with(Service::chat()).await;
    let hosts = Fleet::start(HOST, &chat(&destination, "10s"), 2).await;
    let answer = Behaviour {
        answer_after_ms: 1_500,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [answer]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    let id = shown(&hosts[1], "A-1").await["id"].as_str().unwrap().to_owned();
    let why = json!({ "reason": "not wanted" });
    let cancelled = hosts[1].client.post(&format!("runs/{id}/cancel"), &why).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(run["steps"][0]["timeline"][0]["status"], 201, "{run:#}");
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_at_one_host_is_cancelled_at_another_and_never_sent() {
    let destination = with(Service::chat()).await;
    let hosts = Fleet::start(HOST, &chat(&destination, "5s"), 2).await;
    destination.script_next("chat", [Behaviour::retry_after("3")]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    requests(&destination, "chat", 1).await;
    let id = shown(&hosts[1], "A-1").await["id"].as_str().unwrap().to_owned();
    let why = json!({ "reason": "not wanted" });
    let cancelled = eventually("it can be cancelled", || async {
        let answer = hosts[1].client.post(&format!("runs/{id}/cancel"), &why).await;
        (answer.status == 200).then_some(())
    });
    cancelled.await;
    assert_eq!(hosts[0].settled("A-1").await["state"], "cancelled");
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (0, 1));
}
