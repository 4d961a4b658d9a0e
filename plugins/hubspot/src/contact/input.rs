//! What a step says about a contact.

use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};

/// A contact as it should be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactInput {
    /// The e-mail address that names the contact. HubSpot knows no capitals in it.
    pub email: Email,
    /// What to set, by HubSpot's internal names such as `firstname`. What is `null` is left as it is; an empty text
    /// clears the property.
    #[serde(default)]
    pub properties: BTreeMap<PropertyName, Option<PropertyValue>>,
}

/// An e-mail address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "email"))]
pub struct Email(pub(super) String);

impl TryFrom<String> for Email {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Email, Self::Error> {
        let parts = text
            .split_once('@')
            .filter(|(name, host)| !name.is_empty() && !host.is_empty());
        let fits = parts.is_some_and(|(_, host)| !host.contains('@')) && text.len() <= 254;
        if !fits || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("`email` is one e-mail address, such as ada@example.com");
        }
        Ok(Email(text))
    }
}

/// The internal name of a property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct PropertyName(String);

impl TryFrom<String> for PropertyName {
    type Error = String;

    fn try_from(text: String) -> Result<PropertyName, String> {
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !text.bytes().all(known) || !text.starts_with(|c: char| c.is_ascii_lowercase()) || text.len() > 100 {
            return Err(format!(
                "the property {text:?} is no internal name of HubSpot's: those have a-z, 0-9 and _, such as `firstname`"
            ));
        }
        if text == "email" {
            return Err("the e-mail address belongs into `email` and not into `properties`".to_owned());
        }
        Ok(PropertyName(text))
    }
}

/// A property's value. HubSpot keeps every value as a text, so a number or boolean is sent as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyValue(String);

impl<'de> Deserialize<'de> for PropertyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PropertyValue, D::Error> {
        let value = Json::deserialize(deserializer)?.scalar();
        value.map(PropertyValue).ok_or_else(|| {
            D::Error::custom(
                "a property's value is a text, number or boolean; several choices are one text, joined by ;",
            )
        })
    }
}

impl JsonSchema for PropertyValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PropertyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

impl ContactInput {
    /// What is to be set, by name.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (&str, &str)> {
        let set = self.properties.iter();
        set.filter_map(|(name, value)| Some((name.0.as_str(), value.as_ref()?.0.as_str())))
    }
}
