//! What a step gives. Values come from templates, so a number is as good as its text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};

/// The input of a step: the request that it says, and its text, which a lookup may refer to.
#[derive(Debug)]
pub struct Input {
    /// What it says.
    pub request: RequestInput,
    /// As it came.
    pub raw: Json,
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Input, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        let request = raw.read().map_err(D::Error::custom)?;
        Ok(Input { request, raw })
    }
}

impl JsonSchema for Input {
    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RequestInput::json_schema(generator)
    }
}

/// One request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestInput {
    /// The HTTP method in capitals. Left out: POST in `send`, GET in `read`.
    pub method: Option<String>,
    /// The path, such as `/contacts/{email}`; what stands in braces is taken from `values`.
    pub path: String,
    /// The values for the path, percent-encoded when they are put there.
    #[serde(default)]
    pub values: BTreeMap<String, Scalar>,
    /// The query: an object, whose values may be lists, or a list of pairs. What is `null` is left out.
    #[serde(default)]
    pub query: Query,
    /// Headers, as far as the connection lets them through. `content-type` and `accept` are JSON unless given.
    #[serde(default)]
    pub headers: BTreeMap<String, Scalar>,
    /// The body as JSON; its numbers are sent digit by digit. Left out: no body.
    pub body: Option<Json>,
    /// Names of the answer's headers that the output keeps, such as `location`.
    #[serde(default)]
    pub keep_headers: Vec<String>,
}

/// A text, or a number or boolean as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        let json = Json::deserialize(deserializer)?;
        json.scalar()
            .map(Scalar)
            .ok_or_else(|| D::Error::custom("a text, number or boolean is needed"))
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

/// Names and values in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for Query {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Query, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let pairs: Vec<(String, Json)> = match json.members() {
            Some(members) => members,
            None => json.read().map_err(D::Error::custom)?,
        };
        let mut query = Vec::new();
        for (name, value) in pairs {
            let values = value.elements().unwrap_or_else(|| vec![value]);
            for value in values.iter().filter(|value| value.as_str() != "null") {
                let text = value
                    .scalar()
                    .ok_or_else(|| D::Error::custom(format!("`{name}` in the query is an object or a list of them")))?;
                query.push((name.clone(), text));
            }
        }
        Ok(Query(query))
    }
}

impl JsonSchema for Query {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Query".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let scalar = json_schema!({"type": ["string", "number", "boolean", "null"]});
        let value = json_schema!({"anyOf": [scalar, {"type": "array", "items": scalar}]});
        let pair =
            json_schema!({"type": "array", "prefixItems": [{"type": "string"}, value], "minItems": 2, "maxItems": 2});
        json_schema!({"anyOf": [
            {"type": "object", "additionalProperties": value},
            {"type": "array", "items": pair},
        ]})
    }
}
