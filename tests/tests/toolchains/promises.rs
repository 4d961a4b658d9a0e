//! What a connector promises, whatever it is written in.

use crate::HOST;
use crate::billing::{Billing, CURRENCY, output};
use crate::called::Called;
use oncegate::runtime::{LogLevel, PerformReturn, Size, Stop};
use oncegate_domain::outcome::Permanent;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::Behaviour;
use std::process::Command;
use std::time::{Duration, Instant};

pub async fn the_packed_connector_passes_the_check(wasm: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("invoices.wasm");
    std::fs::write(&file, wasm).unwrap();
    let report = oncegate::build::check(&file).unwrap();
    assert_eq!((report.manifest.name.as_str(), report.size), ("invoices", Size::Large));
    let said = report.to_string();
    assert!(said.contains("create-invoice (changes the destination)"), "{said}");
}

pub async fn one_invoice_is_created_under_our_key_and_every_digit_arrives(wasm: &[u8]) {
    let billing = Billing::start(wasm, CURRENCY).await;
    let told = r#"{"id": 9007199254740993, "total": 12.30}"#;
    billing.destination.script_next("billing", [Behaviour::ok(201, told)]);

    let run = billing.order().await;
    let run = billing.host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed, "{:#?}", run.0.steps);
    assert_eq!(billing.methods(), ["POST"]);
    assert_eq!(billing.destination.effects_total(), 1);
    let request = &billing.destination.requests_of("billing")[0];
    assert!(request.header("idempotency-key").unwrap().starts_with("og1_"));
    assert!(request.header("authorization").unwrap().starts_with("Bearer "));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.text().replace(' ', ""),
        r#"{"customer":9007199254740993,"currency":"EUR","lines":[{"amount":12.30,"text":"Tea"}],"note":"OrderA-1"}"#
    );
    assert_eq!(output(&run).to_string(), r#"{"id":"9007199254740993","total":12.30}"#);
}

pub async fn a_lost_answer_is_looked_up_and_found(wasm: &[u8]) {
    let billing = Billing::start(wasm, CURRENCY).await;
    billing
        .destination
        .script_next("billing", [Behaviour::effect_then_reset()]);

    let run = billing.order().await;
    let run = billing.host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed, "{:#?}", run.0.steps);
    assert_eq!(billing.methods(), ["POST", "GET"], "asked for, and not sent again");
    assert_eq!(billing.destination.effects_total(), 1);
    assert_eq!(run.step("invoice").reference.as_deref(), Some("billing-1"));
    assert_eq!(output(&run)["id"], "billing-1");
}

pub async fn a_request_that_got_lost_is_sent_again_once_it_is_known_to_be_absent(wasm: &[u8]) {
    let billing = Billing::start(wasm, CURRENCY).await;
    billing
        .destination
        .script_next("billing", [Behaviour::reset_after_all()]);

    let run = billing.order().await;
    let run = billing.host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed, "{:#?}", run.0.steps);
    assert_eq!(billing.methods(), ["POST", "GET", "POST"]);
    assert_eq!(billing.destination.effects_total(), 1);
    let requests = billing.destination.requests_of("billing");
    assert_eq!(
        requests[0].body, requests[2].body,
        "the same call builds the same request"
    );
}

pub async fn an_answer_that_is_not_understood_is_settled_by_asking(wasm: &[u8]) {
    let billing = Billing::start(wasm, CURRENCY).await;
    billing
        .destination
        .script_next("billing", [Behaviour::ok(201, "<p>Thank you!</p>")]);

    let run = billing.order().await;
    let run = billing.host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed, "{:#?}", run.0.steps);
    assert_eq!(billing.methods(), ["POST", "GET"]);
    assert_eq!(billing.destination.effects_total(), 1);
}

pub async fn a_refusal_goes_to_a_person_with_the_fields_that_are_at_fault(wasm: &[u8]) {
    let told = r#"{"code": "no_amount", "message": "This is too little.",
        "errors": [{"field": "lines.0.amount", "message": "is too small"}]}"#;
    let (_, returned) = Called::of(wasm).await.perform(422, told).await;
    let Ok(PerformReturn::Rejected(problem)) = returned else {
        panic!("{returned:?}");
    };
    assert_eq!(
        (problem.code.as_str(), problem.message.as_str()),
        ("no_amount", "the destination answered 422: This is too little.")
    );
    assert_eq!(
        problem.fields,
        [("/lines/0/amount".to_owned(), "is too small".to_owned())]
    );

    let billing = Billing::start(wasm, CURRENCY).await;
    billing.destination.script_next("billing", [refusal(told)]);
    let run = billing.order().await;
    let run = billing.host.settle(run).await;
    assert_eq!(run.reason("invoice"), Review::Refused(Permanent::Rejected));
    assert_eq!((billing.methods().len(), billing.destination.effects_total()), (1, 0));
    let message = run.attempts("invoice")[0].message.clone().unwrap();
    assert!(
        message.contains("This is too little.; /lines/0/amount: is too small"),
        "{message}"
    );
}

pub async fn every_status_means_what_it_usually_means(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    for (status, meant) in [
        (401, "unauthorized"),
        (403, "unauthorized"),
        (404, "rejected"),
        (408, "unsure"),
        (409, "rejected"),
        (422, "rejected"),
        (429, "temporary"),
        (500, "unsure"),
        (503, "temporary"),
        (302, "unsure"),
    ] {
        let told = match called.perform(status, "<h1>no</h1>").await.1 {
            Ok(PerformReturn::Rejected(_)) => "rejected",
            Ok(PerformReturn::Unauthorized(_)) => "unauthorized",
            Ok(PerformReturn::Temporary(_)) => "temporary",
            Ok(PerformReturn::Unsure(_)) => "unsure",
            other => panic!("{status}: {other:?}"),
        };
        assert_eq!(told, meant, "{status}");
    }
}

pub async fn what_cannot_be_built_is_refused_before_anything_is_sent(wasm: &[u8]) {
    let without_currency = r#"{"customer": 1, "lines": []}"#;
    let called = Called::of(wasm).await;
    let (door, returned) = called.perform_with(without_currency, 201, "{}").await;
    let Ok(PerformReturn::Rejected(problem)) = returned else {
        panic!("{returned:?}");
    };
    assert_eq!((problem.code.as_str(), door.requests.len()), ("no_currency", 0));
    assert_eq!(problem.fields[0].0, "/currency");

    let billing = Billing::start(wasm, "").await;
    let run = billing.order().await;
    let run = billing.host.settle(run).await;
    assert_eq!(run.reason("invoice"), Review::Refused(Permanent::Rejected));
    assert!(billing.methods().is_empty());
}

/// The example trips over an error that names no field. What the host saw before counts all the same.
pub async fn an_unforeseen_error_is_logged_and_harms_nobody(wasm: &[u8]) {
    let odd = r#"{"errors": [{"field": 5}]}"#;
    let (door, returned) = Called::of(wasm).await.perform(422, odd).await;
    assert!(matches!(returned, Err(Stop::Trap(_))), "{returned:?}");
    let logged = door.log.iter().find(|(level, ..)| *level == LogLevel::Error);
    let (_, message, fields) = logged.unwrap();
    let place = format!("{message} {fields:?}");
    assert!(place.contains("Error") && place.contains("refusal"), "{place}");

    let billing = Billing::start(wasm, CURRENCY).await;
    billing.destination.script_next("billing", [refusal(odd)]);
    let run = billing.order().await;
    let run = billing.host.settle(run).await;
    assert_eq!(
        billing.methods(),
        ["POST", "GET", "POST"],
        "in doubt, absent, sent again"
    );
    assert_eq!(run.state(), run::State::Completed, "{:#?}", run.0.steps);
    assert_eq!(billing.destination.effects_total(), 1);
}

/// The line that says why it failed, where an author looks for it, and no secret in it.
pub async fn a_call_by_hand_shows_what_the_connector_logged(wasm: &[u8]) {
    let billing = Billing::start(wasm, CURRENCY).await;
    billing
        .destination
        .script_next("billing", [refusal(r#"{"errors": [{"field": 5}]}"#)]);
    let (folder, caches) = (billing.folder_for_calls(wasm), oncegate_tests::compiled::user_cache());
    let input = r#"{"customer": 1, "lines": [{"text": "Tea", "amount": 12.30}]}"#;
    let mut call = Command::new(HOST);
    call.args(["connector", "call", "connectors/invoices.wasm", "create-invoice"])
        .args(["--connection", "billing", "--yes", "--input", input])
        .current_dir(folder.path())
        .env("XDG_CACHE_HOME", caches.path());
    let output = tokio::task::spawn_blocking(move || call.output());
    let output = output.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let logged = said.split("the connector logged\n").nth(1).unwrap_or_default();
    assert!(logged.starts_with("  error  "), "{said}");
    assert!(logged.contains("Error") && logged.contains("refusal"), "{said}");
}

/// A host of its own, killed in the middle.
pub async fn it_passes_the_drill(wasm: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("invoices.wasm");
    std::fs::write(&file, wasm).unwrap();
    let mut drill = Command::new(HOST);
    let caches = oncegate_tests::compiled::user_cache();
    drill
        .args(["drill", "--connector"])
        .arg(&file)
        .env("XDG_CACHE_HOME", caches.path());
    let output = tokio::task::spawn_blocking(move || drill.output())
        .await
        .unwrap()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for case in ["answer-lost", "crash-after-intent", "slow-commit", "strangers-record"] {
        assert!(said.contains(case), "{case}: {said}");
    }
}

/// The largest answer that the egress lets in, as values of the language, fits into the memory of a call and its CPU time.
pub async fn the_largest_answer_can_be_read(wasm: &[u8]) {
    let item = r#"{"amount":123456.70,"text":"some words"},"#;
    let largest = format!(
        r#"{{"id":"i-1","lines":[{}1]}}"#,
        item.repeat((4 << 20) / item.len() - 1)
    );
    let (_, returned) = Called::of(wasm).await.perform(201, &largest).await;
    let output = r#"{"id":"i-1","total":null}"#.to_owned();
    assert_eq!(returned, Ok(PerformReturn::Completed(output)));
}

/// Not a bound that a user would feel, but one that a mistake in the pools would break.
pub async fn a_call_takes_thousandths_of_a_second(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    let mut took = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        let (_, returned) = called.perform(201, r#"{"id":"i-1"}"#).await;
        took.push(began.elapsed());
        assert!(returned.is_ok(), "{returned:?}");
    }
    took.sort();
    crate::made::say(&format!(
        "a call took {:.2?}, one in a hundred {:.2?}",
        took[100], took[198]
    ));
    assert!(took[100] < Duration::from_millis(200), "{took:?}");
}

/// A refusal in these words, without an effect.
fn refusal(told: &str) -> Behaviour {
    Behaviour {
        effect_after_ms: None,
        ..Behaviour::ok(422, told)
    }
}
