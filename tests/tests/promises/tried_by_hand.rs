//! `oncegate connector call`: one call is one call, it goes through every door of a host, and nothing of it gives a secret
//! away.

use oncegate::call::{self, Answer, Leave, Subject};
use oncegate_sdk::mock::Mock;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, HOOK_SECRET, Rule, Service};
use serde_json::{Value, json};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_host-under-test");
const CONTACT: &str = r#"{"path":"/contacts","body":{"email":"ada@example.com","amount":12.30}}"#;

/// A connection to a CRM that honours keys and can be asked, with a secret.
struct Set {
    destination: Destination,
    folder: Folder,
}

impl Set {
    async fn up() -> Set {
        let destination = Destination::start([Service::crm()]).await.unwrap();
        let folder = Folder::new();
        let file = Connection::crm(&destination.origin("crm"))
            .timeout("1s")
            .toml()
            .replace("kind = \"none\"", "kind = \"bearer\"\nsecret = \"token\"")
            .replace("flows = [\"*\"]", "flows = []\ndigest = \"sha256:DIGEST\"")
            .replace("DIGEST", &"0".repeat(64))
            + "[secrets]\ntoken = { file = \"hook\" }\n[[trust.actions.read.requests]]\nmethod = \"GET\"\npath = \"/contacts/by-key/{key}\"\nkind = \"read\"\n";
        folder.write("connections/crm.toml", file.as_bytes());
        folder.write("secrets/hook", HOOK_SECRET.as_bytes());
        Set { destination, folder }
    }

    /// Calls an action of `http` by the command line.
    async fn call(&self, action: &str, more: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command
            .args([
                "connector",
                "call",
                "connectors/http.wasm",
                action,
                "--connection",
                "crm",
            ])
            .args(more)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.folder.path())
            .stdin(std::process::Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let all = String::from_utf8_lossy(&all);
        assert!(!all.contains(HOOK_SECRET), "a secret is shown: {all}");
        output
    }

    async fn json(&self, action: &str, more: &[&str]) -> Value {
        let output = self.call(action, &[more, &["--json"]].concat()).await;
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    fn effects(&self) -> u64 {
        self.destination.count("crm").effects_total
    }

    fn requests(&self) -> usize {
        self.destination.requests_of("crm").len()
    }

    fn subject(&self) -> Subject {
        let at = |path: &str| self.folder.path().join(path);
        Subject::read(
            &at("connectors/http.wasm"),
            &at("connections/crm.toml"),
            "send",
            at("secrets"),
        )
        .unwrap()
        .with_input(serde_json::from_str(CONTACT).unwrap())
        .unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_needs_no_leave_and_an_echoed_secret_is_masked() {
    let set = Set::up().await;
    let echo = format!(r#"{{"you_sent":"Bearer {HOOK_SECRET}"}}"#);
    set.destination
        .script(Rule::next("crm", Behaviour::ok(200, &echo)).reads());
    let record = set.folder.path().join("read.json");
    let output = set
        .call(
            "read",
            &[
                "--input",
                r#"{"path":"/contacts/by-key/x"}"#,
                "--record",
                record.to_str().unwrap(),
            ],
        )
        .await;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        told.contains("/contacts/by-key/x\n") && told.contains("Bearer [masked]"),
        "{told}"
    );
    assert!(
        told.contains("outcome        done: the destination answered 200"),
        "{told}"
    );
    let seen = &set.destination.requests_of("crm")[0];
    assert_eq!(
        seen.header("authorization").map(str::to_owned),
        Some(format!("Bearer {HOOK_SECRET}")),
        "the credentials are put in all the same"
    );
    let recorded = std::fs::read_to_string(record).unwrap();
    assert!(
        !recorded.contains(HOOK_SECRET) && recorded.contains("[masked]"),
        "{recorded}"
    );
    assert!(stderr(&output).contains("approves other bytes"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_is_refused_without_leave_and_is_one_effect_with_it() {
    let set = Set::up().await;
    let refused = set.call("send", &["--input", CONTACT]).await;
    assert!(
        !refused.status.success() && stderr(&refused).contains("--yes"),
        "{refused:?}"
    );
    assert_eq!(set.requests(), 0);

    let call = set.json("send", &["--input", CONTACT, "--yes"]).await;
    assert_eq!((set.effects(), set.requests()), (1, 1), "{call:#}");
    assert_eq!(call["outcome"], "confirmed", "{call:#}");
    assert_eq!(call["status"], 201);
    let key = call["key"].as_str().unwrap();
    let seen = &set.destination.requests_of("crm")[0];
    assert_eq!(seen.key.as_deref(), Some(key), "the host put its key in");
    assert!(seen.text().contains("12.30"), "digits stay: {}", seen.text());

    let found = set.json("send", &["--input", CONTACT, "--lookup", "--key", key]).await;
    assert_eq!(found["outcome"], "found", "{found:#}");
    let other = set
        .json("send", &["--input", CONTACT, "--lookup", "--key", "og1_other"])
        .await;
    assert_eq!(other["outcome"], "absent", "{other:#}");
    assert!(
        other["next"].as_str().unwrap().contains("twice, 10 s apart"),
        "{other:#}"
    );
    assert_eq!(set.effects(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_unknown_and_is_not_sent_again() {
    let set = Set::up().await;
    set.destination.script_next("crm", [Behaviour::effect_then_reset()]);
    let call = set
        .json("send", &["--input", CONTACT, "--yes", "--key", "og1_mine"])
        .await;
    assert_eq!(call["outcome"], "unknown", "{call:#}");
    assert_eq!(call["exchanges"][0]["error"]["kind"], "maybe_sent");
    let next = call["next"].as_str().unwrap();
    assert!(next.contains("ask by lookup") && next.ends_with("after 10 s"), "{next}");
    assert_eq!((set.effects(), set.requests()), (1, 1));
    let found = set
        .json("send", &["--input", CONTACT, "--lookup", "--key", "og1_mine"])
        .await;
    assert_eq!(
        (found["outcome"].as_str(), set.effects()),
        (Some("found"), 1),
        "{found:#}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_said_before_anything_is_sent() {
    let set = Set::up().await;
    let missing = set.folder.path().join("nowhere/call.json");
    let unwritable = ["--input", CONTACT, "--yes", "--record", missing.to_str().unwrap()];
    for (action, args, why) in [
        (
            "send",
            &["--input", r#"{"path":7}"#, "--yes"][..],
            "no input of \"send\"",
        ),
        ("send", &["--input", "{", "--yes"], "no JSON"),
        ("send", &["--input", "[]", "--yes"], "a JSON object"),
        ("gone", &["--yes"], "grants no action \"gone\""),
        ("read", &["--input", CONTACT, "--lookup", "--key", "k"], "has no lookup"),
        (
            "send",
            &["--input", CONTACT, "--yes", "--secrets", "flows"],
            "secret file hook",
        ),
        ("send", &unwritable, "nothing was sent"),
    ] {
        let output = set.call(action, args).await;
        assert!(
            !output.status.success() && stderr(&output).contains(why),
            "{why}: {output:?}"
        );
    }
    assert_eq!(set.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_not_listed_is_shown_as_denied() {
    let set = Set::up().await;
    let call = set
        .json("send", &["--input", r#"{"path":"/invoices","body":{}}"#, "--yes"])
        .await;
    let exchange = &call["exchanges"][0];
    assert_eq!(
        (&exchange["sent"], &exchange["error"]["kind"]),
        (&Value::Null, &json!("denied"))
    );
    assert_eq!(exchange["request"]["path"], "/invoices");
    assert_eq!(call["outcome"], "refused", "{call:#}");
    assert_eq!(set.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_asked_sees_the_very_request_and_no_means_no() {
    let set = Set::up().await;
    for (answer, effects) in [(Answer::No, 0), (Answer::Yes, 1)] {
        let subject = set.subject();
        let asked = move || {
            let mut shown = Vec::new();
            let mut question = |about: &Value| {
                shown.push(about.clone());
                Ok(answer)
            };
            let report = call::run(&subject, Leave::Ask(&mut question), &mut || ()).unwrap();
            (shown, report)
        };
        let (shown, report) = tokio::task::spawn_blocking(asked).await.unwrap();
        assert_eq!(shown.len(), 1);
        assert_eq!(
            shown[0]["sent"]["body"],
            r#"{"amount":12.30,"email":"ada@example.com"}"#
        );
        assert_eq!((report.is_some(), set.effects()), (effects == 1, effects));
        if let Some(report) = report {
            assert_eq!(report.json["exchanges"][0]["sent"], shown[0]["sent"], "{report:#?}");
        }
    }
    assert_eq!(set.requests(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_sends_twice_is_asked_about_once_and_sends_once() {
    let set = Set::up().await;
    let send = json!({"op": "send", "path": "/contacts", "json": {"email": "a@b.c"}});
    let read = json!({"op": "send", "method": "GET", "path": "/contacts/by-key/x"});
    let input = json!({"script": [read, send, send, {"op": "judge"}]});
    let file = Connection::puppet("crm", &set.destination.origin("crm"))
        .writes("POST /contacts")
        .reads("GET /contacts/by-key/{key}")
        .toml();
    set.folder.write("connections/crm.toml", file.as_bytes());
    let at = |path: &str| set.folder.path().join(path);
    let (puppet, connection) = (at("connectors/puppet.wasm"), at("connections/crm.toml"));
    let subject = Subject::read(&puppet, &connection, "do", at("secrets"))
        .unwrap()
        .with_input(input)
        .unwrap();
    let asked = move || {
        let mut questions = 0;
        let mut yes = |_: &Value| {
            questions += 1;
            Ok(Answer::Yes)
        };
        let report = call::run(&subject, Leave::Ask(&mut yes), &mut || ()).unwrap().unwrap();
        (questions, report)
    };
    let (questions, report) = tokio::task::spawn_blocking(asked).await.unwrap();
    assert_eq!((questions, set.effects()), (1, 1), "{report:#?}");
    let seen = set.destination.requests_of("crm");
    let methods: Vec<&str> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(
        methods,
        ["GET", "GET", "POST"],
        "what only reads is made for the question too"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_call_is_played_again_by_the_mock() {
    let set = Set::up().await;
    let record = set.folder.path().join("create.json");
    let made = set
        .json(
            "send",
            &["--input", CONTACT, "--yes", "--record", record.to_str().unwrap()],
        )
        .await;
    let recording = std::fs::read_to_string(&record).unwrap();
    let host = Mock::replay(&recording);
    let output = host.perform::<oncegate_http::Send>(host.input()).unwrap();
    assert_eq!(output, made["output"], "{recording}");
    assert_eq!(host.answers_left(), 0);
    assert_eq!(serde_json::from_str::<Value>(&recording).unwrap(), made);

    set.destination.script_next("crm", [Behaviour::effect_then_reset()]);
    set.json(
        "send",
        &["--input", CONTACT, "--yes", "--record", record.to_str().unwrap()],
    )
    .await;
    let host = Mock::replay(&std::fs::read_to_string(&record).unwrap());
    let failure = host.perform::<oncegate_http::Send>(host.input()).unwrap_err();
    assert!(matches!(failure, oncegate_sdk::Failure::Unsure(_)), "{failure:?}");
}
