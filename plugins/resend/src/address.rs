//! Addresses as Resend takes them: `ada@example.com` or `Ada <ada@example.com>`, one or several.

use oncegate_sdk::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};

/// Recipients of one e-mail, Resend's limit.
const ADDRESSES_MAX: usize = 50;

/// One address, with or without a name before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Address(String);

impl TryFrom<String> for Address {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Address, Self::Error> {
        let bare = match text.rsplit_once('<') {
            Some((name, rest)) if !name.contains(['<', '>', '@']) => rest.strip_suffix('>').unwrap_or_default(),
            Some(_) => "",
            None => text.as_str(),
        };
        let parts = bare
            .split_once('@')
            .filter(|(name, host)| !name.is_empty() && !host.is_empty());
        let fits = parts.is_some_and(|(_, host)| !host.contains('@')) && bare.len() <= 254 && text.len() <= 600;
        if !fits || bare.contains(|c: char| c.is_whitespace() || ",;<>".contains(c)) || text.contains(char::is_control)
        {
            return Err("an address is ada@example.com or Ada <ada@example.com>; several are a list");
        }
        Ok(Address(text))
    }
}

/// One address or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Addresses(Vec<Address>);

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Addresses, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let items = json.elements().unwrap_or_else(|| vec![json]);
        if items.is_empty() || items.len() > ADDRESSES_MAX {
            return Err(D::Error::custom(format!(
                "{} addresses; Resend takes 1 to {ADDRESSES_MAX}",
                items.len()
            )));
        }
        let addresses: Result<Vec<Address>, _> = items.iter().map(Json::read).collect();
        addresses.map(Addresses).map_err(D::Error::custom)
    }
}

impl JsonSchema for Addresses {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let many =
            json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": ADDRESSES_MAX});
        json_schema!({"anyOf": [{"type": "string"}, many]})
    }
}
