//! A piece of JSON that is passed on as it came. Knows nothing of HTTP or of connectors.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Any JSON value, kept as its text, so that `9007199254740993`, `12.30` and `1e3` leave as they came.
///
/// Use it for the parts of an input that the connector only passes on. It cannot stand below `#[serde(flatten)]` or in an
/// untagged enum: serde rebuilds the value there, and the text is lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Takes JSON text. Errors say where the text is no JSON.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The JSON of any value. Fails where the value has no JSON, such as a map whose keys are no text.
    pub fn of(value: &impl Serialize) -> Result<Json, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Json)
    }

    /// The text, as it came.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads it as a typed value.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// The value at a JSON pointer (RFC 6901), such as `/items/0/id`; `None` where there is none.
    pub fn pointer(&self, pointer: &str) -> Option<Json> {
        let mut here: &RawValue = &self.0;
        for token in tokens(pointer)? {
            here = child(here, &token)?;
        }
        Some(Json(here.to_owned()))
    }

    /// A string's text, or a number or boolean as it was written; `None` for anything else.
    pub fn scalar(&self) -> Option<String> {
        match self.as_str().as_bytes().first()? {
            b'"' => self.read().ok(),
            b'{' | b'[' | b'n' => None,
            _ => Some(self.as_str().to_owned()),
        }
    }

    /// True for `null`, `[]`, `{}` and `""`.
    pub fn is_empty(&self) -> bool {
        match self.as_str().as_bytes().first() {
            Some(b'{') => self.members().is_some_and(|members| members.is_empty()),
            Some(b'[') => self.elements().is_some_and(|elements| elements.is_empty()),
            Some(b'"') => self.as_str() == "\"\"",
            Some(b'n') | None => true,
            Some(_) => false,
        }
    }

    /// The elements of an array; `None` for anything else.
    pub fn elements(&self) -> Option<Vec<Json>> {
        self.read().ok()
    }

    /// The members of an object in their order; `None` for anything else. Of a name that comes twice, both are there.
    pub fn members(&self) -> Option<Vec<(String, Json)>> {
        self.read::<members::Members>().ok().map(|members| members.0)
    }

    /// Puts a string at a JSON pointer, making the objects on the way; all other text stays as it was. `Err` says in
    /// words why it has no place there: something else is there already, or the way leads through no object.
    pub fn with_text_at(&self, pointer: &str, text: &str) -> Result<Json, String> {
        let tokens = tokens(pointer).filter(|tokens| !tokens.is_empty());
        let tokens = tokens.ok_or_else(|| format!("`{pointer}` is no JSON pointer such as `/id`"))?;
        put(Some(self), &tokens, text).map_err(|why| format!("nothing can be put at `{pointer}`: {why}"))
    }
}

/// The text of an absent value.
impl Default for Json {
    fn default() -> Json {
        Json(RawValue::NULL.to_owned())
    }
}

/// Equal where the texts are.
impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(true)
    }
}

/// The names and indices of a JSON pointer; `None` where it does not begin with a slash.
fn tokens(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let rest = pointer.strip_prefix('/')?;
    Some(
        rest.split('/')
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect(),
    )
}

fn child<'a>(value: &'a RawValue, token: &str) -> Option<&'a RawValue> {
    match value.get().as_bytes().first()? {
        b'{' => serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
            .ok()?
            .remove(token),
        b'[' => {
            let index: usize = token.parse().ok()?;
            serde_json::from_str::<Vec<&RawValue>>(value.get())
                .ok()?
                .get(index)
                .copied()
        }
        _ => None,
    }
}

fn put(here: Option<&Json>, tokens: &[String], text: &str) -> Result<Json, String> {
    let Some((token, rest)) = tokens.split_first() else {
        return match here {
            None => Json::of(&text).map_err(|error| error.to_string()),
            Some(_) => Err("there is a value already".to_owned()),
        };
    };
    let mut members = match here {
        None => Vec::new(),
        Some(json) => json
            .members()
            .ok_or_else(|| format!("what should hold `{token}` is no object"))?,
    };
    match members.iter_mut().find(|(name, _)| name == token) {
        Some((_, value)) => *value = put(Some(&*value), rest, text)?,
        None => members.push((token.clone(), put(None, rest, text)?)),
    }
    Json::of(&members::Members(members)).map_err(|error| error.to_string())
}

/// An object as a list of its members: a map would sort them and drop what comes twice.
mod members {
    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
    use serde::ser::{Serialize, SerializeMap, Serializer};

    use super::Json;

    pub(super) struct Members(pub(super) Vec<(String, Json)>);

    impl<'de> Deserialize<'de> for Members {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Each;
            impl<'de> Visitor<'de> for Each {
                type Value = Members;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Members(members))
                }
            }
            deserializer.deserialize_map(Each)
        }
    }

    impl Serialize for Members {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(self.0.len()))?;
            for (name, value) in &self.0 {
                map.serialize_entry(name, value)?;
            }
            map.end()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn digits_survive_on_their_way_through() {
        for digits in [
            "9007199254740993",
            "8202522731445525542",
            "12.30",
            "1e3",
            "1.0",
            "-0",
            "1E+400",
        ] {
            let text = format!(r#"{{"id":{digits}}}"#);
            assert_eq!(json(&text).pointer("/id").unwrap().as_str(), digits);
            let keyed = json(&text).with_text_at("/key", "k").unwrap();
            assert_eq!(keyed.as_str(), format!(r#"{{"id":{digits},"key":"k"}}"#));
        }
    }

    #[test]
    fn a_pointer_finds_members_elements_and_escaped_names() {
        let value = json(r#"{"a":[{"b/c":1},{"~":2}],"":3,"q\"":4}"#);
        let found = |pointer: &str| value.pointer(pointer).map(|json| json.as_str().to_owned());
        assert_eq!(found("/a/0/b~1c").as_deref(), Some("1"));
        assert_eq!(found("/a/1/~0").as_deref(), Some("2"));
        assert_eq!(found("/").as_deref(), Some("3"));
        assert_eq!(found("/q\"").as_deref(), Some("4"));
        assert_eq!(found("").as_deref(), Some(value.as_str()));
        for nothing in ["a", "/a/2", "/a/x", "/b", "/a/0/b~1c/d"] {
            assert_eq!(found(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn text_is_put_where_nothing_is_and_nowhere_else() {
        let put = |text: &str, pointer: &str| {
            json(text)
                .with_text_at(pointer, "K")
                .map(|json| json.as_str().to_owned())
        };
        assert_eq!(put("{}", "/id").unwrap(), r#"{"id":"K"}"#);
        assert_eq!(
            put(r#"{"z":1,"a":{"x":[1, 2]}}"#, "/a/meta/id").unwrap(),
            r#"{"z":1,"a":{"x":[1, 2],"meta":{"id":"K"}}}"#
        );
        for (text, pointer) in [
            ("[]", "/id"),
            ("7", "/id"),
            (r#"{"id":null}"#, "/id"),
            ("{}", "id"),
            ("{}", ""),
            (r#"{"a":1}"#, "/a/b"),
        ] {
            assert!(put(text, pointer).is_err(), "{text} {pointer}");
        }
    }

    #[test]
    fn a_scalar_is_its_text() {
        let scalar = |text: &str| json(text).scalar();
        assert_eq!(scalar(r#""a\nb""#).as_deref(), Some("a\nb"));
        assert_eq!(scalar("12.30").as_deref(), Some("12.30"));
        assert_eq!(scalar("true").as_deref(), Some("true"));
        assert_eq!((scalar("null"), scalar("{}"), scalar("[1]")), (None, None, None));
    }

    #[test]
    fn empty_is_what_holds_nothing() {
        for text in ["null", "[]", "{}", "[ ]", "{ }", "\"\""] {
            assert!(json(text).is_empty(), "{text}");
        }
        for text in ["0", "false", "[null]", r#"{"a":null}"#, "\" \""] {
            assert!(!json(text).is_empty(), "{text}");
        }
    }
}
