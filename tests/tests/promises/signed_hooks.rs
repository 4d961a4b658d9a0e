//! Deliveries that are signed by Standard Webhooks (C11): what the sender signed is what counts, to the byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use hmac::{Hmac, KeyInit, Mac};
use oncegate_domain::run;
use oncegate_tests::{Answer, Connection, Destination, Folder, START_MS, Service, TestHost, run_of};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use standardwebhooks::Webhook;
use std::io::Write;

const NOW_S: i64 = START_MS / 1_000;
const FLOW: &str = r#"name = "orders"
[trigger.webhook]
path = "orders"
verify = { scheme = "standard-webhooks", secret = ["NEW", "OLD"] }

[[steps]]
id = "chat"
use = "chat.send"
with = { path = "/messages", body = { text = "{{ run.key }}", said = "{{ body }}" } }
"#;

/// Somebody who sends webhooks, with a secret of their own.
struct Sender([u8; 32]);

impl Sender {
    fn secret(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }

    /// By the reference library where it can: it takes bodies of UTF-8 only, and a packed one is none.
    fn sign(&self, id: &str, at_s: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap();
        mac.update(&signed(id, at_s, body));
        let own = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let webhook = Webhook::new(&self.secret()).unwrap();
        assert_eq!(webhook.sign(id, at_s, body).unwrap_or_else(|_| own.clone()), own);
        own
    }

    fn delivery(&self, id: &str, at_s: i64, body: &[u8]) -> Delivery {
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", at_s.to_string()),
            ("webhook-signature", self.sign(id, at_s, body)),
        ];
        Delivery {
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.to_vec(),
        }
    }
}

fn signed(id: &str, at_s: i64, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", at_s.to_string().as_bytes(), b".", body].concat()
}

struct Delivery {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Delivery {
    fn with(mut self, name: &str, value: &str) -> Delivery {
        self.headers.retain(|(given, _)| given != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Delivery {
        self.headers.retain(|(given, _)| given != name);
        self
    }

    async fn to(&self, host: &TestHost) -> Answer {
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        host.client.deliver_with("orders", &headers, &self.body).await.unwrap()
    }
}

const NEW: Sender = Sender([1; 32]);
const OLD: Sender = Sender([2; 32]);

async fn host(flow: &str) -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", flow);
    let host = TestHost::start(&folder).await;
    for (name, sender) in [("NEW", NEW), ("OLD", OLD)] {
        std::fs::write(host.data().join("secrets").join(name), sender.secret()).unwrap();
    }
    (destination, host)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_bytes_were_signed_are_accepted_as_they_came_and_run_once() {
    let (destination, host) = host(FLOW).await;
    let json = "application/json";
    let cases: [(&str, &str, &[u8], Value); 7] = [
        ("escapes", json, br#"{"price":"12 \u20ac"}"#, json!({"price": "12 €"})),
        ("spaces", json, b"{\"a\":  1,  \"b\":\t2}", json!({"a": 1, "b": 2})),
        ("order", json, br#"{"b":1,"a":2}"#, json!({"a": 2, "b": 1})),
        ("lines", json, b"{\r\n  \"a\": 1\r\n}\r\n", json!({"a": 1})),
        (
            "form",
            "application/x-www-form-urlencoded",
            b"a=1&a=2&b=%E2%82%AC",
            json!({"a": ["1", "2"], "b": "€"}),
        ),
        ("mark", json, b"\xef\xbb\xbf{\"a\":1}", json!({"a": 1})),
        ("packed", json, b"", json!({"a": "packed"})),
    ];
    for (place, (id, media, body, parsed)) in cases.into_iter().enumerate() {
        let packed = id == "packed";
        let body = if packed {
            gzip(parsed.to_string().as_bytes())
        } else {
            body.to_vec()
        };
        let mut delivery = NEW.delivery(id, NOW_S, &body).with("content-type", media);
        if packed {
            delivery = delivery.with("content-encoding", "gzip");
        }
        let answer = delivery.to(&host).await;
        assert_eq!(answer.status, 202, "{id}: {answer:?}");
        let run = host.settle(run_of(&answer)).await;
        assert_eq!(run.state(), run::State::Completed, "{id}");
        assert_eq!(run.0.run.key, id, "the sender's id is the key");

        let event = &host.client.get(&format!("runs/{}", run.0.run.id)).await["event"];
        assert_eq!(event["verified_by"], "standard-webhooks");
        let digest: String = Sha256::digest(signed(id, NOW_S, &body))
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(event["signed_digest"], format!("sha256:{digest}"), "{id}");

        let requests = destination.requests_of("chat");
        let sent: Value = serde_json::from_slice(&requests[place].body).unwrap();
        assert_eq!(sent, json!({ "text": id, "said": parsed }));

        // Much later the sender, who got no answer, signs it again with the time of the new attempt.
        let again = NEW.delivery(id, NOW_S + 200, &body).with("content-type", media);
        let again = if packed {
            again.with("content-encoding", "gzip")
        } else {
            again
        };
        let answer = again.to(&host).await;
        assert_eq!((answer.status, run_of(&answer)), (202, run.0.run.id), "{id}");
        assert_eq!(answer.json()["duplicate"], true);
    }
    assert_eq!(destination.count("chat").requests, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_signature_does_not_prove_is_refused_and_nobody_is_told_why() {
    let (destination, host) = host(FLOW).await;
    let body = br#"{"order":{"id":"A-1"}}"#;
    let good = || NEW.delivery("msg_1", NOW_S, body);
    let mut flipped = good();
    flipped.body[12] ^= 1;
    // The same document, written otherwise: nothing is parsed before the signature holds.
    let mut spaced = good();
    spaced.body.push(b' ');
    let mut unpacked = NEW.delivery("msg_1", NOW_S, &gzip(body));
    unpacked.body = body.to_vec();
    let mut twice = good();
    twice.headers.push(("webhook-id".to_owned(), "msg_2".to_owned()));
    let bad = [
        ("a flipped byte", flipped),
        ("another spelling", spaced),
        ("signed was the packed body", unpacked),
        ("no id", good().without("webhook-id")),
        ("no timestamp", good().without("webhook-timestamp")),
        ("no signature", good().without("webhook-signature")),
        ("another id", good().with("webhook-id", "msg_2")),
        ("two ids", twice),
        (
            "another time",
            good().with("webhook-timestamp", &(NOW_S + 1).to_string()),
        ),
        ("too old", NEW.delivery("msg_1", NOW_S - 301, body)),
        ("too early", NEW.delivery("msg_1", NOW_S + 301, body)),
        ("a stranger", Sender([3; 32]).delivery("msg_1", NOW_S, body)),
        (
            "a token",
            good()
                .without("webhook-signature")
                .with("authorization", &format!("Bearer {}", NEW.secret())),
        ),
    ];
    let mut told = Vec::new();
    for (what, delivery) in bad {
        let answer = delivery.to(&host).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        told.push(answer.text);
    }
    assert!(told.iter().all(|text| text == &told[0]), "{told:#?}");
    assert_eq!(host.client.get("counts").await["events"], 0);
    assert_eq!(destination.count("chat").connections, 0);

    for at_s in [NOW_S - 300, NOW_S + 300] {
        let answer = NEW.delivery(&format!("msg_{at_s}"), at_s, body).to(&host).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_signed_bytes_are_one_event_also_under_a_key_that_nobody_signed() {
    let flow = FLOW.replace("\n\n[[steps]]", "\nkey = \"{{ headers['x-order'] }}\"\n\n[[steps]]");
    let (destination, host) = host(&flow).await;
    let delivery = || NEW.delivery("msg_1", NOW_S, b"{}");
    let first = delivery().with("x-order", "A-1").to(&host).await;
    assert_eq!(first.status, 202, "{first:?}");
    let run = host.settle(run_of(&first)).await;
    let second = delivery().with("x-order", "A-2").to(&host).await;
    assert_eq!(second.json()["duplicate"], true, "{second:?}");
    assert_eq!(run_of(&second), run.0.run.id);
    assert_eq!(destination.effects_total(), 1);
    let without = delivery().to(&host).await;
    assert_eq!(without.status, 400, "a key that is missing: {without:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_rotated_without_a_delivery_being_lost() {
    let (_destination, host) = host(FLOW).await;
    let secret = |name: &str| host.data().join("secrets").join(name);
    let status = async |sender: &Sender, id: &str| sender.delivery(id, NOW_S, b"{}").to(&host).await.status;
    assert_eq!((status(&OLD, "msg_1").await, status(&NEW, "msg_2").await), (202, 202));
    // A sender that signs with both, as the specification asks for.
    let both = NEW.delivery("msg_3", NOW_S, b"{}");
    let signatures = format!(
        "{} {}",
        Sender([3; 32]).sign("msg_3", NOW_S, b"{}"),
        OLD.sign("msg_3", NOW_S, b"{}")
    );
    assert_eq!(both.with("webhook-signature", &signatures).to(&host).await.status, 202);
    // The new one is not there yet: the sender of the new one must come again, nobody else notices.
    std::fs::remove_file(secret("NEW")).unwrap();
    assert_eq!((status(&OLD, "msg_4").await, status(&NEW, "msg_5").await), (202, 503));
    std::fs::write(secret("NEW"), NEW.secret()).unwrap();
    assert_eq!(status(&NEW, "msg_5").await, 202);
    // The old one is gone from both sides.
    std::fs::write(secret("OLD"), Sender([4; 32]).secret()).unwrap();
    assert_eq!((status(&OLD, "msg_6").await, status(&NEW, "msg_6").await), (401, 202));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_says_everywhere_how_its_deliveries_are_verified() {
    let (_destination, host) = host(FLOW).await;
    let flows = host.client.get("flows").await;
    assert_eq!(flows["items"][0]["verify"], "standard-webhooks");
    assert_eq!(flows["items"][0]["open"], false);
    let answer = NEW.delivery("msg_1", NOW_S, b"{}").to(&host).await;
    NEW.delivery("msg_1", NOW_S + 1, b"{}").to(&host).await;
    let run = host.settle(run_of(&answer)).await;
    let shown = host.client.get(&format!("runs/{}", run.0.run.id)).await;
    let deliveries = shown["deliveries"].as_array().unwrap();
    assert_eq!(deliveries.len(), 2);
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery["verified_by"] == "standard-webhooks")
    );
    let notices = host.inside().notices("127.0.0.1:8080".parse().unwrap()).await;
    assert!(notices.is_empty(), "{notices:?}");
    std::fs::remove_file(host.data().join("secrets/OLD")).unwrap();
    let notices = host.inside().notices("127.0.0.1:8080".parse().unwrap()).await;
    assert!(
        notices.len() == 1 && notices[0].contains("ONCEGATE_SECRET_OLD"),
        "{notices:?}"
    );
}
