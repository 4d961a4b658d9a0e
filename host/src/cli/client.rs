//! The host's API, as the commands use it.

use super::Place;
use anyhow::{Context, bail};
use serde_json::Value;
use std::time::Duration;

/// How long a host may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A host that answers.
pub struct Client {
    base: String,
    token: String,
    agent: ureq::Agent,
}

impl Client {
    /// Finds address and token: `--server` and `ONCEGATE_TOKEN`, else what a host on this machine wrote to its data
    /// directory.
    pub fn new(place: &Place) -> anyhow::Result<Self> {
        let read = |name: &str| -> anyhow::Result<String> {
            let path = place.data.join(name);
            let text = std::fs::read_to_string(&path).with_context(|| {
                format!(
                    "cannot read {}; is a host running on this data directory? Start one with `oncegate serve`, name \
                     another with --data, or use --server and ONCEGATE_TOKEN",
                    path.display()
                )
            })?;
            Ok(text.trim().to_owned())
        };
        let base = match &place.server {
            Some(server) => server.trim_end_matches('/').to_owned(),
            None => format!("http://{}", read("address")?),
        };
        let token = match &place.token {
            Some(token) => token.clone(),
            None => read("token")?,
        };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_WITHIN))
            .build()
            .into();
        Ok(Self { base, token, agent })
    }

    /// Reads.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        self.answer(request.call())
    }

    /// Changes.
    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.post_within(ANSWER_WITHIN, path, body)
    }

    /// Changes what may take the host longer.
    pub fn post_within(&self, within: Duration, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        let request = request.config().timeout_global(Some(within)).build();
        self.answer(
            request
                .header("content-type", "application/json")
                .send(body.to_string()),
        )
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.base)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn answer(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> anyhow::Result<Value> {
        let mut answer =
            answer.with_context(|| format!("no host answers at {}; start it with `oncegate serve`", self.base))?;
        let text = answer.body_mut().with_config().limit(64 << 20).read_to_string()?;
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        if answer.status().is_success() {
            return Ok(body);
        }
        match body["detail"].as_str() {
            Some(detail) => bail!(
                "{}",
                detail
                    .lines()
                    .map(super::terminal::escape)
                    .collect::<Vec<_>>()
                    .join("\n")
            ),
            None => bail!(
                "the host answered {}: {}",
                answer.status(),
                super::terminal::short(&text, 300)
            ),
        }
    }
}

/// A value of a query, percent-encoded.
pub fn query(pairs: &[(&str, Option<String>)]) -> String {
    let set = pairs
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", segment(value.as_deref()?))));
    set.collect::<Vec<_>>().join("&")
}

/// A segment of a path, percent-encoded.
pub fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
