//! What a message is made of.

use oncegate_sdk::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};

/// Characters of a text, WhatsApp's limit.
const TEXT_CHARS_MAX: usize = 4_096;

/// A number with + and country code. Without them WhatsApp would put the sender's own country before it, and the message
/// would go to somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Phone(String);

impl TryFrom<String> for Phone {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Phone, Self::Error> {
        let plain: String = text.chars().filter(|c| !" -().".contains(*c)).collect();
        let fits = plain.strip_prefix('+').is_some_and(|digits| {
            (7..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0')
        });
        match fits {
            true => Ok(Phone(plain)),
            false => Err("`to` is a number with + and the country code, such as +4915100000000"),
        }
    }
}

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Text(String);

impl TryFrom<String> for Text {
    type Error = String;

    fn try_from(text: String) -> Result<Text, String> {
        let chars = text.chars().count();
        if text.trim().is_empty() || chars > TEXT_CHARS_MAX {
            return Err(format!(
                "`text` has 1 to {TEXT_CHARS_MAX} characters, not only blanks; this one has {chars}"
            ));
        }
        Ok(Text(text))
    }
}

/// A template that Meta has approved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its name in WhatsApp Manager.
    pub name: String,
    /// The code of its language, such as `en_US`.
    pub language: String,
    /// What stands for {{1}}, {{2}} and so on in its body, in this order.
    #[serde(default)]
    pub parameters: Vec<Word>,
    /// Further components (a header with a picture, the link of a button), as WhatsApp wants them.
    #[serde(default)]
    pub components: Vec<Json>,
}

/// A text, or a number or boolean as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        let value = Json::deserialize(deserializer)?.scalar();
        // WhatsApp refuses an empty parameter, and so the whole message, in words that name none.
        let value = value.filter(|text| !text.trim().is_empty());
        value
            .map(Word)
            .ok_or_else(|| D::Error::custom("each of `parameters` is a text that is not empty, a number or a boolean"))
    }
}

impl JsonSchema for Word {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

#[derive(Serialize)]
pub(crate) struct TemplateBody<'a> {
    name: &'a str,
    language: Language<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Component<'a>>,
}

#[derive(Serialize)]
struct Language<'a> {
    code: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Component<'a> {
    Body {
        r#type: &'static str,
        parameters: Vec<Parameter<'a>>,
    },
    Other(&'a Json),
}

#[derive(Serialize)]
struct Parameter<'a> {
    r#type: &'static str,
    text: &'a Word,
}

impl Template {
    pub(crate) fn body(&self) -> TemplateBody<'_> {
        let parameter = |text| Parameter { r#type: "text", text };
        let body = (!self.parameters.is_empty()).then(|| Component::Body {
            r#type: "body",
            parameters: self.parameters.iter().map(parameter).collect(),
        });
        TemplateBody {
            name: &self.name,
            language: Language { code: &self.language },
            components: body
                .into_iter()
                .chain(self.components.iter().map(Component::Other))
                .collect(),
        }
    }
}
