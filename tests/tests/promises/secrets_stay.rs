//! C12, the first half: a destination that echoes the request, and a connector that puts what it got into its errors and
//! its log. The connector never had the token, so nobody else can learn it: not from the API, the log or the ledger.

use crate::HOST;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, orders, request};
use std::path::Path;
use std::process::Command;

/// It looks different in every encoding.
const SECRET: &str = "s3cr&t/of the+chat=42";

/// The secret as a destination could hand it back.
fn whole() -> Vec<String> {
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let form = "s3cr%26t%2Fof%20the%2Bchat%3D42".to_owned();
    vec![SECRET.to_owned(), percent, form, URL_SAFE.encode(SECRET)]
}

/// What nobody may see of it.
fn forms() -> Vec<String> {
    let mut forms = whole();
    // What stands before it decides how base64 looks: only what does not touch its ends is certain to be there.
    for before in ["", "z", "zz"] {
        let encoded = STANDARD_NO_PAD.encode(format!("{before}{SECRET}"));
        forms.push(encoded[4..encoded.len() - 4].to_owned());
    }
    forms
}

/// What the destination answers: the request, with its credentials, as it came and in every other form.
fn echo() -> String {
    let mut echo = format!(
        "authorization: Bearer {SECRET}\n{}",
        STANDARD.encode(format!("Bearer {SECRET}"))
    );
    for form in whole() {
        echo += &format!("\nyou sent {form} to me");
    }
    for before in ["", "z", "zz"] {
        echo += &format!("\n{}", STANDARD.encode(format!("{before}{SECRET}")));
    }
    serde_json::json!({ "error": echo, "message": echo }).to_string()
}

fn shows_nothing(what: &str, bytes: &[u8]) {
    for form in forms() {
        let form = form.as_bytes();
        assert!(
            !bytes.windows(form.len()).any(|seen| seen == form),
            "{what} shows the secret as {}",
            String::from_utf8_lossy(form)
        );
    }
}

/// Every file of the data directory but the secret's own.
fn files_show_nothing(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name == "secrets" || name == "cache" => {}
            true => files_show_nothing(&path),
            // The reserve is zeros, and many of them.
            false if name == "reserve" => {}
            false => shows_nothing(&name, &std::fs::read(&path).unwrap()),
        }
    }
}

/// A host whose connectors put what they got into an error text (`tells`) and into the output (`keeps`), each with a hook that
/// answers with the result.
async fn host(destination: &Destination) -> ChildHost {
    let send = "{ op = \"send\", path = \"/messages\", json = { text = \"{{key}}\" } }";
    let mut folder = Folder::new();
    for (name, then) in [("tells", "{ op = \"judge\" }"), ("keeps", "{ op = \"ok\" }")] {
        let puppet = Connection::puppet(name, &destination.origin("chat"))
            .settings(&format!("script = [{send}, {then}]"))
            .writes("POST /messages");
        let bearer = "kind = \"bearer\"\nsecret = \"token\"\n[secrets]\ntoken = { file = \"chat\" }";
        let toml = puppet.toml().replace("kind = \"none\"", bearer);
        let step = format!("[[steps]]\nid = \"puppet\"\nuse = \"{name}.do\"\n");
        let flow = orders(name, &step).replace("key = ", "respond = \"result\"\nkey = ");
        folder = folder.connection(&puppet).flow(name, &flow);
        folder.write(&format!("connections/{name}.toml"), toml.as_bytes());
    }
    let host = ChildHost::start(HOST, &folder).await;
    std::fs::write(host.data().join("secrets/chat"), SECRET).unwrap();
    host
}

/// What a command prints about the host.
fn prints(host: &ChildHost, arguments: &[&str]) -> String {
    let mut command = Command::new(HOST);
    command.arg("--data").arg(host.data()).args(arguments);
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    shows_nothing(arguments[0], &output.stderr);
    String::from_utf8(output.stdout).unwrap()
}

/// Everything that the API and the commands tell about a run, and about what waits for a person.
async fn api_shows_nothing(host: &ChildHost, run: &str) {
    let told = prints(host, &["run", "show", run]);
    assert!(
        told.contains("the destination answered") || told.contains("completed"),
        "{told}"
    );
    shows_nothing("run show", told.as_bytes());
    let run = format!("runs/{run}");
    let paths = [
        "runs",
        &run,
        "review",
        "audit",
        "connections",
        "connectors",
        "flows",
        "counts",
        "writer",
    ];
    for path in paths {
        let answer = host.client.ask(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        shows_nothing(path, answer.text.as_bytes());
    }
    shows_nothing("/metrics", host.client.metrics().await.as_bytes());
    let ready = request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap();
    shows_nothing("/readyz", ready.text.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_echoed_secret_comes_to_nobody_whatever_the_connector_does_with_it() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    let echoed = Behaviour::status_with(422, &[("x-echo", SECRET)], &echo());
    destination.script_next("chat", [echoed]);
    destination.script(Rule::always("chat", Behaviour::ok(200, &echo())));

    for (name, status, state) in [("tells", 202, "needs_review"), ("keeps", 200, "completed")] {
        let answer = host.order(name, name).await.unwrap();
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.text.contains("you sent"), status == 200, "{answer:?}");
        shows_nothing("the answer of the hook", answer.text.as_bytes());
        let run = host.settled(name).await;
        assert_eq!(run["state"], state, "{run:#}");
        shows_nothing("the run", run.to_string().as_bytes());
        let told = match state {
            "completed" => &run["steps"][0]["output"],
            _ => &run["steps"][0]["last_error"],
        };
        assert!(told.to_string().contains("you sent"), "the rest of it is there: {told}");
        api_shows_nothing(&host, run["id"].as_str().unwrap()).await;
    }
    let items = host.client.get("review").await;
    let item = items["items"][0]["id"].as_str().unwrap();
    for told in [
        host.client.get(&format!("review/{item}")).await.to_string(),
        prints(&host, &["review", "show", item]),
    ] {
        assert!(told.contains("you sent"), "the rest of it is there: {told}");
        shows_nothing("the review", told.as_bytes());
    }
    let sent = destination.requests_of("chat");
    assert!(
        sent.iter()
            .all(|seen| seen.header("authorization") == Some(&format!("Bearer {SECRET}")))
    );
    files_show_nothing(host.data());
}
