//! The drill finds a broken connector out, in the cell that says what is wrong with it, and passes an honest one.

use oncegate_tests::{Connection, Folder, connectors};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_host-under-test");

const SEND: &str = "{ op = \"send\", path = \"/effects\", json = { key = \"{{key}}\" } }";
const ASK: &str = "{ op = \"send\", method = \"GET\", path = \"/effects/{{key}}\" }";
const HONEST: &str = "{ op = \"judge\", reference = \"/id\" }";

/// The cases that a puppet does not pass which does `script`, and `lookup` where it is asked.
async fn failed(script: &str, lookup: Option<&str>) -> BTreeSet<String> {
    let mut connection = Connection::puppet("puppet", "http://127.0.0.1:9").writes("POST /effects");
    if lookup.is_some() {
        connection = connection
            .trust("lookup_after = \"30s\"\nabsent_on = [404]")
            .reads("GET /effects/{key}");
    }
    let answers = "[[examples.do.answers]]\nrequest = \"POST /effects\"\nstatus = 201\nbody = { id = \"e-1\", key = \"{{key}}\" }\n\
        [[examples.do.answers]]\nrequest = \"GET /effects/{key}\"\n\
        found = { status = 200, body = { id = \"e-1\", key = \"{{key}}\" } }\nabsent = { status = 404 }\n";
    let answers = match lookup {
        Some(_) => answers,
        None => answers
            .split("[[examples.do.answers]]\nrequest = \"GET")
            .next()
            .unwrap(),
    };
    let lookup = lookup.unwrap_or_default();
    let example = format!("[examples.do]\ninput = {{ script = [{script}], lookup = [{lookup}] }}\n{answers}");
    let folder = Folder::new();
    folder.write("puppet.toml", format!("{}\n{example}", connection.toml()).as_bytes());
    folder.write("puppet.wasm", &connectors::wasm("puppet"));
    let file = |name: &str| folder.path().join(name);
    let mut command = Command::new(PROGRAM);
    command
        .args(["drill", "--json", "--connection"])
        .arg(file("puppet.toml"));
    command.arg("--connector").arg(file("puppet.wasm"));
    command.env("XDG_CACHE_HOME", folder.path());
    drilled(command).await
}

/// The cases that failed.
async fn drilled(mut command: Command) -> BTreeSet<String> {
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let lines: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let failed: BTreeSet<String> = lines
        .iter()
        .filter(|line| line["pass"] == false)
        .map(|line| line["case"].as_str().unwrap().to_owned())
        .collect();
    assert!(lines.len() >= 11, "{lines:?}");
    assert_eq!(output.status.success(), failed.is_empty(), "{output:?}");
    failed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_honest_connector_passes_with_a_lookup_and_without() {
    let script = format!("{SEND}, {HONEST}");
    let honest = format!("{ASK}, {HONEST}");
    let (with, without) = tokio::join!(failed(&script, Some(&honest)), failed(&script, None));
    assert_eq!((with, without), Default::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_ok_without_sending_is_found_out() {
    let failed = failed("{ op = \"ok\" }", None).await;
    assert!(failed.contains("ok-without-sending"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_ok_to_a_refusal_is_found_out() {
    let failed = failed(&format!("{SEND}, {{ op = \"ok\" }}"), None).await;
    assert_eq!(
        failed,
        ["ok-on-404", "refused-for-good"].map(str::to_owned).into(),
        "and everything else is right"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_what_is_not_ours_is_found_out() {
    let finds = format!("{ASK}, {{ op = \"found\", by = \"content\", output = {{ }}, reference = \"e-1\" }}");
    let failed = failed(&format!("{SEND}, {HONEST}"), Some(&finds)).await;
    assert!(failed.contains("strangers-record"), "{failed:?}");
    assert!(
        !failed.contains("normal") && !failed.contains("answer-lost"),
        "{failed:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_lookup_is_blind_makes_a_second_record_and_is_found_out() {
    let blind = "{ op = \"send\", method = \"GET\", path = \"/effects/elsewhere\" }, { op = \"absent\" }";
    let failed = failed(&format!("{SEND}, {HONEST}"), Some(blind)).await;
    for case in ["answer-lost", "crash-after-effect", "lookup-unreadable"] {
        assert!(failed.contains(case), "{case}: {failed:?}");
    }
    assert!(!failed.contains("normal"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_never_sure_is_found_out_where_the_data_is_refused() {
    let unsure = format!("{SEND}, {{ op = \"unsure\", code = \"x\", message = \"who knows\" }}");
    let failed = failed(&unsure, Some(&format!("{ASK}, {HONEST}"))).await;
    assert!(failed.contains("refused-for-good"), "{failed:?}");
    assert!(!failed.contains("normal"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_calls_a_success_a_refusal_is_found_out_where_all_goes_well() {
    let rejects = format!("{SEND}, {{ op = \"rejected\", code = \"x\", message = \"no\" }}");
    let failed = failed(&rejects, None).await;
    assert!(failed.contains("normal"), "{failed:?}");
}

/// Each kind of destination: a natural repeat, a lookup by a marker, a key without a lookup, and nothing at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connectors_that_come_with_the_host_pass_their_own_drill() {
    for name in ["hubspot", "resend", "whatsapp"] {
        let folder = Folder::new();
        folder.write("it.wasm", &connectors::wasm(name));
        let mut command = Command::new(PROGRAM);
        command
            .args(["drill", "--json", "--connector"])
            .arg(folder.path().join("it.wasm"))
            .env("XDG_CACHE_HOME", folder.path());
        assert_eq!(drilled(command).await, BTreeSet::new(), "{name}");
    }
}
