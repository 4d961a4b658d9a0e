//! The scripted providers answer as the real ones do.

use super::raw::{ask, body_of, get, post};
use crate::destination::{Chances, Destination, Service};
use serde_json::{Value, json};

fn upsert(email: &str, properties: &Value) -> String {
    let body = json!({"inputs": [{"idProperty": "email", "id": email, "properties": properties}]});
    post("/crm/v3/objects/contacts/batch/upsert", "", &body.to_string())
}

#[tokio::test]
async fn hubspot_has_one_contact_for_each_address_and_an_upsert_leaves_what_it_does_not_name() {
    let destination = Destination::start([Service::hubspot()]).await.unwrap();
    let address = destination.address("hubspot");
    let made = body_of(&ask(address, &upsert("Ada@Example.com", &json!({"firstname": "Ada"}))).await);
    assert_eq!(
        (&made["status"], &made["results"][0]["new"]),
        (&json!("COMPLETE"), &json!(true))
    );
    let id = made["results"][0]["id"].clone();

    let again = body_of(&ask(address, &upsert("ada@example.com", &json!({"firstname": "Ada"}))).await);
    assert_eq!(
        (&again["results"][0]["new"], &again["results"][0]["id"]),
        (&json!(false), &id)
    );
    assert_eq!(destination.count("hubspot").effects_total, 1, "nothing was changed");
    assert!(destination.duplicates().is_empty());

    ask(address, &upsert("ada@example.com", &json!({"phone": "1"}))).await;
    let target = "/crm/v3/objects/contacts/Ada%40example.com?idProperty=email&properties=email%2Cfirstname%2Cphone";
    let contact = body_of(&ask(address, &get(target)).await);
    assert_eq!(contact["id"], id);
    let shown = json!({"email": "ada@example.com", "firstname": "Ada", "phone": "1", "hs_object_id": id,
        "createdate": "2026-01-31T09:30:00.000Z"});
    assert_eq!(contact["properties"], shown);
    assert_eq!(destination.duplicates()[0].count, 2, "one contact, two changes");

    let unknown = ask(
        address,
        &get("/crm/v3/objects/contacts/bob%40example.com?idProperty=email"),
    )
    .await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert!(
        ask(address, &post("/crm/v3/objects/contacts/batch/upsert", "", "{}"))
            .await
            .starts_with("HTTP/1.1 400")
    );
}

#[tokio::test]
async fn hubspots_notes_are_made_anew_and_searched_by_their_text() {
    let destination = Destination::start([Service::hubspot_notes()]).await.unwrap();
    let address = destination.address("hubspot-notes");
    for text in ["first og1_a", "second og1_b"] {
        let note = post(
            "/crm/v3/objects/notes",
            "",
            &json!({"properties": {"hs_note_body": text}}).to_string(),
        );
        assert!(ask(address, &note).await.starts_with("HTTP/1.1 201"));
    }
    let search = |text: &str| post("/crm/v3/objects/notes/search", "", &json!({"query": text}).to_string());
    let hits = body_of(&ask(address, &search("og1_b")).await);
    assert_eq!((&hits["total"], &hits["results"][0]["id"]), (&json!(1), &json!("502")));
    assert_eq!(hits["results"][0]["properties"]["hs_note_body"], "second og1_b");
    assert_eq!(
        body_of(&ask(address, &search("og1_c")).await),
        json!({"total": 0, "results": []})
    );
    assert_eq!(
        destination.count("hubspot-notes").effects_total,
        2,
        "a search is no write"
    );
}

#[tokio::test]
async fn resend_gives_the_same_email_for_the_same_key_and_refuses_another_body_under_it() {
    let destination = Destination::start([Service::resend()]).await.unwrap();
    let address = destination.address("resend");
    let mail = |key: &str, text: &str| {
        post(
            "/emails",
            key,
            &json!({"to": ["a@example.com"], "text": text}).to_string(),
        )
    };
    let first = ask(address, &mail("k1", "hello")).await;
    assert!(first.starts_with("HTTP/1.1 200"));
    assert_eq!(ask(address, &mail("k1", "hello")).await, first);
    let other = ask(address, &mail("k1", "another")).await;
    assert!(other.starts_with("HTTP/1.1 409"));
    assert_eq!(body_of(&other)["name"], "invalid_idempotent_request");
    assert_eq!(destination.count("resend").effects_total, 1);
}

#[tokio::test]
async fn whatsapp_sends_whatever_it_is_told() {
    let destination = Destination::start([Service::whatsapp()]).await.unwrap();
    let address = destination.address("whatsapp");
    let message = json!({"to": "+4915100000000", "text": {"body": "hello"}}).to_string();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let said = body_of(&ask(address, &post("/v23.0/106540352242922/messages", "", &message)).await);
        ids.push(said["messages"][0]["id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0].starts_with("wamid.") && ids[0] != ids[1], "{ids:?}");
    assert_eq!(destination.duplicates()[0].count, 2);
}

#[tokio::test]
async fn trouble_is_told_in_the_providers_own_way() {
    let limited = Chances {
        rate_limited: 1.0,
        ..Chances::default()
    };
    let down = Chances {
        unavailable: 1.0,
        ..Chances::default()
    };
    for (service, path, chances, status, pointer, said) in [
        (
            Service::hubspot(),
            "/crm/v3/objects/contacts/batch/upsert",
            &limited,
            "429",
            "/category",
            json!("RATE_LIMITS"),
        ),
        (
            Service::hubspot(),
            "/crm/v3/objects/contacts/batch/upsert",
            &down,
            "503",
            "/status",
            json!("error"),
        ),
        (
            Service::resend(),
            "/emails",
            &limited,
            "429",
            "/name",
            json!("rate_limit_exceeded"),
        ),
        (
            Service::resend(),
            "/emails",
            &down,
            "503",
            "/name",
            json!("service_unavailable"),
        ),
        (
            Service::whatsapp(),
            "/v23.0/1/messages",
            &limited,
            "400",
            "/error/code",
            json!(130_429),
        ),
        (
            Service::whatsapp(),
            "/v23.0/1/messages",
            &down,
            "503",
            "/error/code",
            json!(2),
        ),
    ] {
        let name = service.name.clone();
        let destination = Destination::start([service.chances(chances.clone())]).await.unwrap();
        let answer = ask(destination.address(&name), &post(path, "", "{}")).await;
        assert_eq!(
            (&answer[9..12], body_of(&answer).pointer(pointer)),
            (status, Some(&said)),
            "{name}"
        );
        assert_eq!(destination.effects_total(), 0);
    }
}
