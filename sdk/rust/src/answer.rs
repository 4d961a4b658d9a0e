//! What came back, and what its status usually means.

use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::json::Json;

/// Bytes of the destination's own words that are kept in a failure's message.
const MESSAGE_BYTES_MAX: usize = 500;

/// Bytes of the destination's own code that are kept.
const CODE_BYTES_MAX: usize = 80;

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// 100 to 599. The host follows no redirects.
    pub status: u16,
    /// Lower-case names, and values.
    pub headers: Vec<(String, String)>,
    /// Decoded; the connection's secrets are masked in it.
    pub body: Vec<u8>,
}

impl Answer {
    /// A 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as text; what is no UTF-8 is replaced by `U+FFFD`.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON text with every digit; `None` where it is no JSON.
    pub fn raw_json(&self) -> Option<Json> {
        Json::parse(std::str::from_utf8(&self.body).ok()?).ok()
    }

    /// The body as a typed value. Where it does not fit, the failure is [`Failure::Unsure`]: the destination has answered,
    /// and what it did is not understood.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let status = self.status;
            Failure::unsure(
                "answer_not_understood",
                format!("the destination answered {status} with a body that does not fit: {error}"),
            )
        })
    }

    /// The answer itself where it is a 2xx, else [`Answer::failure`].
    pub fn ok(self) -> Result<Answer, Failure> {
        if self.is_success() {
            Ok(self)
        } else {
            Err(self.failure())
        }
    }

    /// For lookups: `None` on 404 and 410, the answer on 2xx, else [`Answer::failure`].
    pub fn unless_missing(self) -> Result<Option<Answer>, Failure> {
        match self.status {
            404 | 410 => Ok(None),
            _ => self.ok().map(Some),
        }
    }

    /// What the status usually means, in the destination's words as far as it has any: 401 and 403 unauthorized; 425, 429
    /// and 503 temporary; other 4xx except 408 rejected; everything else, a 2xx too, unsure.
    pub fn failure(&self) -> Failure {
        let body = self.raw_json();
        let code = body
            .as_ref()
            .and_then(code_in)
            .unwrap_or_else(|| format!("http_{}", self.status));
        let words = body.as_ref().and_then(message_in).unwrap_or_else(|| self.text());
        let message = match one_line(&words, MESSAGE_BYTES_MAX) {
            words if words.is_empty() => format!("the destination answered {} without a word", self.status),
            words => format!("the destination answered {}: {words}", self.status),
        };
        match self.status {
            401 | 403 => Failure::unauthorized(code, message),
            425 | 429 | 503 => Failure::temporary(code, message),
            408 => Failure::unsure(code, message),
            400..=499 => Failure::rejected(code, message),
            _ => Failure::unsure(code, message),
        }
    }
}

/// Where APIs say in words what is wrong; RFC 9457 first.
fn message_in(body: &Json) -> Option<String> {
    let places = [
        "/detail",
        "/message",
        "/error/message",
        "/error_description",
        "/error",
        "/errors/0/message",
        "/errors/0",
        "/title",
    ];
    first_text(body, &places)
}

fn code_in(body: &Json) -> Option<String> {
    first_text(body, &["/code", "/error/code", "/errors/0/code", "/error"]).map(|code| one_line(&code, CODE_BYTES_MAX))
}

fn first_text(body: &Json, places: &[&str]) -> Option<String> {
    let texts = places.iter().filter_map(|place| body.pointer(place)?.scalar());
    texts.into_iter().find(|text| !text.trim().is_empty())
}

/// Text from outside goes into logs and pages: one line, bounded.
fn one_line(text: &str, bytes_max: usize) -> String {
    let mut line = String::new();
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > bytes_max {
            let end = (0..=bytes_max).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
            line.truncate(end);
            line.push_str(" …");
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Answer, MESSAGE_BYTES_MAX};
    use crate::failure::Failure;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            headers: vec![("x-id".into(), "7".into())],
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_status_means_what_it_usually_means() {
        let kind = |status| match answer(status, "").failure() {
            Failure::Rejected(_) => "rejected",
            Failure::Unauthorized(_) => "unauthorized",
            Failure::Temporary(_) => "temporary",
            Failure::Unsure(_) => "unsure",
        };
        for (status, meant) in [
            (400, "rejected"),
            (404, "rejected"),
            (409, "rejected"),
            (422, "rejected"),
            (499, "rejected"),
            (401, "unauthorized"),
            (403, "unauthorized"),
            (425, "temporary"),
            (429, "temporary"),
            (503, "temporary"),
            (408, "unsure"),
            (500, "unsure"),
            (502, "unsure"),
            (504, "unsure"),
            (200, "unsure"),
            (302, "unsure"),
            (100, "unsure"),
        ] {
            assert_eq!(kind(status), meant, "{status}");
        }
    }

    #[test]
    fn the_destinations_own_words_reach_the_person() {
        let told = |body: &str| answer(422, body).failure().problem().message.clone();
        assert_eq!(
            told(r#"{"title":"Bad","detail":"no such list"}"#),
            "the destination answered 422: no such list"
        );
        assert_eq!(
            told(r#"{"error":{"code":"E7","message":"too\nlong"}}"#),
            "the destination answered 422: too long"
        );
        assert_eq!(
            told(r#"{"errors":[{"message":"first"},{"message":"second"}]}"#),
            "the destination answered 422: first"
        );
        assert_eq!(told("<h1>no</h1>"), "the destination answered 422: <h1>no</h1>");
        assert_eq!(told(""), "the destination answered 422 without a word");
        assert_eq!(answer(422, r#"{"error":{"code":"E7"}}"#).failure().problem().code, "E7");
        assert_eq!(answer(422, "").failure().problem().code, "http_422");
    }

    #[test]
    fn words_are_bounded() {
        for body in ["ä".repeat(10_000), "ä ".repeat(10_000)] {
            assert!(answer(400, &body).failure().problem().message.len() < MESSAGE_BYTES_MAX + 50);
        }
    }

    #[test]
    fn a_body_that_does_not_fit_is_no_proof_of_anything() {
        assert!(matches!(
            answer(200, r#"{"id":"x"}"#).json::<u32>(),
            Err(Failure::Unsure(_))
        ));
        assert_eq!(answer(200, "7").json::<u32>().unwrap(), 7);
        assert_eq!(answer(200, "{").raw_json(), None);
    }

    #[test]
    fn missing_is_told_apart_from_refused() {
        assert_eq!(answer(404, "").unless_missing().unwrap(), None);
        assert!(answer(200, "").unless_missing().unwrap().is_some());
        assert!(answer(500, "").unless_missing().is_err());
        assert_eq!(answer(200, "").header("X-ID"), Some("7"));
    }
}
