//! The same promises with a guest that an SDK made: the puppet, in its committed form.

use std::path::{Path, PathBuf};

use super::*;

/// The committed puppet, or the one that CI built from the sources at hand.
fn bytes() -> Vec<u8> {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/puppet/built");
    let folder = std::env::var_os("ONCEGATE_TEST_CONNECTORS").map_or(committed, PathBuf::from);
    std::fs::read(folder.join("puppet.wasm")).unwrap()
}

async fn puppet(limits: RuntimeLimits) -> (Runtime, Component) {
    let runtime = runtime(limits);
    let component = runtime.load(&bytes()).await.unwrap();
    (runtime, component)
}

/// One `perform` with this script, by this step.
async fn told(on: &(Runtime, Component), key: &str, script: &str) -> (Recorder, Result<PerformReturn, Stop>) {
    let call = Call {
        action: "do".to_owned(),
        input: format!(r#"{{"script":[{script}]}}"#),
        ..call(key)
    };
    on.0.perform(&on.1, call, EVENT_MS, Recorder::default()).await
}

#[tokio::test]
async fn the_puppet_is_stopped_in_each_way() {
    let puppet = puppet(brief()).await;
    let stop = async |script| told(&puppet, "key", script).await.1.unwrap_err();
    assert_eq!(stop(r#"{"op":"loop"}"#).await, Stop::Cpu);
    assert_eq!(stop(r#"{"op":"grow"}"#).await, Stop::Memory);
    for script in [r#"{"op":"trap"}"#, r#"{"op":"recurse"}"#, r#"{"op":"exit"}"#] {
        assert!(matches!(stop(script).await, Stop::Trap(_)), "{script}");
    }
    let huge = stop(r#"{"op":"huge","bytes":2000000}"#).await;
    assert!(
        matches!(&huge, Stop::Trap(why) if why.contains("1048576 are allowed")),
        "{huge:?}"
    );
}

#[tokio::test]
async fn what_the_puppet_asks_of_wasi_is_the_same_for_the_same_step() {
    let puppet = puppet(brief()).await;
    let seen = async |key: &str| match told(&puppet, key, r#"{"op":"wasi"}"#).await.1 {
        Ok(PerformReturn::Completed(output)) => {
            serde_json::from_str::<serde_json::Value>(&output).unwrap()["wasi"].clone()
        }
        other => panic!("{other:?}"),
    };
    let first = seen("og1_a").await;
    assert_eq!(first, seen("og1_a").await);
    assert_ne!(first, seen("og1_b").await);
    assert!(first.is_object() || first.is_array(), "{first}");
}

#[tokio::test]
async fn the_puppet_sleeps_an_hour_at_once_and_its_floods_are_bounded() {
    let puppet = puppet(brief()).await;
    let script =
        r#"{"op":"sleep","ms":3600000},{"op":"log","lines":500,"bytes":100},{"op":"print","lines":100,"bytes":100}"#;
    let (door, returned) = told(&puppet, "key", script).await;
    assert!(matches!(returned, Ok(PerformReturn::Completed(_))), "{returned:?}");
    assert_eq!(door.log.len(), 201);
}

#[tokio::test]
async fn the_puppet_sends_and_reports_what_it_is_told() {
    let puppet = puppet(brief()).await;
    let script = r#"{"op":"send","path":"/effects","json":{"key":"{{key}}"}},
        {"op":"rejected","code":"bad","message":"no","fields":[["/a","wrong"]],"retry_after_ms":5}"#;
    let (door, returned) = told(&puppet, "og1_x", script).await;
    assert_eq!(door.requests[0].body, br#"{"key":"og1_x"}"#);
    let Ok(PerformReturn::Rejected(problem)) = returned else {
        panic!("{returned:?}");
    };
    assert_eq!(
        (&*problem.code, &*problem.message, problem.retry_after_ms),
        ("bad", "no", Some(5))
    );
    assert_eq!(problem.fields, [("/a".to_owned(), "wrong".to_owned())]);
}
