//! A call that was made for real, as `oncegate connector call … --record FILE` writes it, played again. It must not know
//! what the host made of the call: it only answers as the destination did, and finds out a request that changed.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use super::{Mock, Tape, text};
use crate::answer::Answer;
use crate::http::{SendError, Wire};
use crate::json::Json;

/// The only format so far.
const FORMAT: &str = "oncegate.call/1";

/// What of a recording is needed to play it; the rest is for people.
#[derive(Deserialize)]
struct Recording {
    format: String,
    key: String,
    input: Value,
    settings: Value,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    request: Request,
    answer: Option<Answered>,
    error: Option<Error>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    endpoint: String,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<String>,
    body_hex: Option<String>,
}

#[derive(Deserialize)]
struct Answered {
    status: u16,
    headers: Vec<(String, String)>,
    body: Option<String>,
    body_hex: Option<String>,
}

#[derive(Deserialize)]
struct Error {
    kind: String,
    message: String,
}

impl Mock {
    /// A host that answers as the destination did in a recorded call, with the recorded key and settings:
    ///
    /// ```
    /// # use oncegate_sdk::prelude::*;
    /// # struct Ping;
    /// # impl Action for Ping {
    /// #     const NAME: &'static str = "ping";
    /// #     type Settings = NoSettings;
    /// #     type Input = Json;
    /// #     type Output = Json;
    /// #     fn perform(call: &Call<Ping>) -> Result<Json, Failure> {
    /// #         Request::post("api", "/pings").json(&call.input).send_ok()?.json()
    /// #     }
    /// # }
    /// # let recording = r#"{"format": "oncegate.call/1", "key": "og1_k", "input": {"text":   "hello"}, "settings": {},
    /// #     "exchanges": [{"request": {"method": "POST", "endpoint": "api", "path": "/pings", "query": [],
    /// #         "headers": [["content-type", "application/json"]], "body": "{\"text\":\"hello\"}"},
    /// #         "answer": {"status": 201, "headers": [], "body": "{\"id\":7}"}}]}"#;
    /// use oncegate_sdk::mock::Mock;
    /// use serde_json::json;
    ///
    /// let host = Mock::replay(recording);      // include_str!("create.json")
    /// assert_eq!(host.perform::<Ping>(host.input()), Ok(json!({"id": 7})));
    /// assert_eq!(host.answers_left(), 0);
    /// ```
    ///
    /// Every request must be the recorded one, byte for byte: the host would deny another one when it has to send a request
    /// again.
    ///
    /// # Panics
    /// The text is no recording; and, in the call, where a request is not the recorded one.
    pub fn replay(recording: &str) -> Mock {
        let recording: Recording = serde_json::from_str(recording).unwrap_or_else(|error| {
            panic!("this is no recorded call ({error}): make one with `oncegate connector call … --record FILE`")
        });
        assert!(
            recording.format == FORMAT,
            "the recording has the format {:?}, and this SDK plays {FORMAT}: record the call again",
            recording.format
        );
        let (mut script, mut recorded) = (VecDeque::new(), VecDeque::new());
        for exchange in recording.exchanges {
            recorded.push_back(wire(exchange.request));
            script.push_back(result(exchange.answer, exchange.error));
        }
        let mut mock = Mock::new().key(&recording.key);
        // A recording is laid out for people. The host hands over compact text, and what a connector passes on shows that.
        mock.settings = Some(text(&recording.settings));
        mock.input = Some(Json::of(&recording.input).expect("what was read as JSON can be written"));
        *mock.tape.borrow_mut() = Tape {
            script,
            recorded,
            ..Tape::default()
        };
        mock
    }

    /// The input of the recorded call, digit by digit.
    ///
    /// # Panics
    /// This mock was not made by [`Mock::replay`].
    pub fn input(&self) -> Json {
        self.input
            .clone()
            .expect("only a mock made by `Mock::replay` has an input: give `perform` one of your own")
    }
}

/// Panics where a request is not the one that was recorded, and says in which part.
pub(super) fn compare(recorded: &Wire, sent: &Wire) {
    let shown = |body: &Option<Vec<u8>>| body.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let parts = [
        ("method", recorded.method.clone(), sent.method.clone()),
        ("endpoint", recorded.endpoint.clone(), sent.endpoint.clone()),
        ("path", recorded.path.clone(), sent.path.clone()),
        ("query", format!("{:?}", recorded.query), format!("{:?}", sent.query)),
        (
            "headers",
            format!("{:?}", recorded.headers),
            format!("{:?}", sent.headers),
        ),
        (
            "body",
            format!("{:?}", shown(&recorded.body)),
            format!("{:?}", shown(&sent.body)),
        ),
    ];
    for (part, recorded, sent) in parts {
        assert!(
            recorded == sent,
            "the request is not the recorded one: its {part} was\n  {recorded}\nand is now\n  {sent}\nrecord the call again if \
             that is meant"
        );
    }
    // Two bodies that are no text can look the same.
    assert!(
        recorded == sent,
        "the request is not the recorded one: its body differs"
    );
}

fn wire(request: Request) -> Wire {
    Wire {
        method: request.method,
        endpoint: request.endpoint,
        path: request.path,
        query: request.query,
        headers: request.headers,
        body: bytes(request.body, request.body_hex),
    }
}

fn result(answer: Option<Answered>, error: Option<Error>) -> Result<Answer, SendError> {
    if let Some(answer) = answer {
        return Ok(Answer {
            status: answer.status,
            headers: answer.headers,
            body: bytes(answer.body, answer.body_hex).unwrap_or_default(),
        });
    }
    let error = error.expect("each exchange of a recording has an `answer` or an `error`");
    Err(match error.kind.as_str() {
        "denied" => SendError::Denied(error.message),
        "nothing_sent" => SendError::NothingSent(error.message),
        // A request that was cut off in the middle may have arrived as well.
        _ => SendError::MaybeSent(error.message),
    })
}

/// A body is text where it can be, else hexadecimal.
fn bytes(text: Option<String>, hex: Option<String>) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("`body_hex` is hexadecimal") as u8;
    let unhex = |hex: String| -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2);
        pairs
            .map(|pair| pair.iter().fold(0, |value, byte| value << 4 | digit(*byte)))
            .collect()
    };
    text.map(String::into_bytes).or_else(|| hex.map(unhex))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;
    use serde_json::json;

    fn recording() -> String {
        let request = json!({"method": "POST", "endpoint": "api", "path": "/things", "query": [["a", "b"]],
            "headers": [["content-type", "text/plain"]], "body": "x"});
        let reads = json!({"method": "GET", "endpoint": "api", "path": "/blob", "query": [], "headers": []});
        json!({"format": FORMAT, "key": "og1_k", "input": {"n": 1}, "settings": {"from": "me"}, "exchanges": [
            {"request": reads, "answer": {"status": 200, "headers": [["etag", "1"]], "body_hex": "00ff1a"}},
            {"request": request, "error": {"kind": "maybe_sent", "message": "the answer was lost"}},
        ]})
        .to_string()
    }

    fn blob() -> Wire {
        Wire {
            method: "GET".into(),
            endpoint: "api".into(),
            path: "/blob".into(),
            ..Wire::default()
        }
    }

    #[test]
    fn a_recording_answers_as_the_destination_did() {
        let host = Mock::replay(&recording());
        let write = Wire {
            method: "POST".into(),
            endpoint: "api".into(),
            path: "/things".into(),
            query: vec![("a".into(), "b".into())],
            headers: vec![("content-type".into(), "text/plain".into())],
            body: Some(b"x".to_vec()),
        };
        let (read, lost) = host.run(|| (host::send(blob()), host::send(write)));
        let read = read.unwrap();
        assert_eq!(
            (read.header("etag"), read.body.as_slice()),
            (Some("1"), [0, 255, 26].as_slice())
        );
        assert_eq!(lost, Err(SendError::MaybeSent("the answer was lost".into())));
        assert_eq!((host.answers_left(), host.input().as_str()), (0, r#"{"n":1}"#));
    }

    #[test]
    #[should_panic(expected = "its path was\n  /blob\nand is now\n  /other")]
    fn another_request_than_the_recorded_one_is_found_out() {
        let other = Wire {
            path: "/other".into(),
            ..blob()
        };
        let _ = Mock::replay(&recording()).run(|| host::send(other));
    }

    #[test]
    #[should_panic(expected = "this SDK plays oncegate.call/1")]
    fn a_recording_of_another_format_is_refused() {
        let _ = Mock::replay(&recording().replace("call/1", "call/2"));
    }
}
