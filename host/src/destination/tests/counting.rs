//! What counts as an effect, and what as one too many.

use super::raw::{ask, body_of, get, post};
use crate::destination::{Chances, Dedup, Destination, Duplicate, Options, Service};
use serde_json::json;
use std::collections::BTreeMap;

fn counts<const N: usize>(of: [(&str, u64); N]) -> BTreeMap<String, u64> {
    of.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[tokio::test]
async fn a_key_takes_effect_once_and_its_answer_is_given_again() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let address = destination.address("crm");
    let body = r#"{"email":"a@example.com","n":9007199254740993}"#;
    let first = ask(address, &post("/contacts", "k1", body)).await;
    let second = ask(address, &post("/contacts", "k1", body)).await;
    assert_eq!(first, second);
    let shown = json!({"email": "a@example.com", "n": 9_007_199_254_740_993_u64, "id": "crm-1", "key": "k1"});
    assert_eq!(body_of(&first), shown);
    assert_eq!(body_of(&ask(address, &get("/contacts/by-key/k1?x=y")).await), shown);
    assert!(
        ask(address, &get("/contacts/by-key/k2"))
            .await
            .starts_with("HTTP/1.1 404")
    );

    let other = ask(address, &post("/contacts", "k1", r#"{"email":"b@example.com"}"#)).await;
    assert!(other.starts_with("HTTP/1.1 409"));
    let count = destination.count("crm");
    assert_eq!(
        (count.effects, count.replays, count.other_bodies),
        (counts([("k1", 1)]), 1, 1)
    );
    assert!(destination.duplicates().is_empty());
}

#[tokio::test]
async fn a_key_takes_effect_once_however_close_the_requests_come() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let address = destination.address("mailer");
    let request = post("/messages", "k1", "{}");
    let asked = (0..32).map(|_| {
        let request = request.clone();
        tokio::spawn(async move { ask(address, &request).await })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert!(answer.await.unwrap().starts_with("HTTP/1.1 201"));
    }
    assert_eq!(destination.effects("mailer"), counts([("k1", 1)]));
    assert_eq!(destination.count("mailer").replays, 31);
}

#[tokio::test]
async fn two_keys_for_one_business_fact_are_a_duplicate() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let body = r#"{"to":"a@example.com","subject":"Welcome"}"#;
    for key in ["k1", "k2", ""] {
        ask(destination.address("mailer"), &post("/messages", key, body)).await;
    }
    let fact = "a@example.com · Welcome";
    assert_eq!(destination.effects("mailer"), counts([("k1", 1), ("k2", 1), (fact, 1)]));
    assert_eq!(destination.count("mailer").by_identity, counts([(fact, 3)]));
    let expected = Duplicate {
        service: "mailer".to_owned(),
        what: fact.to_owned(),
        count: 3,
    };
    assert_eq!(destination.duplicates(), [expected]);
}

#[tokio::test]
async fn a_service_without_keys_does_everything_it_is_told() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    for text in ["one", "two", "two"] {
        ask(
            destination.address("chat"),
            &post("/messages", "k1", &json!({"text": text}).to_string()),
        )
        .await;
    }
    assert_eq!(destination.effects("chat"), counts([("one", 1), ("two", 2)]));
    assert_eq!((destination.effects_total(), destination.duplicates().len()), (3, 1));
}

#[tokio::test]
async fn an_upsert_counts_changes_and_the_same_change_twice_is_a_duplicate() {
    let destination = Destination::start([Service::address_book()]).await.unwrap();
    let address = destination.address("book");
    destination.put_record(
        "book",
        "a@example.com",
        &json!({"email": "a@example.com", "phone": "1"}),
    );
    assert_eq!(
        body_of(&ask(address, &get("/contacts/a%40example.com")).await)["phone"],
        "1"
    );
    assert_eq!(destination.effects_total(), 0);

    let two = r#"{"email":"a@example.com","phone":"2"}"#;
    assert!(
        ask(address, &post("/contacts", "", two))
            .await
            .starts_with("HTTP/1.1 201")
    );
    let respelled = r#"{ "phone": "2", "email": "a@example.com" }"#;
    assert!(
        ask(address, &post("/contacts", "", respelled))
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert_eq!(destination.effects("book"), counts([("a@example.com", 1)]));

    // A newer value, then the old one again: it overwrote the newer one.
    ask(
        address,
        &post("/contacts", "", r#"{"email":"a@example.com","phone":"3"}"#),
    )
    .await;
    assert!(destination.duplicates().is_empty());
    ask(address, &post("/contacts", "", two)).await;
    assert_eq!(destination.duplicates()[0].count, 2);
    assert!(
        ask(address, &post("/contacts", "", "{}"))
            .await
            .starts_with("HTTP/1.1 422")
    );
}

#[tokio::test]
async fn a_key_may_stand_in_the_body() {
    let orders = Service::new("orders", "/v2/{}/orders").dedup(Dedup::Field("/reference".to_owned()));
    let destination = Destination::start([orders]).await.unwrap();
    for reference in ["k1", "k1", "k2"] {
        let body = json!({"reference": reference}).to_string();
        ask(destination.address("orders"), &post("/v2/shop/orders", "", &body)).await;
    }
    assert_eq!(destination.effects("orders"), counts([("k1", 1), ("k2", 1)]));
    let wrong_path = post("/v2/orders", "", "{}");
    assert!(
        ask(destination.address("orders"), &wrong_path)
            .await
            .starts_with("HTTP/1.1 404")
    );
    assert_eq!(destination.requests()[0].key.as_deref(), Some("k1"));
}

#[tokio::test]
async fn the_journal_remembers_over_the_end_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects");
    let options = || Options {
        services: vec![Service::crm(), Service::chat()],
        journal: Some(path.clone()),
        ..Options::default()
    };
    let destination = Destination::start_with(options()).await.unwrap();
    ask(destination.address("crm"), &post("/contacts", "k1", "{}")).await;
    ask(destination.address("chat"), &post("/messages", "", r#"{"text":"hi"}"#)).await;
    destination.stop().await;

    // A kill in the middle of a line.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(br#"{"service":"chat","#);
    std::fs::write(&path, bytes).unwrap();

    let destination = Destination::start_with(options()).await.unwrap();
    assert_eq!(destination.effects_total(), 2);
    assert!(
        ask(destination.address("crm"), &get("/contacts/by-key/k1"))
            .await
            .starts_with("HTTP/1.1 200")
    );
    ask(destination.address("crm"), &post("/contacts", "k1", "{}")).await;
    ask(destination.address("chat"), &post("/messages", "", r#"{"text":"hi"}"#)).await;
    assert_eq!(
        (
            destination.count("crm").effects_total,
            destination.count("chat").effects_total
        ),
        (1, 2)
    );
    drop(destination);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
}

#[tokio::test]
async fn the_dice_fall_the_same_on_every_run_and_never_for_ever() {
    let chances = Chances {
        lost_answer: 0.2,
        rate_limited: 0.2,
        unavailable: 0.2,
        silence_ms: 1,
        ..Chances::default()
    };
    let mut runs = Vec::new();
    for order in [false, true] {
        let destination = Destination::start([Service::chat().chances(chances.clone())])
            .await
            .unwrap();
        let mut leads: Vec<u32> = (0..40).collect();
        if order {
            leads.reverse();
        }
        let mut starts = BTreeMap::new();
        for lead in leads {
            for arrival in 0..3 {
                let request = post("/messages", "", &json!({"text": format!("lead {lead}")}).to_string());
                let mut raw = super::raw::Raw::connect(destination.address("chat")).await;
                raw.write(&request.replacen("Host: x", "Connection: close", 1)).await;
                let (answer, _) = raw.read(20_000).await;
                starts.insert((lead, arrival), answer.chars().take(12).collect::<String>());
            }
        }
        runs.push((starts, destination.effects("chat")));
    }
    assert_eq!(runs[0], runs[1]);
    let starts = &runs[0].0;
    let share = |wanted: &str| starts.values().filter(|start| *start == wanted).count();
    for wanted in ["", "HTTP/1.1 429", "HTTP/1.1 503"] {
        assert!((5..30).contains(&share(wanted)), "{wanted:?}: {}", share(wanted));
    }
    // Each lead is misbehaved at twice at most.
    assert!((0..40).all(|lead| starts[&(lead, 2)] == "HTTP/1.1 201"));
}
