//! How much of a person's words is kept.

use super::{Decided, DecisionError, Verb};
use oncegate_domain::limits;

/// Kept as they are or not at all: half a reason or half a reference would be another one.
pub(super) fn check_words(decided: &Decided) -> Result<(), DecisionError> {
    check_reason(&decided.why)?;
    match &decided.what {
        Verb::Resolve { reference, output } => {
            let bytes = reference.as_ref().map_or(0, String::len);
            check_length("reference", bytes, limits::REFERENCE_BYTES_MAX)?;
            let bytes = output.as_ref().map_or(0, |output| output.to_string().len());
            check_length("output", bytes, limits::OUTPUT_BYTES_MAX)
        }
        Verb::Retry { .. } | Verb::Discard | Verb::Ignore | Verb::Run => Ok(()),
    }
}

/// Why something was decided, or a run cancelled.
pub(super) fn check_reason(why: &str) -> Result<(), DecisionError> {
    check_length("reason", why.len(), limits::REASON_BYTES_MAX)
}

fn check_length(what: &'static str, bytes: usize, bytes_max: usize) -> Result<(), DecisionError> {
    match bytes > bytes_max {
        true => Err(DecisionError::TooLong { what, bytes, bytes_max }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncegate_domain::id::Id;
    use serde_json::json;

    fn checked(why: usize, reference: usize, output: usize) -> Result<(), String> {
        let decided = Decided {
            item: Id::from_bytes([0; 16]),
            version: 1,
            who: "ada".to_owned(),
            why: "x".repeat(why),
            what: Verb::Resolve {
                reference: Some("x".repeat(reference)),
                // With its quotation marks.
                output: Some(json!("x".repeat(output - 2))),
            },
        };
        check_words(&decided).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_kept_whole_up_to_their_limit_and_refused_beyond_it() {
        let (why, reference, output) = (
            limits::REASON_BYTES_MAX,
            limits::REFERENCE_BYTES_MAX,
            limits::OUTPUT_BYTES_MAX,
        );
        assert_eq!(checked(why, reference, output), Ok(()));
        for (refused, what) in [
            (checked(why + 1, reference, output), "the reason has 2049 bytes"),
            (checked(why, reference + 1, output), "the reference has 1025 bytes"),
            (checked(why, reference, output + 1), "the output has 1048577 bytes"),
        ] {
            let said = refused.unwrap_err();
            assert!(said.starts_with(what) && said.contains("shorten it"), "{said}");
        }
    }
}
