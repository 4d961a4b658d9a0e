//! What a host would do now, in one sentence: read from where the step stands, or, after a lookup by hand, from the rules.

use oncegate_domain::doubt::{Dedup, Finding, Terms};
use oncegate_domain::step::{Retry, State, Step};

/// After `perform`.
pub fn after_perform(step: &Step, terms: &Terms, now_ms: i64) -> String {
    let from_now = |at_ms: i64| format!("after {}", span(at_ms - now_ms));
    match step.state {
        State::Completed => "the step is completed, and the next ones begin".to_owned(),
        State::Retrying {
            reason: Retry::Backoff,
            until_ms,
        } => format!(
            "the effect does not exist; the host would try again {}",
            from_now(until_ms)
        ),
        State::Retrying {
            reason: Retry::Lookup,
            until_ms,
        } => format!(
            "the effect may exist; the host would {} {}",
            way(terms),
            from_now(until_ms)
        ),
        State::Waiting { reason, until_ms } => format!("{reason}; the host would look again {}", from_now(until_ms)),
        State::NeedsReview { reason } => format!("the step would wait for a person: {reason}"),
        State::Failed | State::Skipped { .. } | State::Cancelled => "nothing more".to_owned(),
        State::Pending | State::Processing | State::Cancelling { .. } => {
            format!("the host would look at the step again; it is {}", step.state.as_str())
        }
    }
}

/// How a doubt is settled here.
fn way(terms: &Terms) -> &'static str {
    match (terms.lookup_after_ms, terms.dedup) {
        (Some(_), _) => "ask by lookup, and send nothing before it knows,",
        (None, Dedup::Key { .. }) => "send the same request again, under the same key,",
        (None, Dedup::Natural { .. }) => "send the same request again, which leaves the same state,",
        (None, Dedup::None) => "leave it to a person",
    }
}

/// After `lookup`.
pub fn after_lookup(finding: Finding, terms: &Terms) -> String {
    let apart = span(terms.lookup_after_ms.unwrap_or_default().cast_signed());
    match (finding, terms.dedup) {
        (Finding::Found, _) => "a step in doubt would be completed with what was found".to_owned(),
        (Finding::Absent, Dedup::Natural { .. }) => {
            "a step in doubt would send the same request again, which leaves the same state".to_owned()
        }
        (Finding::Absent, Dedup::Key { .. } | Dedup::None) => {
            let once = match terms.dedup {
                Dedup::Key { .. } => " (once, while the destination honours the key)",
                Dedup::Natural { .. } | Dedup::None => "",
            };
            let then = match terms.absent_to_review {
                true => "a person would decide",
                false => "it would send the same request again, once",
            };
            format!("a step in doubt would have to hear this twice, {apart} apart{once}; then {then}")
        }
        (Finding::Unsure, _) => {
            "a step in doubt would ask again, with growing pauses, and in the end wait for a person".to_owned()
        }
    }
}

/// `30 s`, `10 min`; in the past or at once: `0 s`.
fn span(ms: i64) -> String {
    let seconds = (ms.max(0) + 500) / 1_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}
