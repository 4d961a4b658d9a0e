//! A small HTTP client: one request, one connection, no retries, so that what a test sends is what it says.

use crate::wait::PATIENCE;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    /// It is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// A header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Speaks to one host as somebody who has its token.
#[derive(Clone, Debug)]
pub struct Client {
    /// Where the host listens.
    pub address: SocketAddr,
    /// The access token.
    pub token: String,
}

impl Client {
    /// Asks the API; `path` begins after `/api/v1/`.
    ///
    /// # Panics
    /// The answer is not 200 with JSON.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self.ask(path).await;
        assert_eq!(answer.status, 200, "GET {path}: {answer:?}");
        answer.json()
    }

    /// Asks the API; whatever is answered comes back.
    ///
    /// # Panics
    /// Nothing is answered.
    pub async fn ask(&self, path: &str) -> Answer {
        self.api("GET", path, &Value::Null).await.unwrap()
    }

    /// Posts to the API; whatever is answered comes back.
    ///
    /// # Panics
    /// Nothing is answered.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.api("POST", path, body).await.unwrap()
    }

    /// Applies files, each `{path, base64}` or `{path, digest}`, with `--approve` for these connections; whatever is
    /// answered comes back.
    ///
    /// # Panics
    /// Nothing is answered.
    pub async fn apply(&self, files: &[Value], approve: &[&str]) -> Answer {
        let body = serde_json::json!({ "files": files, "approve": approve });
        self.api("POST", "apply", &body).await.unwrap()
    }

    /// What the host counts, as text, as whoever watches many hosts asks for it.
    ///
    /// # Panics
    /// The answer is not 200.
    pub async fn metrics(&self) -> String {
        let bearer = format!("Bearer {}", self.token);
        let answer = request(self.address, "GET", "/metrics", &[("authorization", &bearer)], b"").await;
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.text
    }

    async fn api(&self, method: &str, path: &str, body: &Value) -> io::Result<Answer> {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        request(
            self.address,
            method,
            &format!("/api/v1/{path}"),
            &headers,
            body.as_bytes(),
        )
        .await
    }

    /// Delivers a body to a hook, with `bearer` where the hook wants one.
    ///
    /// # Errors
    /// No whole answer came.
    pub async fn deliver(&self, hook: &str, bearer: Option<&str>, body: &str) -> io::Result<Answer> {
        let bearer = bearer.map(|secret| format!("Bearer {secret}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.iter().map(|value| ("authorization", value.as_str())));
        self.deliver_with(hook, &headers, body.as_bytes()).await
    }

    /// Delivers these bytes to a hook, with these headers and no others.
    ///
    /// # Errors
    /// No whole answer came.
    pub async fn deliver_with(&self, hook: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Answer> {
        request(self.address, "POST", &format!("/hooks/{hook}"), headers, body).await
    }
}

/// One request on a connection of its own.
///
/// # Errors
/// No whole answer came.
pub async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let exchange = async {
        let stream = TcpStream::connect(address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers.iter().chain(&[("host", address.to_string().as_str())]) {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(Bytes::copy_from_slice(body)))
            .map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let headers = headers.collect();
        let bytes = response
            .into_body()
            .collect()
            .await
            .map_err(io::Error::other)?
            .to_bytes();
        connection.abort();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { status, headers, text })
    };
    tokio::time::timeout(PATIENCE, exchange)
        .await
        .unwrap_or_else(|late| Err(late.into()))
}
