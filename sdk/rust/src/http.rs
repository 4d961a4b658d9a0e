//! Requests to the destination. A connector names an endpoint of its manifest; where that is, only the operator says.

use serde::Serialize;

pub use crate::answer::Answer;
use crate::failure::Failure;
use crate::{host, path};

/// One request, being built. What cannot be built is said by [`Request::send`], so that a chain needs one `?`.
#[derive(Clone, Debug)]
pub struct Request {
    wire: Wire,
    template: String,
    values: Vec<(String, String)>,
    error: Option<String>,
}

/// A request as the host gets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wire {
    /// Upper case, such as `POST`.
    pub method: String,
    /// A name from the manifest.
    pub endpoint: String,
    /// Begins with `/`, percent-encoded.
    pub path: String,
    /// Names and values, not encoded.
    pub query: Vec<(String, String)>,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// `None` sends no body, which is something else than an empty one.
    pub body: Option<Vec<u8>>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The request could not be built: a value is missing or has no place in a path. Nothing was asked of the host.
    NotBuilt(String),
    /// The host does not allow this request. Nothing left.
    Denied(String),
    /// Not one byte left.
    NothingSent(String),
    /// It may have arrived and taken effect.
    MaybeSent(String),
}

impl Request {
    /// A request with any method. `path` may have named places, such as `/contacts/{email}`; all else in it is sent as
    /// written.
    pub fn new(method: &str, endpoint: &str, path: &str) -> Request {
        let wire = Wire {
            method: method.to_owned(),
            endpoint: endpoint.to_owned(),
            ..Wire::default()
        };
        Request {
            wire,
            template: path.to_owned(),
            values: Vec::new(),
            error: None,
        }
    }

    /// A GET request.
    pub fn get(endpoint: &str, path: &str) -> Request {
        Request::new("GET", endpoint, path)
    }

    /// A POST request.
    pub fn post(endpoint: &str, path: &str) -> Request {
        Request::new("POST", endpoint, path)
    }

    /// A PUT request.
    pub fn put(endpoint: &str, path: &str) -> Request {
        Request::new("PUT", endpoint, path)
    }

    /// A PATCH request.
    pub fn patch(endpoint: &str, path: &str) -> Request {
        Request::new("PATCH", endpoint, path)
    }

    /// A DELETE request.
    pub fn delete(endpoint: &str, path: &str) -> Request {
        Request::new("DELETE", endpoint, path)
    }

    /// The value for `{name}` in the path; it is percent-encoded.
    pub fn value(mut self, name: &str, value: impl ToString) -> Request {
        self.values.push((name.to_owned(), value.to_string()));
        self
    }

    /// One more name and value of the query, not encoded.
    pub fn query(mut self, name: &str, value: impl ToString) -> Request {
        self.wire.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// One more header. Which ones are let through is in the manifest.
    pub fn header(mut self, name: &str, value: impl ToString) -> Request {
        self.wire.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// A JSON body, with its `content-type`.
    pub fn json(mut self, body: &impl Serialize) -> Request {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.bytes("application/json", bytes),
            Err(error) => {
                self.error = Some(format!("the body cannot be written as JSON: {error}"));
                self
            }
        }
    }

    /// A body of any other kind, with its `content-type`.
    pub fn bytes(self, content_type: &str, body: impl Into<Vec<u8>>) -> Request {
        self.body(body).header("content-type", content_type)
    }

    /// A body whose `content-type` is set by [`Request::header`].
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.wire.body = Some(body.into());
        self
    }

    /// The request as the host would get it.
    pub fn build(self) -> Result<Wire, SendError> {
        if let Some(error) = self.error {
            return Err(SendError::NotBuilt(error));
        }
        let value_of = |name: &str| {
            self.values
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, value)| value.clone())
        };
        let path = path::fill(&self.template, value_of).map_err(SendError::NotBuilt)?;
        Ok(Wire { path, ..self.wire })
    }

    /// Sends it, once, and waits for the whole answer, whatever its status.
    pub fn send(self) -> Result<Answer, SendError> {
        host::send(self.build()?)
    }

    /// Sends it and takes only a 2xx for an answer; all else becomes the failure that its status means.
    pub fn send_ok(self) -> Result<Answer, Failure> {
        self.send()?.ok()
    }
}
