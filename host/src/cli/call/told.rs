//! A call in words for people. Everything in it may come from outside, so it is escaped here; bodies are cut, the whole is
//! in `--json` and in a record.

use super::super::terminal::{escape, short};
use super::super::text;
use serde_json::Value;

/// Of a body that is shown.
const BODY_LINES_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 160;
/// Of the connector's log, and of the characters of one of its lines: a stack is worth reading whole.
const LOG_LINES_MAX: usize = 30;
const LOG_LINE_CHARS_MAX: usize = 1_000;

/// What is asked about.
pub fn question(about: &Value) -> String {
    format!(
        "{} changes something at the destination, by the connection {} (account {}), under the key {}:\n\n{}",
        escape(text(about, "action")),
        escape(text(about, "connection")),
        escape(text(about, "account")),
        escape(text(about, "key")),
        request(&about["sent"])
    )
}

/// The whole call.
pub fn report(call: &Value) -> String {
    let line = |name: &str| escape(text(call, name));
    let mut told = format!(
        "{} {} · {} ({})\nconnection  {} (account {})\nkey         {}\n\n",
        line("connector"),
        line("version"),
        line("action"),
        line("call"),
        line("connection"),
        line("account"),
        line("key"),
    );
    for exchange in call["exchanges"].as_array().into_iter().flatten() {
        told += &one_exchange(exchange);
    }
    told += &logged(call);
    told += &format!("the host saw   {}\n", line("evidence"));
    told += &format!("the connector  {}\n", reported(call));
    told += &format!("outcome        {}\n", line("outcome_says"));
    if let Some(message) = call["message"].as_str() {
        told += &format!("               {}\n", short(message, 1_000));
    }
    told += &format!("next           {}\n", line("next"));
    told + &again(call)
}

fn one_exchange(exchange: &Value) -> String {
    let asked = &exchange["request"];
    let mut told = match exchange["sent"].is_object() {
        true => request(&exchange["sent"]),
        false => format!(
            "→ {} {} {}\n",
            escape(text(asked, "method")),
            escape(text(asked, "endpoint")),
            escape(text(asked, "path"))
        ),
    };
    let (answer, error) = (&exchange["answer"], &exchange["error"]);
    if answer.is_object() {
        told += &format!("← {}\n{}", answer["status"], content(answer));
    } else {
        let (kind, message) = (text(error, "kind").replace('_', " "), text(error, "message"));
        told += &format!("× {}: {}\n", escape(&kind), short(message, 500));
    }
    told + "\n"
}

/// What the connector logged. Where it failed, why stands here.
fn logged(call: &Value) -> String {
    let lines: Vec<&Value> = call["logged"].as_array().into_iter().flatten().collect();
    if lines.is_empty() {
        return String::new();
    }
    let mut told = "the connector logged\n".to_owned();
    for line in lines.iter().take(LOG_LINES_MAX) {
        let fields = line["fields"].as_array().into_iter().flatten().map(|field| {
            let part = |at: usize| field[at].as_str().unwrap_or_default();
            format!("  {}={}", part(0), part(1))
        });
        let words = text(line, "message").to_owned() + &fields.collect::<String>();
        told += &format!(
            "  {:<5}  {}\n",
            escape(text(line, "level")),
            short(&words, LOG_LINE_CHARS_MAX)
        );
    }
    if lines.len() > LOG_LINES_MAX {
        told += &format!("  … {} more lines; --json shows all\n", lines.len() - LOG_LINES_MAX);
    }
    told + "\n"
}

/// As it leaves; the credentials are not in it.
fn request(sent: &Value) -> String {
    format!(
        "→ {} {}\n{}",
        escape(text(sent, "method")),
        escape(text(sent, "url")),
        content(sent)
    )
}

/// Headers and body.
fn content(message: &Value) -> String {
    let mut told = String::new();
    for header in message["headers"].as_array().into_iter().flatten() {
        let part = |at: usize| escape(header[at].as_str().unwrap_or_default());
        told += &format!("  {}: {}\n", part(0), short(&part(1), LINE_CHARS_MAX));
    }
    match (message["body"].as_str(), message["body_hex"].as_str()) {
        (Some(""), _) | (None, None) => told,
        (Some(body), _) => told + "\n" + &shown(body),
        (None, Some(hex)) => told + &format!("\n  {} bytes that are no text\n", hex.len() / 2),
    }
}

/// A body, indented, JSON written out, and not more of it than a person reads.
fn shown(body: &str) -> String {
    let json = serde_json::from_str::<Value>(body).and_then(|json| serde_json::to_string_pretty(&json));
    let body = json.unwrap_or_else(|_| body.to_owned());
    let mut lines = body.lines();
    let mut told: String = lines
        .by_ref()
        .take(BODY_LINES_MAX)
        .map(|line| format!("  {}\n", short(line, LINE_CHARS_MAX)))
        .collect();
    let more = lines.count();
    if more > 0 {
        told += &format!("  … {more} more lines; --json shows all\n");
    }
    told
}

/// What the connector said, in its own words.
fn reported(call: &Value) -> String {
    let reported = &call["reported"];
    let mut told = match text(reported, "kind") {
        "completed" | "found" => format!("{}\n{}", text(reported, "kind"), shown(&reported["output"].to_string()))
            .trim_end()
            .to_owned(),
        kind => [kind, text(reported, "code"), text(reported, "message")]
            .iter()
            .filter(|part| !part.is_empty())
            .map(|part| short(part, 1_000))
            .collect::<Vec<_>>()
            .join(": "),
    };
    for field in reported["fields"].as_array().into_iter().flatten() {
        let part = |at: usize| short(field[at].as_str().unwrap_or_default(), 200);
        told += &format!("\n               {}: {}", part(0), part(1));
    }
    told
}

/// How to find out by hand what is not known.
fn again(call: &Value) -> String {
    if text(call, "outcome") != "unknown" {
        return String::new();
    }
    format!(
        "\nNothing is sent again by itself. Where the action has a lookup, ask with: --lookup --key {}\n",
        escape(text(call, "key"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_log_is_told_with_its_fields_and_not_too_much_of_it() {
        let line = json!({ "level": "error", "message": "no \u{1b}[1m id", "fields": [["stack", "a:1"]] });
        let told = logged(&json!({ "logged": vec![line; LOG_LINES_MAX + 2] }));
        assert!(told.starts_with("the connector logged\n  error  no "), "{told}");
        assert!(told.contains(" id  stack=a:1\n") && !told.contains('\u{1b}'), "{told}");
        assert!(told.contains("… 2 more lines; --json shows all"), "{told}");
        assert_eq!(logged(&json!({ "logged": [] })), "");
    }

    #[test]
    fn nothing_of_an_answer_reaches_the_terminal_as_a_command_and_not_too_much_of_it() {
        let body: String = (0..100).map(|line| format!("{line} \u{1b}[31m\n")).collect();
        let told = one_exchange(&json!({
            "request": {}, "sent": { "method": "GET", "url": "https://x/", "headers": [["a", "b\rc"]] },
            "answer": { "status": 200, "headers": [], "body": body },
        }));
        assert!(!told.contains('\u{1b}') && !told.contains('\r'), "{told}");
        assert!(told.contains("… 60 more lines"), "{told}");
        assert!(told.starts_with("→ GET https://x/\n  a: b\\u{d}c\n← 200\n"), "{told}");
    }
}
