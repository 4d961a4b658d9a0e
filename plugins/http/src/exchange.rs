//! One request and what its answer means.

use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;

use crate::input::RequestInput;
use crate::settings::Settings;

/// The one endpoint.
pub(crate) const ENDPOINT: &str = "api";

/// What later steps can use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The HTTP status.
    pub status: u16,
    /// The answer's JSON, digit by digit; a text where it is no JSON, `null` where it is empty.
    pub body: Json,
    /// The headers that the input asked to keep, by their lower-case names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// The body that `send` sends: the input's, with the key where the connection wants it.
pub(crate) fn body_with_key(input: &RequestInput, settings: &Settings, key: &str) -> Result<Option<Json>, Failure> {
    let Some(pointer) = &settings.key_field else {
        return Ok(input.body.clone());
    };
    let empty = Json::of(&BTreeMap::<(), ()>::new());
    let body = input
        .body
        .clone()
        .map_or(empty, Ok)
        .map_err(|error| Failure::rejected("body", error.to_string()))?;
    let keyed = body.with_text_at(pointer, key);
    keyed.map(Some).map_err(|why| {
        let message =
            format!("the step key belongs into the body at `{pointer}` (the connection's `key_field`): {why}");
        Failure::rejected("key_field", message).field(format!("/body{pointer}"), "leave this place to the key")
    })
}

pub(crate) fn run(
    method: &str,
    input: &RequestInput,
    body: Option<&Json>,
    settings: &Settings,
) -> Result<Output, Failure> {
    let answer = request(input.method.as_deref().unwrap_or(method), input, body).send()?;
    if !answer.is_success() && !settings.also_ok.contains(&answer.status) {
        return Err(answer.failure());
    }
    let body = body_of(&answer);
    Ok(Output {
        status: answer.status,
        body,
        headers: kept(&answer, &input.keep_headers),
    })
}

fn request(method: &str, input: &RequestInput, body: Option<&Json>) -> Request {
    let mut request = Request::new(method, ENDPOINT, &input.path);
    for (name, value) in &input.values {
        request = request.value(name, &value.0);
    }
    for (name, value) in &input.query.0 {
        request = request.query(name, value);
    }
    let given = |name: &str| input.headers.keys().any(|given| given.eq_ignore_ascii_case(name));
    if !given("accept") {
        request = request.header("accept", "application/json");
    }
    for (name, value) in &input.headers {
        request = request.header(name, &value.0);
    }
    match body {
        Some(body) if given("content-type") => request.body(body.as_str()),
        Some(body) => request.bytes("application/json", body.as_str()),
        None => request,
    }
}

pub(crate) fn body_of(answer: &Answer) -> Json {
    if answer.body.is_empty() {
        return Json::default();
    }
    answer
        .raw_json()
        .unwrap_or_else(|| Json::of(&answer.text()).unwrap_or_default())
}

/// A header that comes more than once is one list, as RFC 9110 (5.3) has it.
fn kept(answer: &Answer, names: &[String]) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for (name, value) in &answer.headers {
        if names.iter().any(|asked| asked.eq_ignore_ascii_case(name)) {
            let all: &mut String = kept.entry(name.to_ascii_lowercase()).or_default();
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(value);
        }
    }
    kept
}
