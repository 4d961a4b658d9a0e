//! A mock of the host for a connector's own tests: answers are scripted, requests recorded. Inputs and outputs pass as
//! JSON text, as they do in the host. It judges nothing: what an outcome is, only the host knows.
//!
//! ```
//! # use oncegate_sdk::prelude::*;
//! # struct Ping;
//! # impl Action for Ping {
//! #     const NAME: &'static str = "ping";
//! #     type Settings = NoSettings;
//! #     type Input = Json;
//! #     type Output = Json;
//! #     fn perform(call: &Call<Ping>) -> Result<Json, Failure> {
//! #         Request::post("api", "/pings").json(&call.input).send_ok()?.json()
//! #     }
//! # }
//! use oncegate_sdk::mock::Mock;
//! use serde_json::json;
//!
//! let host = Mock::new().answer(201, json!({"id": 7}));
//! let output = host.perform::<Ping>(json!({"text": "hello"}));
//! assert_eq!(output, Ok(json!({"id": 7})));
//! assert_eq!(host.requests()[0].path, "/pings");
//! ```
//!
//! [`Mock::replay`] takes the script from a call that was made for real.

mod replay;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

use crate::action::{Action, Doubt};
use crate::answer::Answer;
use crate::failure::{Effect, Failure, Finding};
use crate::http::{SendError, Wire};
use crate::json::Json;
use crate::log::Level;
use crate::raw::{self, RawCall};

/// A scripted host. It can be used for several calls; its script goes on where it stopped.
#[derive(Debug, Default)]
pub struct Mock {
    key: Option<String>,
    settings: Option<String>,
    input: Option<Json>,
    tape: Rc<RefCell<Tape>>,
}

#[derive(Debug, Default)]
struct Tape {
    script: VecDeque<Result<Answer, SendError>>,
    /// What the next requests must be, where they are known from a recording.
    recorded: VecDeque<Wire>,
    requests: Vec<Wire>,
    logs: Vec<(Level, String)>,
}

thread_local! {
    static PRESENT: RefCell<Option<Rc<RefCell<Tape>>>> = const { RefCell::new(None) };
}

impl Mock {
    /// A host that has no answers yet.
    pub fn new() -> Mock {
        Mock::default()
    }

    /// The step key of the calls; `og1_test` unless set.
    pub fn key(mut self, key: &str) -> Mock {
        self.key = Some(key.to_owned());
        self
    }

    /// The connection's settings; `{}` unless set.
    pub fn settings(mut self, settings: impl Serialize) -> Mock {
        self.settings = Some(text(&settings));
        self
    }

    /// The next request is answered with this JSON.
    pub fn answer(self, status: u16, body: impl Serialize) -> Mock {
        let body = text(&body).into_bytes();
        self.answer_with(Answer {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body,
        })
    }

    /// The next request is answered with exactly this.
    pub fn answer_with(self, answer: Answer) -> Mock {
        self.tape.borrow_mut().script.push_back(Ok(answer));
        self
    }

    /// The next request gets no answer.
    pub fn fail(self, error: SendError) -> Mock {
        self.tape.borrow_mut().script.push_back(Err(error));
        self
    }

    /// Calls an action's `perform`.
    pub fn perform<A: Action>(&self, input: impl Serialize) -> Result<Value, Failure> {
        let call = self.call(&input);
        self.while_present(|| raw::perform::<A>(&call))
            .map(|output| value(&output))
    }

    /// Calls an action's `lookup`, as after a request that got no answer.
    pub fn lookup<A: Action>(&self, input: impl Serialize) -> Finding<Value> {
        self.lookup_after::<A>(
            input,
            Doubt {
                first_sent_ms: 0,
                status: None,
            },
        )
    }

    /// Calls an action's `lookup` with this doubt.
    pub fn lookup_after<A: Action>(&self, input: impl Serialize, doubt: Doubt) -> Finding<Value> {
        let call = self.call(&input);
        match self.while_present(|| raw::lookup::<A>(&call, &doubt)) {
            Finding::Found(Effect {
                output,
                reference,
                matched,
            }) => Finding::Found(Effect {
                output: value(&output),
                reference,
                matched,
            }),
            Finding::Absent => Finding::Absent,
            Finding::Unsure(why) => Finding::Unsure(why),
        }
    }

    /// The requests that were sent so far.
    pub fn requests(&self) -> Vec<Wire> {
        self.tape.borrow().requests.clone()
    }

    /// The lines that were logged so far.
    pub fn logs(&self) -> Vec<(Level, String)> {
        self.tape.borrow().logs.clone()
    }

    /// How many scripted answers nobody asked for.
    pub fn answers_left(&self) -> usize {
        self.tape.borrow().script.len()
    }

    fn call(&self, input: &impl Serialize) -> RawCall {
        RawCall {
            action: String::new(),
            input: text(input),
            key: self.key.clone().unwrap_or_else(|| "og1_test".to_owned()),
            settings: self.settings.clone().unwrap_or_else(|| "{}".to_owned()),
        }
    }

    /// Runs anything else on this host, such as a connector's own helper that sends.
    pub fn run<T>(&self, call: impl FnOnce() -> T) -> T {
        self.while_present(call)
    }

    fn while_present<T>(&self, call: impl FnOnce() -> T) -> T {
        /// Taken away even when the connector panics: the next test on this thread must not meet this host.
        struct Present;
        impl Drop for Present {
            fn drop(&mut self) {
                PRESENT.with_borrow_mut(|present| *present = None);
            }
        }
        PRESENT.with_borrow_mut(|present| *present = Some(Rc::clone(&self.tape)));
        let _present = Present;
        call()
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a test's value can be written as JSON")
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("the SDK wrote this JSON")
}

/// The door on this thread.
pub(crate) fn send(wire: Wire) -> Result<Answer, SendError> {
    let tape = PRESENT.with_borrow(Clone::clone);
    let Some(tape) = tape else {
        return Err(SendError::Denied(
            "outside of a host only `oncegate_sdk::mock` answers".to_owned(),
        ));
    };
    let mut tape = tape.borrow_mut();
    if let Some(recorded) = tape.recorded.pop_front() {
        replay::compare(&recorded, &wire);
    }
    let (method, path) = (wire.method.clone(), wire.path.clone());
    tape.requests.push(wire);
    tape.script
        .pop_front()
        .unwrap_or_else(|| panic!("the mock has no answer for {method} {path}: add `.answer(…)`"))
}

/// The log on this thread.
pub(crate) fn log(level: Level, message: &str, _fields: &[(&str, &str)]) {
    if let Some(tape) = PRESENT.with_borrow(Clone::clone) {
        tape.borrow_mut().logs.push((level, message.to_owned()));
    }
}
