//! What one action may do through one connection: the author's claim, cut down to what the operator granted.
//!
//! The executor works with nothing else. It holds no secret, only where each is.

mod grant;
mod recorded;

pub use grant::approve;
pub(super) use recorded::as_recorded;

use super::connection::{ConnectionSpec, Limits, SecretSource};
use super::manifest::{Probe, RequestKind, RequestRule};
use super::requests::{self, Denied, Purpose};
use super::schema::{Mismatch, Schema};
use super::section::CheckedSchemas;
use crate::egress::Place;
use crate::runtime::Request;
use oncegate_domain::doubt::Terms;
use oncegate_domain::key::KeyFormat;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One action, as approved.
#[derive(Clone, Debug)]
pub struct Approved {
    /// Name of the connector.
    pub connector: String,
    /// The approved bytes, `sha256:…`.
    pub connector_digest: String,
    /// Name of the connection.
    pub connection: String,
    /// Its revision.
    pub connection_revision: u32,
    /// Which account at the destination.
    pub account: String,
    /// Name of the action.
    pub action: String,
    /// All that decisions about doubt and outcome rest on.
    pub terms: Terms,
    /// Where the key goes.
    pub key: KeyPlace,
    /// JSON pointers into the input that make the natural key; empty: none.
    pub natural: Vec<String>,
    /// JSON pointer into the output: what a person would search for.
    pub reference: Option<String>,
    /// Where requests go, by endpoint.
    pub places: BTreeMap<String, Place>,
    /// How requests are signed.
    pub auth: Auth,
    /// Every secret of the connection, for masking.
    pub secrets: BTreeMap<String, SecretSource>,
    /// JSON given to every call.
    pub settings: Arc<Value>,
    /// How hard the connection may be used.
    pub limits: Limits,
    /// A read that tells whether the credentials work.
    pub probe: Option<Probe>,
    pub(super) requests: Vec<RequestRule>,
    pub(super) schemas: Arc<CheckedSchemas>,
}

/// Where the idempotency key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// Nowhere.
    None,
    /// Into a header; the host puts it in.
    Header {
        /// Name of the header.
        name: String,
        /// How it is written.
        format: KeyFormat,
    },
    /// Into a field of the JSON body; the connector puts it in, the host checks that it is there.
    Field {
        /// JSON pointer into the body.
        pointer: String,
        /// How it is written.
        format: KeyFormat,
    },
}

impl KeyPlace {
    /// How the step's key is written; the plain form where no destination asks for another.
    pub fn format(&self) -> KeyFormat {
        match self {
            KeyPlace::None => KeyFormat::Text {
                max_length: usize::from(u8::MAX),
            },
            KeyPlace::Header { format, .. } | KeyPlace::Field { format, .. } => *format,
        }
    }
}

/// How requests are signed, and where the secrets are.
#[derive(Clone, Debug, PartialEq)]
pub enum Auth {
    /// Not at all.
    None,
    /// `Authorization: Bearer …`
    Bearer {
        /// The token.
        secret: SecretSource,
    },
    /// `Authorization: Basic …`
    Basic {
        /// The user.
        user: SecretSource,
        /// The password.
        secret: SecretSource,
    },
    /// A header of the provider's own.
    Header {
        /// Name of the header.
        name: String,
        /// Its whole value.
        secret: SecretSource,
    },
    /// A query parameter.
    Query {
        /// Name of the parameter.
        name: String,
        /// Its value.
        secret: SecretSource,
    },
}

impl Approved {
    /// May this request leave, and does it change something? `key` is the step's key: where it belongs in the body it
    /// must be there. Bounds on numbers (one write, so many reads) are the caller's.
    ///
    /// # Errors
    /// One readable reason; nothing of the request was sent.
    pub fn check(&self, request: &Request, purpose: Purpose, key: &str) -> Result<RequestKind, Denied> {
        requests::check(self, request, purpose, key)
    }

    /// Whether an input fits the action's schema.
    ///
    /// # Errors
    /// What does not fit, without the values.
    pub fn check_input(&self, input: &Value) -> Result<(), Mismatch> {
        self.schemas.input.check(input)
    }

    /// Whether an output fits the action's schema.
    ///
    /// # Errors
    /// What does not fit, without the values.
    pub fn check_output(&self, output: &Value) -> Result<(), Mismatch> {
        self.schemas.output.check(output)
    }

    /// The schema of the input, for those who write flows.
    pub fn input_schema(&self) -> &Schema {
        &self.schemas.input
    }

    /// The request list.
    pub fn requests(&self) -> &[RequestRule] {
        &self.requests
    }

    /// What names the thing that is changed: the values of the natural key's fields, in order, as compact JSON. `None`
    /// where the action has no natural key. `input` is JSON text.
    pub fn natural_key(&self, input: &str) -> Option<String> {
        if self.natural.is_empty() {
            return None;
        }
        let input: Value = serde_json::from_str(input).ok()?;
        let fields = self
            .natural
            .iter()
            .map(|pointer| input.pointer(pointer).cloned().unwrap_or(Value::Null));
        Some(Value::Array(fields.collect()).to_string())
    }
}

/// Whether another place is meant than before: origin, account, way of signing or an opened address changed.
pub fn moves(before: &ConnectionSpec, after: &ConnectionSpec) -> bool {
    before.endpoints != after.endpoints
        || before.account != after.account
        || before.auth != after.auth
        || before.plain_http != after.plain_http
        || before.allow_addresses != after.allow_addresses
}

#[cfg(test)]
pub(super) mod tests;
