//! How the destination misbehaves: a behaviour is *how much of the request is read*, *whether and when the effect takes
//! place*, *what is answered*, *where the answer is cut* and *how the connection ends*. Rules say which request gets which.
//!
//! Knows no socket; `connection` carries it out.

use serde::{Deserialize, Serialize};

/// What happens to one request. The constructors name the usual ones; the fields make any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// How much of the request is read before anything else happens.
    pub read: Read,
    /// The effect takes place this long after the request was read, in ms; `None`: it does not. It takes place even where
    /// the client is gone by then.
    pub effect_after_ms: Option<u64>,
    /// The answer begins this long after the request was read, in ms. A usual answer also waits for the effect.
    pub answer_after_ms: u64,
    /// What is answered.
    pub answer: Answer,
    /// How much of the answer is written.
    pub cut: Cut,
    /// How the end of the answer's body is told.
    pub framing: Framing,
    /// Pause before each byte of the answer's body, in ms; 0: none.
    pub pace_ms: u64,
    /// What becomes of the connection afterwards.
    pub end: End,
    /// From before the answer on, the service's own port refuses connections for this long, in ms.
    pub then_refuse_ms: Option<u64>,
}

/// How much of a request is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// The connection is taken and nothing is read from it.
    Nothing,
    /// Up to the empty line.
    Head,
    /// The head and the first half of the body.
    HalfBody,
    /// All of it.
    #[default]
    All,
}

/// What is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What a well-behaved service says.
    #[default]
    Usual,
    /// Nothing at all.
    Silence,
    /// This.
    Own {
        /// The status, as it stands in the status line.
        status: u16,
        /// Beside `content-type` (JSON, unless given here) and the framing.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body.
        #[serde(default)]
        body: String,
    },
    /// These bytes, whatever they are (HTTP or not).
    Raw(String),
}

/// How much of an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Status line, headers and the empty line.
    AfterHead,
    /// The head and the first half of the body, although the head promises all of it.
    HalfBody,
    /// All of it.
    #[default]
    Whole,
}

/// How the end of the answer's body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// By `Content-Length`.
    #[default]
    Length,
    /// In chunks (RFC 9112 section 7.1).
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Kept for the next request, where the exchange was clean; else closed.
    #[default]
    Keep,
    /// Closed in order (FIN).
    Close,
    /// Torn down (RST).
    Reset,
}

impl Default for Behaviour {
    /// All goes well.
    fn default() -> Behaviour {
        Behaviour {
            read: Read::All,
            effect_after_ms: Some(0),
            answer_after_ms: 0,
            answer: Answer::Usual,
            cut: Cut::Whole,
            framing: Framing::Length,
            pace_ms: 0,
            end: End::Keep,
            then_refuse_ms: None,
        }
    }
}

impl Behaviour {
    /// All goes well, with the usual answer.
    pub fn usual() -> Behaviour {
        Behaviour::default()
    }

    /// The effect, and this answer instead of the usual one.
    pub fn ok(status: u16, body: &str) -> Behaviour {
        Behaviour {
            answer: Answer::own(status, &[], body),
            ..Behaviour::default()
        }
    }

    /// This status before any effect.
    pub fn status(status: u16) -> Behaviour {
        Behaviour::status_with(status, &[], &format!(r#"{{"error":"status {status}"}}"#))
    }

    /// This answer before any effect.
    pub fn status_with(status: u16, headers: &[(&str, &str)], body: &str) -> Behaviour {
        Behaviour {
            answer: Answer::own(status, headers, body),
            ..Behaviour::without_effect()
        }
    }

    /// 429 with this `Retry-After`, before any effect.
    pub fn retry_after(value: &str) -> Behaviour {
        Behaviour::status_with(429, &[("retry-after", value)], r#"{"error":"slow down"}"#)
    }

    /// An error inside a 200, before any effect.
    pub fn error_in_200(body: &str) -> Behaviour {
        Behaviour::status_with(200, &[], body)
    }

    /// 307 to another place, before any effect.
    pub fn redirect(location: &str) -> Behaviour {
        Behaviour::status_with(307, &[("location", location)], "")
    }

    /// The effect, then this status.
    pub fn effect_then_status(status: u16) -> Behaviour {
        Behaviour::ok(status, &format!(r#"{{"error":"status {status}"}}"#))
    }

    /// The effect, then nothing for so long, then the connection is closed.
    pub fn effect_then_silence(ms: u64) -> Behaviour {
        Behaviour {
            answer: Answer::Silence,
            answer_after_ms: ms,
            end: End::Close,
            ..Behaviour::default()
        }
    }

    /// The effect, then a reset instead of an answer.
    pub fn effect_then_reset() -> Behaviour {
        Behaviour {
            answer: Answer::Silence,
            end: End::Reset,
            ..Behaviour::default()
        }
    }

    /// No effect and no answer for so long, then the connection is closed.
    pub fn hang_before_effect(ms: u64) -> Behaviour {
        Behaviour {
            effect_after_ms: None,
            ..Behaviour::effect_then_silence(ms)
        }
    }

    /// The effect takes place so long after the request was read, and the usual answer after that.
    pub fn late_effect(ms: u64) -> Behaviour {
        Behaviour {
            effect_after_ms: Some(ms),
            ..Behaviour::default()
        }
    }

    /// A reset as soon as the connection is taken.
    pub fn reset_on_connect() -> Behaviour {
        Behaviour::reset_after(Read::Nothing)
    }

    /// A reset once the head was read, before any effect.
    pub fn reset_after_head() -> Behaviour {
        Behaviour::reset_after(Read::Head)
    }

    /// A reset in the middle of the body, before any effect.
    pub fn reset_after_half() -> Behaviour {
        Behaviour::reset_after(Read::HalfBody)
    }

    /// A reset once all of the request was read, before any effect.
    pub fn reset_after_all() -> Behaviour {
        Behaviour::reset_after(Read::All)
    }

    /// The effect, then the head of the usual answer, then a reset.
    pub fn headers_then_reset() -> Behaviour {
        Behaviour {
            cut: Cut::AfterHead,
            end: End::Reset,
            ..Behaviour::default()
        }
    }

    /// The effect, then half of the body that the answer's head promised, then the connection is closed.
    pub fn truncated_body() -> Behaviour {
        Behaviour {
            cut: Cut::HalfBody,
            end: End::Close,
            ..Behaviour::default()
        }
    }

    /// The effect, then the usual answer with so long a pause before each byte of its body.
    pub fn slow_drip(pace_ms: u64) -> Behaviour {
        Behaviour {
            pace_ms,
            ..Behaviour::default()
        }
    }

    /// A final 200 once the head was read and before the body was, without an effect; the rest is read and thrown away.
    pub fn early_answer() -> Behaviour {
        Behaviour {
            read: Read::Head,
            end: End::Close,
            ..Behaviour::error_in_200(r#"{"early":true}"#)
        }
    }

    /// The effect, the usual answer without `Connection: close`, and then the connection is closed all the same.
    pub fn answer_then_close() -> Behaviour {
        Behaviour {
            end: End::Close,
            ..Behaviour::default()
        }
    }

    /// The same, and from before the answer on the service's port refuses connections for so long.
    pub fn and_refuse(self, ms: u64) -> Behaviour {
        Behaviour {
            then_refuse_ms: Some(ms),
            ..self
        }
    }

    fn without_effect() -> Behaviour {
        Behaviour {
            effect_after_ms: None,
            ..Behaviour::default()
        }
    }

    fn reset_after(read: Read) -> Behaviour {
        Behaviour {
            read,
            answer: Answer::Silence,
            end: End::Reset,
            ..Behaviour::without_effect()
        }
    }
}

impl Answer {
    /// An answer of one's own.
    pub fn own(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Answer::Own {
            status,
            headers,
            body: body.to_owned(),
        }
    }
}
