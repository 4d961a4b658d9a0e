//! What a guest can and cannot do, asked of the real engine. The door records: it is the judge of what got out.

#![allow(clippy::unwrap_used)]

mod closed;
mod handmade;
mod loading;
mod pace;
mod puppet;
mod refusals;
mod sizes;
mod stops;

use std::sync::Arc;
use std::time::Duration;

use super::{Call, Component, Door, GuestDoubt, LogLevel, LookupReturn, PerformReturn, Request, Response, Runtime};
use super::{CallLimits, RuntimeLimits, SendError, Size, Stop};

/// A door that records what comes through it and answers 200 after a while.
#[derive(Default)]
struct Recorder {
    wait: Duration,
    requests: Vec<Request>,
    answered: usize,
    log: Vec<(LogLevel, String)>,
}

impl Recorder {
    fn waiting(wait: Duration) -> Recorder {
        Recorder {
            wait,
            ..Recorder::default()
        }
    }
}

impl Door for Recorder {
    async fn send(&mut self, request: Request) -> Result<Response, SendError> {
        self.requests.push(request);
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
        self.answered += 1;
        Ok(Response {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: b"fine".to_vec(),
        })
    }

    fn log(&mut self, level: LogLevel, message: String, _fields: Vec<(String, String)>) {
        self.log.push((level, message));
    }
}

/// An event of 2001-09-09, 01:46:40.123.
const EVENT_MS: i64 = 1_000_000_000_123;

fn call(key: &str) -> Call {
    Call {
        action: "act".to_owned(),
        input: "{}".to_owned(),
        key: key.to_owned(),
        settings: "{}".to_owned(),
    }
}

/// Limits under which a test ends soon.
fn brief() -> RuntimeLimits {
    let mut limits = RuntimeLimits::default();
    for limits in [&mut limits.small, &mut limits.large] {
        (limits.calls_max, limits.cpu_ms_max) = (8, 200);
    }
    limits
}

/// The same, where calls of small components have other limits.
fn small(change: impl FnOnce(&mut CallLimits)) -> RuntimeLimits {
    let mut limits = brief();
    change(&mut limits.small);
    limits
}

fn runtime(limits: RuntimeLimits) -> Runtime {
    Runtime::new(limits, None).unwrap()
}

async fn loaded(limits: RuntimeLimits, guest: &handmade::Guest) -> (Runtime, Component) {
    let runtime = runtime(limits);
    let component = runtime.load(&guest.build()).await.unwrap();
    (runtime, component)
}

/// One `perform` of a fresh runtime with these limits.
async fn perform(limits: RuntimeLimits, guest: &handmade::Guest) -> (Recorder, Result<PerformReturn, Stop>) {
    let (runtime, component) = loaded(limits, guest).await;
    runtime
        .perform(&component, call("key"), EVENT_MS, Recorder::default())
        .await
}

fn completed() -> Result<PerformReturn, Stop> {
    Ok(PerformReturn::Completed(r#"{"ok":true}"#.to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_returns_sends_and_logs() {
    let body = format!("{}{}{}", handmade::LOG, handmade::send(16, 11), handmade::OK);
    let (door, returned) = perform(brief(), &handmade::Guest::performing(&body)).await;
    assert_eq!(returned, completed());
    assert_eq!(door.log, [(LogLevel::Info, "a line of a log".to_owned())]);
    let request = &door.requests[0];
    assert_eq!(
        (&*request.method, &*request.endpoint, &*request.path),
        ("POST", "api", "/x")
    );
    assert!(request.has_body && request.body == br#"{"ok":true}"#);
}

#[tokio::test]
async fn a_lookup_returns_what_it_found() {
    let found = "(i32.store (i32.const 1028) (i32.const 16)) (i32.store (i32.const 1032) (i32.const 11))
        (i32.store (i32.const 1036) (i32.const 48)) (i32.store (i32.const 1040) (i32.const 4)) (i32.const 1024)";
    let guest = handmade::Guest {
        lookup: found.to_owned(),
        ..handmade::Guest::default()
    };
    let (runtime, component) = loaded(brief(), &guest).await;
    let doubt = GuestDoubt {
        first_sent_ms: 1,
        status: Some(500),
    };
    let (_, returned) = runtime
        .lookup(&component, call("key"), doubt, EVENT_MS, Recorder::default())
        .await;
    let expected = LookupReturn::Found {
        output: r#"{"ok":true}"#.to_owned(),
        reference: "POST".to_owned(),
        matched_by_key: true,
    };
    assert_eq!(returned, Ok(expected));
}

#[tokio::test]
async fn a_call_can_be_spawned() {
    let (runtime, component) = loaded(brief(), &handmade::Guest::default()).await;
    let shared = Arc::new(runtime);
    let task = tokio::spawn(async move {
        shared
            .perform(&component, call("k"), EVENT_MS, Recorder::default())
            .await
            .1
    });
    assert_eq!(task.await.unwrap(), completed());
}
