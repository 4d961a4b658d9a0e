//! The reference for designers shows how to sign a delivery by hand: what it shows works as it stands there.

use crate::HOST;
use oncegate_tests::{ChildHost, Connection, Destination, Folder, Service};
use std::path::Path;
use std::process::Command;

const REFERENCE: &str = include_str!("../../../docs/flows.md");

/// What stands between the fence of this kind that comes after `place`, and its end.
fn block(place: &str, fence: &str) -> String {
    let after = REFERENCE.split_once(place).unwrap().1;
    let inside = after.split_once(&format!("```{fence}\n")).unwrap().1;
    inside.split_once("```").unwrap().0.to_owned()
}

fn is_there(program: &str, version: &str) -> bool {
    let found = Command::new(program).arg(version).output();
    if found.is_err() {
        println!("skipped: there is no `{program}` on this machine");
    }
    found.is_ok()
}

/// Runs the script where `oncegate-data` is the host's data; what it prints.
fn run(script: &str, data: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(data, folder.path().join("oncegate-data")).unwrap();
    let output = Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(folder.path())
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_is_signed_as_the_reference_shows_is_accepted_and_runs_once() {
    if !is_there("openssl", "version") || !is_there("curl", "--version") {
        return;
    }
    let section = "### Standard Webhooks";
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("paid-order", &block(section, "toml"));
    let example = block(section, "json order.example.json");
    folder.write("flows/order.example.json", example.as_bytes());
    let host = ChildHost::start(HOST, &folder).await;
    let script = block(section, "sh");
    let script = script.replace("127.0.0.1:8080", &host.client.address.to_string());

    let first = run(&script, host.data());
    assert!(
        first.contains("202") && first.contains("\"duplicate\":false"),
        "{first}"
    );
    let run_shown = host.settled("msg_1").await;
    assert_eq!(run_shown["state"], "completed", "{run_shown:#}");
    let second = run(&script, host.data());
    assert!(
        second.contains("202") && second.contains("\"duplicate\":true"),
        "{second}"
    );
    assert_eq!(destination.effects_total(), 1);
}
