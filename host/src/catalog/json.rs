//! Strict reading of JSON that others wrote: duplicate names are refused, digits are kept.

use crate::flow::{BodyLimits, parse_json};
use serde_json::Value;

/// Reads JSON, or says what is wrong with it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let limits = BodyLimits {
        bytes_max: 16 * 1024 * 1024,
        depth_max: 128,
        values_max: 1_000_000,
    };
    parse_json(bytes, &limits).map_err(|error| error.to_string())
}
