//! `[retention]`: how long what runs held is kept.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

const DAY_MS: i64 = 86_400_000;
/// A hundred years: what is to stay longer is to stay for ever.
const DAYS_MAX: u32 = 36_500;

/// How long what runs held is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Payloads and answers, and all else that a run knows of its event, counted from the run's end.
    pub payloads_days: Keep,
}

/// How long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// So many days.
    Days(u32),
    /// It is never erased.
    Always,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            payloads_days: Keep::Days(90),
        }
    }
}

impl Keep {
    /// The same in milliseconds; `None`: always.
    pub fn ms(self) -> Option<i64> {
        match self {
            Keep::Days(days) => Some(i64::from(days) * DAY_MS),
            Keep::Always => None,
        }
    }
}

impl<'de> Deserialize<'de> for Keep {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Days)
    }
}

struct Days;

/// Not 0: a duplicate that comes a second later with `respond = "result"` would find nothing to be answered with, and a person
/// nothing to look at.
fn refused(said: impl std::fmt::Display) -> String {
    format!("payloads_days is {said}; write a whole number of days from 1 to {DAYS_MAX}, or \"never\" to erase nothing")
}

impl Visitor<'_> for Days {
    type Value = Keep;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a whole number of days from 1 to {DAYS_MAX}, or \"never\"")
    }

    fn visit_i64<E: Error>(self, days: i64) -> Result<Keep, E> {
        match u32::try_from(days) {
            Ok(days @ 1..=DAYS_MAX) => Ok(Keep::Days(days)),
            Ok(_) | Err(_) => Err(E::custom(refused(days))),
        }
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Keep, E> {
        match word {
            "never" => Ok(Keep::Always),
            _ => Err(E::custom(refused(format_args!("{word:?}")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Keep, String> {
        let parsed: Result<Retention, _> = toml::from_str(text);
        parsed
            .map(|retention| retention.payloads_days)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn payloads_are_kept_for_some_days_or_always() {
        assert_eq!(parse(""), Ok(Keep::Days(90)));
        assert_eq!(parse("payloads_days = 1"), Ok(Keep::Days(1)));
        assert_eq!(parse("payloads_days = 36500"), Ok(Keep::Days(36_500)));
        assert_eq!(parse("payloads_days = \"never\""), Ok(Keep::Always));
        assert_eq!((Keep::Days(2).ms(), Keep::Always.ms()), (Some(172_800_000), None));
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_to_write() {
        for wrong in ["0", "-1", "36501", "\"forever\"", "\"90\""] {
            let error = parse(&format!("payloads_days = {wrong}")).unwrap_err();
            assert!(
                error.contains("from 1 to 36500, or \"never\" to erase nothing"),
                "{error}"
            );
            assert!(error.contains("line 1"), "{error}");
        }
        assert!(
            parse("payloads_days = 1.5")
                .unwrap_err()
                .contains("a whole number of days")
        );
        assert!(parse("payload_days = 1").unwrap_err().contains("unknown field"));
    }

    #[test]
    fn the_page_names_the_setting_with_its_default() {
        assert!(include_str!("../../../docs/host.md").contains("| `payloads_days` | 90 |"));
    }
}
