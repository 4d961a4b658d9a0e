//! What a connection says about its destination.

use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;

/// The connection's `[settings]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the step key goes in the body of `send`: a JSON pointer such as `/external_id`, the same as in the dedup of
    /// `[trust]`. Left out where the key goes into a header, or nowhere.
    pub key_field: Option<String>,
    /// Statuses beside 2xx that say that it is done, such as a 409 for what exists already. They count only where
    /// `confirms` in `[trust]` lists them too.
    #[serde(default)]
    pub also_ok: Vec<u16>,
    /// How to find out whether a `send` took effect. Its request must be in the list of `send`, as a read.
    pub lookup: Option<Lookup>,
}

/// A GET that shows the effect with its key. In `path`, `query` and `headers`, `{key}` is the step key and
/// `{input./body/email}` what the step's input has at that JSON pointer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// Such as `/contacts/by-key/{key}`.
    pub path: String,
    /// Such as `{ external_id = "{key}" }`.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Headers, as far as the connection lets them through.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where the answer is a list: the JSON pointer to it, `""` for the whole answer. The other pointers then lead into
    /// each of its items.
    pub items: Option<String>,
    /// Where the key stands, as a JSON pointer such as `/external_id`. Found is only what holds our key there.
    pub pointer: String,
    /// Where the destination's own name for it stands, such as `/id`.
    pub reference: Option<String>,
}
