//! The body of an event as it was sent, and the one place where it is unpacked and read. Whoever needs the text of a
//! body, when it comes in or years later, asks here: what is kept are the sender's own bytes.

use super::form::parse_form;
use super::json::{BodyLimits, JsonError, parse_json};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::io::Read;

/// How the bytes of a body are packed (RFC 9110 section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentEncoding {
    /// Not at all.
    Identity,
    /// By gzip (RFC 1952), in one or several members.
    Gzip,
}

impl ContentEncoding {
    /// Of a `Content-Encoding` header, where it is one that is taken; an empty one says the same as none.
    pub fn of_header(value: &str) -> Option<ContentEncoding> {
        let is = |name: &str| value.trim().eq_ignore_ascii_case(name);
        if is("") || is("identity") {
            Some(ContentEncoding::Identity)
        } else if is("gzip") {
            Some(ContentEncoding::Gzip)
        } else {
            None
        }
    }

    /// The word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            ContentEncoding::Identity => "identity",
            ContentEncoding::Gzip => "gzip",
        }
    }
}

/// A body as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawBody {
    /// The bytes as sent: what was signed.
    pub bytes: Vec<u8>,
    /// How they are packed.
    pub encoding: ContentEncoding,
    /// The media type of what is packed in them.
    pub content_type: String,
}

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Unpacked it is larger than a body may be.
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge {
        /// How many are allowed.
        bytes_max: usize,
    },
    /// It is not packed as it says.
    #[error("the body says gzip and cannot be unpacked")]
    NotPacked,
    /// Unpacked it is not what its media type says.
    #[error(transparent)]
    Content(#[from] JsonError),
}

impl RawBody {
    /// The body without its packing.
    ///
    /// # Errors
    /// It has more than `limits.bytes_max` bytes, or is not packed as it says.
    pub fn plain(&self, limits: &BodyLimits) -> Result<Cow<'_, [u8]>, BodyError> {
        let bytes_max = limits.bytes_max;
        let plain = match self.encoding {
            ContentEncoding::Identity => Cow::Borrowed(self.bytes.as_slice()),
            ContentEncoding::Gzip => Cow::Owned(unpacked(&self.bytes, bytes_max)?),
        };
        if plain.len() > bytes_max {
            Err(BodyError::TooLarge { bytes_max })
        } else {
            Ok(plain)
        }
    }

    /// The body as flows see it: JSON, or a form.
    ///
    /// # Errors
    /// It cannot be unpacked, or is not what its media type says.
    pub fn parse(&self, limits: &BodyLimits) -> Result<Value, BodyError> {
        let plain = self.plain(limits)?;
        let media_type = self.content_type.split(';').next().unwrap_or_default().trim();
        let parsed = if media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            parse_form(&plain, limits)
        } else {
            parse_json(&plain, limits)
        };
        Ok(parsed?)
    }
}

/// At most one byte more than allowed: that one tells "too large" from "just fits" without unpacking a bomb.
fn unpacked(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, BodyError> {
    let mut plain = Vec::new();
    let mut bounded = MultiGzDecoder::new(packed).take((bytes_max as u64).saturating_add(1));
    match bounded.read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(_) => Err(BodyError::NotPacked),
    }
}
