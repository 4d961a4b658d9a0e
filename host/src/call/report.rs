//! A call as one JSON object: what is shown, what `--json` prints and what `--record` keeps are the same. Every text in it
//! is masked once more at the end, so that no secret stands in it by whatever way it came.

use super::subject::Subject;
use super::{next, url};
use crate::catalog::Purpose;
use crate::egress::{Mask, Outgoing};
use crate::executor::{Exchanged, Logged, LookedUp, Performed, Trial};
use crate::runtime::{LogLevel, LookupReturn, PerformReturn, Problem, Response, SendError, Stop};
use oncegate_domain::doubt::{Effect, Finding};
use oncegate_domain::outcome::Outcome;
use serde_json::{Map, Value, json};

/// What the SDK's mock looks for before it plays a recording.
const FORMAT: &str = "oncegate.call/1";

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// All of it, masked.
    pub json: Value,
    /// The effect exists, or the question was answered.
    pub good: bool,
}

/// What is known of a call before it is made.
pub struct About<'s> {
    subject: &'s Subject,
    key: String,
    mask: Mask,
}

impl<'s> About<'s> {
    /// Of a call that is ready.
    pub fn of(subject: &'s Subject, trial: &Trial) -> Self {
        Self {
            subject,
            key: trial.key().to_owned(),
            mask: trial.mask().clone(),
        }
    }

    /// What a person is asked about.
    pub fn question(&self, out: &Outgoing) -> Value {
        let approved = &self.subject.approved;
        let question = json!({
            "action": approved.action,
            "connection": approved.connection,
            "account": approved.account,
            "key": self.key,
            "sent": sent(out),
        });
        masked(question, &self.mask)
    }

    /// After `perform`.
    pub fn performed(&self, performed: &Performed, now_ms: i64) -> Report {
        let terms = &self.subject.approved.terms;
        let next = match &performed.standing {
            Ok(step) => next::after_perform(step, terms, now_ms),
            Err(why) => format!("cannot be told, for the outcome could not be stored: {why}"),
        };
        let outcome = match performed.outcome {
            Outcome::Confirmed(_) => "confirmed",
            Outcome::Refused(_) => "refused",
            Outcome::Unsent => "unsent",
            Outcome::Unknown => "unknown",
        };
        let more = json!({
            "exchanges": exchanges(&performed.exchanged),
            "logged": logged(&performed.logged),
            "evidence": performed.evidence.to_string(),
            "status": performed.status,
            "reported": perform_return(&performed.returned),
            "reported_says": performed.report.to_string(),
            "outcome": outcome,
            "outcome_says": performed.outcome.to_string(),
            "message": performed.message,
            "output": performed.output,
            "next": next,
        });
        self.report(more, matches!(performed.outcome, Outcome::Confirmed(_)))
    }

    /// After `lookup`.
    pub fn looked_up(&self, looked_up: &LookedUp) -> Report {
        let (finding, good) = match looked_up.finding {
            Finding::Found => ("found", true),
            Finding::Absent => ("absent", true),
            Finding::Unsure => ("unsure", false),
        };
        let (reported, says) = lookup_return(&looked_up.returned);
        let more = json!({
            "exchanges": exchanges(&looked_up.exchanged),
            "logged": logged(&looked_up.logged),
            "evidence": looked_up.evidence.to_string(),
            "status": looked_up.status,
            "reported": reported,
            "reported_says": says,
            "outcome": finding,
            "outcome_says": looked_up.finding.to_string(),
            "message": looked_up.message,
            "next": next::after_lookup(looked_up.finding, &self.subject.approved.terms),
        });
        self.report(more, good)
    }

    fn report(&self, more: Value, good: bool) -> Report {
        let (approved, manifest) = (&self.subject.approved, &self.subject.description.manifest);
        let mut json = json!({
            "format": FORMAT,
            "connector": manifest.name,
            "version": manifest.version,
            "digest": approved.connector_digest,
            "action": approved.action,
            "effect": match approved.terms.effect {
                Effect::Read => "read",
                Effect::Write => "write",
            },
            "call": match self.subject.purpose {
                Purpose::Perform => "perform",
                Purpose::Lookup => "lookup",
            },
            "connection": approved.connection,
            "account": approved.account,
            "key": self.key,
            "settings": *approved.settings,
            "input": self.subject.input,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut json, more) {
            all.extend(more);
        }
        Report {
            json: masked(json, &self.mask),
            good,
        }
    }
}

fn logged(lines: &[Logged]) -> Value {
    let line = |line: &Logged| {
        let level = match line.level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        json!({ "level": level, "message": line.message, "fields": line.fields })
    };
    lines.iter().map(line).collect()
}

fn exchanges(exchanged: &[Exchanged]) -> Value {
    exchanged.iter().map(exchange).collect()
}

fn exchange(exchanged: &Exchanged) -> Value {
    let asked = &exchanged.asked;
    let mut request = json!({
        "method": asked.method,
        "endpoint": asked.endpoint,
        "path": asked.path,
        "query": asked.query,
        "headers": asked.headers,
    });
    if asked.has_body {
        put_body(&mut request, &asked.body);
    }
    let mut exchange = json!({ "request": request, "sent": exchanged.out.as_ref().map(sent) });
    let (name, came) = match &exchanged.result {
        Some(Ok(response)) => ("answer", answer(response)),
        Some(Err(SendError::Denied(why))) => ("error", error("denied", why)),
        Some(Err(SendError::NothingSent(why))) => ("error", error("nothing_sent", why)),
        Some(Err(SendError::MaybeSent(why))) => ("error", error("maybe_sent", why)),
        None => ("error", error("cut_off", "the connector was stopped while it waited")),
    };
    exchange[name] = came;
    exchange
}

/// As it leaves, without the credentials that are put in at the very end.
fn sent(out: &Outgoing) -> Value {
    let mut sent = json!({ "method": out.method, "url": url(out), "headers": out.headers });
    if !out.body.is_empty() {
        put_body(&mut sent, &out.body);
    }
    sent
}

fn answer(response: &Response) -> Value {
    let mut answer = json!({ "status": response.status, "headers": response.headers });
    put_body(&mut answer, &response.body);
    answer
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "kind": kind, "message": message })
}

/// A body is text where it can be, else hexadecimal.
fn put_body(into: &mut Value, body: &[u8]) {
    match std::str::from_utf8(body) {
        Ok(text) => into["body"] = Value::from(text),
        Err(_) => into["body_hex"] = Value::from(data_encoding::HEXLOWER.encode(body)),
    }
}

fn perform_return(returned: &Result<PerformReturn, Stop>) -> Value {
    let failed = |kind: &str, problem: &Problem| {
        json!({
            "kind": kind,
            "code": problem.code,
            "message": problem.message,
            "fields": problem.fields,
            "retry_after_ms": problem.retry_after_ms,
        })
    };
    match returned {
        Ok(PerformReturn::Completed(output)) => json!({ "kind": "completed", "output": parsed(output) }),
        Ok(PerformReturn::Rejected(problem)) => failed("rejected", problem),
        Ok(PerformReturn::Unauthorized(problem)) => failed("unauthorized", problem),
        Ok(PerformReturn::Temporary(problem)) => failed("temporary", problem),
        Ok(PerformReturn::Unsure(problem)) => failed("unsure", problem),
        Err(stop) => error("stopped", &stop.to_string()),
    }
}

fn lookup_return(returned: &Result<LookupReturn, Stop>) -> (Value, String) {
    match returned {
        Ok(LookupReturn::Found {
            output,
            reference,
            matched_by_key,
        }) => {
            let matched = if *matched_by_key { "key" } else { "content" };
            let json = json!({
                "kind": "found",
                "output": parsed(output),
                "reference": reference,
                "matched": matched,
            });
            (json, format!("the connector found the effect by its {matched}"))
        }
        Ok(LookupReturn::Absent) => (
            json!({ "kind": "absent" }),
            "the connector says that the effect is not there".to_owned(),
        ),
        Ok(LookupReturn::Unsure(why)) => (error("unsure", why), "the connector could not tell".to_owned()),
        Err(stop) => (error("stopped", &stop.to_string()), stop.to_string()),
    }
}

/// An output as JSON; text that is none stays text.
fn parsed(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|_| Value::from(output))
}

/// Every text without secrets, names of fields as well: an answer may hold them anywhere.
fn masked(value: Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.text(text)),
        Value::Array(items) => items.into_iter().map(|item| masked(item, mask)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (mask.text(name), masked(value, mask)))
                .collect::<Map<_, _>>(),
        ),
        // A secret of digits alone, given back as a number.
        Value::Number(number) if mask.finds(&number.to_string()) => Value::from(crate::egress::MASKED),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_stays_in_a_report_wherever_it_stands() {
        let mask = Mask::new(["1234567890"]).unwrap();
        let report = json!({ "1234567890": ["x 1234567890", 1_234_567_890, { "deep": "1234567890" }] });
        assert_eq!(
            masked(report, &mask),
            json!({ "[masked]": ["x [masked]", "[masked]", { "deep": "[masked]" }] })
        );
    }

    #[test]
    fn a_body_that_is_no_text_is_kept_as_it_is() {
        let mut into = json!({});
        put_body(&mut into, &[0, 255]);
        assert_eq!(into, json!({ "body_hex": "00ff" }));
    }
}
