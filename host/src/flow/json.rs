//! Strict reading of JSON bodies. A library's reader keeps the last of two equal names silently, and with serde_json's
//! `arbitrary_precision` an object can pose as a number; so the structure is read here, and only single strings and
//! numbers are left to serde_json. Numbers keep their text, except that serde_json writes an exponent as `e+3`.

use oncegate_domain::limits::{EVENT_BODY_EXPANDED_BYTES_MAX, JSON_DEPTH_MAX};
use serde_json::{Map, Number, Value};

/// Bounds on a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bytes in all.
    pub bytes_max: usize,
    /// Objects and arrays within each other; never more than
    /// [`JSON_DEPTH_MAX`](oncegate_domain::limits::JSON_DEPTH_MAX): a body is read and walked by recursion.
    pub depth_max: usize,
    /// Values in all (members and items).
    pub values_max: usize,
}

impl Default for BodyLimits {
    fn default() -> BodyLimits {
        BodyLimits {
            bytes_max: EVENT_BODY_EXPANDED_BYTES_MAX,
            depth_max: JSON_DEPTH_MAX,
            values_max: 200_000,
        }
    }
}

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON (or not a form), or not UTF-8.
    #[error("the body cannot be read at byte {at}: {what}")]
    Syntax {
        /// Offset in bytes, from 0.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// An object names a member twice.
    #[error("the body names {pointer:?} twice; which one counts is not for us to guess")]
    Duplicate {
        /// Where, as a JSON pointer (RFC 6901).
        pointer: String,
    },
    /// A name that a library keeps for itself: it would not survive being stored.
    #[error("the body uses the reserved name {pointer:?}")]
    Reserved {
        /// Where, as a JSON pointer (RFC 6901).
        pointer: String,
    },
    /// Larger, deeper or more than a body may be.
    #[error("the body has more than {max} {unit}")]
    TooMuch {
        /// How many are allowed.
        max: usize,
        /// Of what.
        unit: &'static str,
    },
}

/// Reads a JSON body: UTF-8, a byte order mark is dropped, duplicate names are refused with their path (RFC 6901), the
/// text of numbers is kept.
pub fn parse_json(bytes: &[u8], limits: &BodyLimits) -> Result<Value, JsonError> {
    let text = utf8(bytes, limits)?;
    let mut reader = Reader {
        text,
        at: 0,
        path: Vec::new(),
        values: 0,
        limits,
    };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        Err(reader.wrong("something follows the value"))
    } else {
        Ok(value)
    }
}

pub(super) fn utf8<'b>(bytes: &'b [u8], limits: &BodyLimits) -> Result<&'b str, JsonError> {
    if bytes.len() > limits.bytes_max {
        return Err(JsonError::TooMuch {
            max: limits.bytes_max,
            unit: "bytes",
        });
    }
    std::str::from_utf8(bytes).map_err(|e| JsonError::Syntax {
        at: e.valid_up_to(),
        what: "it is not UTF-8",
    })
}

struct Reader<'b> {
    text: &'b str,
    at: usize,
    path: Vec<String>,
    values: usize,
    limits: &'b BodyLimits,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, JsonError> {
        self.values += 1;
        if self.values > self.limits.values_max {
            return Err(JsonError::TooMuch {
                max: self.limits.values_max,
                unit: "values",
            });
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.wrong("no value starts like this")),
            None => Err(self.wrong("a value is missing")),
        }
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut object = Map::new();
        self.descend()?;
        if self.eat(b'}') {
            self.path.pop();
            return Ok(Value::Object(object));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a name in double quotes is expected"));
            }
            let name = self.string()?;
            self.here(name.clone());
            if name.starts_with("$serde_json::private::") {
                return Err(JsonError::Reserved {
                    pointer: self.pointer(),
                });
            }
            if object.contains_key(&name) {
                return Err(JsonError::Duplicate {
                    pointer: self.pointer(),
                });
            }
            if !self.eat(b':') {
                return Err(self.wrong("a colon is expected"));
            }
            let value = self.value()?;
            object.insert(name, value);
            if self.eat(b'}') {
                self.path.pop();
                return Ok(Value::Object(object));
            }
            if !self.eat(b',') {
                return Err(self.wrong("a comma or a closing brace is expected"));
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut array = Vec::new();
        self.descend()?;
        if self.eat(b']') {
            self.path.pop();
            return Ok(Value::Array(array));
        }
        loop {
            self.here(array.len().to_string());
            array.push(self.value()?);
            if self.eat(b']') {
                self.path.pop();
                return Ok(Value::Array(array));
            }
            if !self.eat(b',') {
                return Err(self.wrong("a comma or a closing bracket is expected"));
            }
        }
    }

    /// Takes the opening bracket, and bounds the depth.
    fn descend(&mut self) -> Result<(), JsonError> {
        let max = self.limits.depth_max.min(JSON_DEPTH_MAX);
        if self.path.len() >= max {
            return Err(JsonError::TooMuch { max, unit: "levels" });
        }
        self.at += 1;
        self.path.push(String::new());
        Ok(())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err(self.wrong("a string has no end")),
            }
        }
        let raw = self.text.get(start..=end).unwrap_or_default();
        let read =
            serde_json::from_str(raw).map_err(|_| self.wrong("a string has a control character or a bad escape"))?;
        self.at = end + 1;
        Ok(read)
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let read = rest[..end]
            .parse()
            .map_err(|_| self.wrong("a number is not written like this"))?;
        self.at += end;
        Ok(read)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wrong("no value starts like this"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, wanted: u8) -> bool {
        self.space();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn here(&mut self, segment: String) {
        if let Some(last) = self.path.last_mut() {
            *last = segment;
        }
    }

    fn pointer(&self) -> String {
        self.path
            .iter()
            .map(|segment| format!("/{}", segment.replace('~', "~0").replace('/', "~1")))
            .collect()
    }

    fn wrong(&self, what: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, what }
    }
}
