//! Applying a folder again sends only what the host has not.

use crate::{CHAT, HOST};
use oncegate_tests::{ChildHost, Connection, Destination, Folder, Service, TestHost, orders};
use serde_json::{Value, json};
use std::process::Command;

async fn folder() -> (Destination, Folder) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat"));
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    (destination, folder)
}

/// The files, with `digest_of(the connector's)` in place of a connector's bytes.
fn by_digest(folder: &Folder, listed: &Value, digest_of: impl Fn(&str) -> String) -> Vec<Value> {
    let of = |file: &Value| {
        let name = file["path"]
            .as_str()?
            .strip_prefix("connectors/")?
            .strip_suffix(".wasm")?
            .to_owned();
        let listed = listed["items"]
            .as_array()?
            .iter()
            .find(|item| item["name"] == name.as_str())?;
        Some(json!({ "path": file["path"], "digest": digest_of(listed["digest"].as_str()?) }))
    };
    let files = oncegate_tests::host::files(folder.path());
    files.into_iter().map(|file| of(&file).unwrap_or(file)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_the_host_has_is_named_by_its_digest_alone() {
    let (destination, folder) = folder().await;
    let host = TestHost::start(&folder).await;
    let listed = host.client.get("connectors").await;

    let same = host
        .client
        .apply(&by_digest(&folder, &listed, str::to_owned), &[])
        .await;
    assert_eq!(same.status, 200, "{same:?}");
    let run = host.order("orders", "A-1").await;
    host.settle(run).await;
    assert_eq!(destination.effects_total(), 1);

    let unknown = by_digest(&folder, &listed, |digest| digest.replace(':', ":00"));
    let unknown = host.client.apply(&unknown, &[]).await;
    assert_eq!(unknown.status, 400);
    assert!(
        unknown.text.contains("this host has no connector sha256:00"),
        "{unknown:?}"
    );

    let mut both = oncegate_tests::host::files(folder.path());
    both[0]["digest"] = json!("sha256:00");
    let both = host.client.apply(&both, &[]).await;
    assert!(
        both.status == 400 && both.text.contains("either base64 or digest"),
        "{both:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_applies_the_same_folder_again_and_changes_nothing() {
    let (_destination, folder) = folder().await;
    let host = ChildHost::start(HOST, &folder).await;
    let apply = |folder: &Folder| {
        let mut command = Command::new(HOST);
        command.arg("--data").arg(host.data()).arg("apply").arg(folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let again = apply(&folder);
    assert!(again.starts_with("Nothing to change"), "{again}");
    let folder = folder.flow("orders", &orders("orders", CHAT).replace("Orders", "All orders"));
    let changed = apply(&folder);
    assert!(changed.contains("orders"), "{changed}");
}

/// More than any folder has; only `apply` reads that much at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_too_large_is_told_how_to_get_in() {
    let (_destination, folder) = folder().await;
    let host = TestHost::start(&folder).await;
    let file = |bytes: usize| json!({ "path": "flows/notes.md", "base64": "A".repeat(bytes) });
    let large = host.client.apply(&[file(128 << 20)], &[]).await;
    assert_eq!(large.status, 413);
    assert!(large.text.contains("serve --apply"), "{}", large.text);
    let large = host.client.post("review/none/resolve", &file(5 << 20)).await;
    assert_eq!(large.status, 413, "{}", large.text);
}
