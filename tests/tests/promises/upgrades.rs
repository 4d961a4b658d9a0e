//! Another version of a connector: it changes nothing before a connection approves it, and what was sent by the old one
//! is settled by the old one. The second version is the same code with another manifest, so that the bytes alone differ.

use crate::{CHAT, CRM};
use oncegate::ledger::AttemptKind;
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::connectors::{another_version, wasm};
use oncegate_tests::{Behaviour, Connection, Destination, Folder, RunView, Service, TestHost, about_step, orders};
use serde_json::{Value, json};

/// Version 0.2.0 of `http`, which can do one thing more.
fn newer_http() -> Vec<u8> {
    another_version(&wasm("http"), |document| {
        document["manifest"]["version"] = json!("0.2.0");
        let forget = json!({
            "name": "forget",
            "effect": "write",
            "says": "deletes one contact",
            "requests": [{ "method": "DELETE", "path": "/contacts/{id}", "kind": "write" }],
        });
        document["manifest"]["actions"].as_array_mut().unwrap().push(forget);
        document["schemas"]["actions"]["forget"] = document["schemas"]["actions"]["send"].clone();
    })
}

async fn crm() -> (Destination, Folder, TestHost) {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    (destination, folder, host)
}

fn upgrade(folder: &Folder) {
    folder.write("connectors/http.wasm", &newer_http());
}

/// Kind and connector of every attempt of the step, oldest first.
fn by_whom(run: &RunView) -> Vec<(AttemptKind, String)> {
    let attempts = run.attempts("crm").iter();
    attempts
        .map(|attempt| (attempt.kind, attempt.place.connector_digest.clone()))
        .collect()
}

/// The digest of a version of `http` that the host has.
async fn digest_of(host: &TestHost, version: &str) -> String {
    let connectors = host.client.get("connectors").await;
    let mut items = connectors["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["name"] == "http" && item["version"] == version);
    found.unwrap_or_else(|| panic!("{connectors:#}"))["digest"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn digests(host: &TestHost) -> (String, String) {
    (digest_of(host, "0.1.0").await, digest_of(host, "0.2.0").await)
}

async fn used_by(host: &TestHost, digest: &str) -> Value {
    let connectors = host.client.get("connectors").await;
    let items = connectors["items"].as_array().unwrap();
    items.iter().find(|item| item["digest"] == digest).unwrap()["used_by"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_changes_nothing_until_the_connection_approves_it() {
    let (destination, folder, mut host) = crm().await;
    let first = host.order("orders", "A-1").await;
    let first = host.settle(first).await;

    upgrade(&folder);
    let plan = host.apply(&folder).await.unwrap();
    let (old, new) = digests(&host).await;
    let said = format!(
        "\
! connection crm
      it stays with http 0.1.0 ({old}); http 0.2.0 ({new}) is there and not approved:
      + forget (changes the destination): deletes one contact
      + forget: changes by DELETE /contacts/{{id}}
      apply with --approve crm to use it
"
    );
    assert!(
        plan.contains("+ add connector http 0.2.0") && plan.ends_with(&said),
        "{plan}"
    );
    assert_eq!(
        (used_by(&host, &old).await, used_by(&host, &new).await),
        (json!(["crm"]), json!([]))
    );
    let second = host.order("orders", "A-2").await;
    let second = host.settle(second).await;
    // A host that matches its folder at its start comes up, and goes on just the same.
    host.stop().await;
    host.come_up_with(&folder).await;
    let third = host.order("orders", "A-3").await;
    let third = host.settle(third).await;
    for run in [&first, &second, &third] {
        assert_eq!(run.state(), run::State::Completed);
        assert_eq!(by_whom(run), [(AttemptKind::Perform, old.clone())]);
    }

    let plan = host.apply_approving(&folder, &["crm"]).await.unwrap();
    assert!(
        plan.contains("~ change connection crm") && plan.contains("+ forget"),
        "{plan}"
    );
    assert_eq!(
        (used_by(&host, &old).await, used_by(&host, &new).await),
        (json!([]), json!(["crm"]))
    );
    let fourth = host.order("orders", "A-4").await;
    let fourth = host.settle(fourth).await;
    assert_eq!(by_whom(&fourth), [(AttemptKind::Perform, new.clone())]);
    assert_eq!(
        host.apply(&folder).await.unwrap(),
        "Nothing to change: the host matches the folder.\n",
        "what is approved stays approved"
    );
    let audit = host.client.get("audit").await.to_string();
    assert!(audit.contains(&format!("with the connector {new}")), "{audit}");
    assert_eq!(destination.effects_total(), 4);
}

async fn a_doubt_is_settled_by_the_bytes_that_sent_it(restart: bool) {
    let (destination, folder, mut host) = crm().await;
    destination.script_next("crm", [Behaviour::reset_after_all()]);
    let doubtful = host.order("orders", "A-1").await;
    host.until(doubtful, |run| run.stands("crm") == "retrying").await;

    upgrade(&folder);
    host.apply_approving(&folder, &["crm"]).await.unwrap();
    let (old, new) = digests(&host).await;
    let other = host.order("orders", "A-2").await;
    let other = host.settle(other).await;
    assert_eq!(by_whom(&other), [(AttemptKind::Perform, new.clone())]);
    if restart {
        host.restart().await;
    }

    let settled = host.settle(doubtful).await;
    assert_eq!(settled.state(), run::State::Completed);
    let kinds = [AttemptKind::Perform, AttemptKind::Lookup, AttemptKind::Resend];
    assert_eq!(by_whom(&settled), kinds.map(|kind| (kind, old.clone())));
    let requests = destination.requests_of("crm");
    let mine = |id: &str| String::from_utf8_lossy(&requests[0].body).contains(id);
    assert!(mine("A-1"), "{requests:?}");
    let posts: Vec<_> = requests
        .iter()
        .filter(|request| request.body == requests[0].body)
        .collect();
    assert_eq!(posts.len(), 2, "the same request again, to the byte");
    assert_eq!(posts[0].header("idempotency-key"), posts[1].header("idempotency-key"));
    assert_eq!((destination.effects_total(), destination.duplicates().len()), (2, 0));
    // Nothing needs the old bytes any more. They stay, so that one can go back.
    assert_eq!(used_by(&host, &old).await, json!([]));
    let crm = Connection::crm(&destination.origin("crm")).toml();
    let pinned = crm.replace("account = ", &format!("digest = \"{old}\"\naccount = "));
    folder.write("connections/crm.toml", pinned.as_bytes());
    let plan = host.apply(&folder).await.unwrap();
    assert!(plan.contains("- forget: is gone"), "{plan}");
    let last = host.order("orders", "A-3").await;
    let last = host.settle(last).await;
    assert_eq!(by_whom(&last), [(AttemptKind::Perform, old)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_doubt_stays_with_the_version_that_sent_it() {
    a_doubt_is_settled_by_the_bytes_that_sent_it(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_doubt_stays_with_the_version_that_sent_it_also_after_a_restart() {
    a_doubt_is_settled_by_the_bytes_that_sent_it(true).await;
}

/// The new version has another name for the action. Nothing of what the old one began is left hanging.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_without_the_action_leaves_its_doubts_with_the_old_one() {
    let (destination, folder, host) = crm().await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    let doubtful = host.order("orders", "A-1").await;
    host.until(doubtful, |run| run.stands("crm") == "retrying").await;

    let renamed = another_version(&wasm("http"), |document| {
        document["manifest"]["version"] = json!("2.0.0");
        document["manifest"]["actions"][0]["name"] = json!("post");
        let schemas = document["schemas"]["actions"].as_object_mut().unwrap();
        let send = schemas.remove("send").unwrap();
        schemas.insert("post".to_owned(), send);
    });
    folder.write("connectors/http.wasm", &renamed);
    let crm = Connection::crm(&destination.origin("crm")).toml();
    let crm = crm.replace("trust.actions.send", "trust.actions.post")
        + "[trust]\nlookup_after = \"20s\"\nabsent_on = [404]\n";
    folder.write("connections/crm.toml", crm.as_bytes());
    let folder = folder.flow("orders", &orders("orders", &CRM.replace("crm.send", "crm.post")));
    let why = host.apply(&folder).await.unwrap_err();
    assert!(
        why.contains("no action \"post\"") && why.contains("with --approve crm"),
        "{why}"
    );
    host.apply_approving(&folder, &["crm"]).await.unwrap();

    let settled = host.settle(doubtful).await;
    assert_eq!(settled.state(), run::State::Completed, "{settled:#?}");
    let old = digest_of(&host, "0.1.0").await;
    assert_eq!(
        by_whom(&settled),
        [(AttemptKind::Perform, old.clone()), (AttemptKind::Lookup, old)]
    );
    assert_eq!((destination.effects_total(), destination.count("crm").requests), (1, 2));
}

/// What was sent without a key is not sent again because later requests carry one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_granted_later_does_not_protect_what_was_sent_without() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let origin = destination.origin("chat");
    let chat = Connection::http("chat", &origin)
        .writes("POST /messages")
        .reads("GET /messages/{key}")
        .trust("lookup_after = \"10s\"");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::effect_then_reset()]);
    let doubtful = host.order("orders", "A-1").await;
    host.until(doubtful, |run| run.stands("chat") == "retrying").await;

    let folder = folder.connection(&chat.keyed("24h"));
    host.apply(&folder).await.unwrap();
    let settled = host.settle(doubtful).await;
    assert_eq!(settled.state(), run::State::NeedsReview);
    assert_eq!(
        about_step(&host.review().await),
        (Review::Doubt(Unsettled::LookupUnclear), true)
    );
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 1)
    );
}
