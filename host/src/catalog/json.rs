//! Strict reading of JSON that others wrote: duplicate names are refused, digits are kept.

use crate::flow::{BodyLimits, parse_json};
use serde_json::Value;

/// Reads JSON, or says what is wrong with it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let limits = BodyLimits {
        bytes_max: 16 * 1024 * 1024,
        values_max: 1_000_000,
        ..BodyLimits::default()
    };
    parse_json(bytes, &limits).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_others_is_read_up_to_its_depth() {
        let nested = |levels: usize| parse(format!("{}{}", "[".repeat(levels), "]".repeat(levels)).as_bytes());
        assert!(nested(64).is_ok());
        assert_eq!(nested(65).unwrap_err(), "the body has more than 64 levels");
    }
}
