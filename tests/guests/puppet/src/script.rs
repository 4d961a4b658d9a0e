//! The script: commands one after the other, of which the last one that reports ends it.

use oncegate_sdk::raw::RawCall;
use oncegate_sdk::{Answer, Doubt, Failure, Finding, Problem, Request, SendError, log};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{harm, wasi};

/// The input of each action. The settings may hold the same, for what the input leaves out.
#[derive(Deserialize, Default)]
struct Scripts {
    script: Option<Vec<Value>>,
    lookup: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    Send(Send),
    Loop {},
    Grow {
        bytes: Option<u64>,
    },
    Trap {
        /// Only where the last answer had this status.
        status: Option<u16>,
    },
    Recurse {},
    Log {
        lines: u64,
        bytes: usize,
        level: Option<String>,
    },
    Print {
        lines: u64,
        bytes: usize,
    },
    Wasi {},
    Sleep {
        ms: u64,
    },
    Exit {},
    Ok {
        output: Option<Value>,
    },
    Text {
        text: String,
    },
    Huge {
        bytes: usize,
    },
    Judge {
        reference: Option<String>,
    },
    Rejected(Report),
    Unauthorized(Report),
    Temporary(Report),
    Unsure(Report),
    Found {
        output: Option<Value>,
        reference: Option<String>,
        by: Option<String>,
    },
    Absent {},
}

#[derive(Deserialize)]
struct Send {
    #[serde(default = "post")]
    method: String,
    #[serde(default = "api")]
    endpoint: String,
    path: String,
    #[serde(default)]
    query: Vec<(String, String)>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Sent as JSON, with its content type.
    json: Option<Value>,
    /// Sent as it is, without a content type.
    text: Option<String>,
    /// How often.
    #[serde(default = "once")]
    times: u64,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    fields: Vec<(String, String)>,
    retry_after_ms: Option<u64>,
}

fn post() -> String {
    "POST".to_owned()
}

fn api() -> String {
    "api".to_owned()
}

fn once() -> u64 {
    1
}

/// What the script has seen so far; all of it goes into the output.
struct Seen {
    key: String,
    last: Option<Result<Answer, SendError>>,
    answers: Vec<Value>,
    wasi: Option<Value>,
    doubt: Option<Doubt>,
}

/// How a script ends.
enum End {
    Output(String),
    Failure(Failure),
    Finding(Finding<String>),
}

pub(crate) fn perform(call: &RawCall) -> Result<String, Failure> {
    let commands = scripts(call)?.script.unwrap_or_default();
    match run(commands, Seen::new(call, None)) {
        End::Output(output) => Ok(output),
        End::Failure(failure) => Err(failure),
        End::Finding(_) => Err(Failure::rejected("script", "`found` and `absent` are for lookups")),
    }
}

pub(crate) fn lookup(call: &RawCall, doubt: Doubt) -> Finding<String> {
    let commands = match scripts(call) {
        Ok(scripts) => scripts.lookup,
        Err(failure) => return Finding::unsure(failure.problem().message.clone()),
    };
    let Some(commands) = commands else {
        return Finding::unsure("no lookup in the script");
    };
    match run(commands, Seen::new(call, Some(doubt))) {
        End::Finding(finding) => finding,
        End::Output(output) => Finding::by_key(output, ""),
        End::Failure(failure) => Finding::unsure(failure.problem().message.clone()),
    }
}

fn scripts(call: &RawCall) -> Result<Scripts, Failure> {
    let read = |text: &str| -> Result<Scripts, Failure> {
        serde_json::from_str(text).map_err(|error| Failure::rejected("script", format!("no script: {error}")))
    };
    let (own, common) = (read(&call.input)?, read(&call.settings)?);
    Ok(Scripts {
        script: own.script.or(common.script),
        lookup: own.lookup.or(common.lookup),
    })
}

fn run(commands: Vec<Value>, mut seen: Seen) -> End {
    for command in commands {
        let command = match command_of(command) {
            Ok(command) => command,
            Err(why) => return End::Failure(Failure::rejected("script", why)),
        };
        if let Some(end) = step(command, &mut seen) {
            return end;
        }
    }
    End::Output(seen.output(None))
}

/// By hand, for serde's tagged enums cannot read numbers whose digits are kept.
fn command_of(mut command: Value) -> Result<Command, String> {
    let op = command.as_object_mut().and_then(|fields| fields.remove("op"));
    let op = op.as_ref().and_then(Value::as_str).ok_or("a command without `op`")?;
    serde_json::from_value(json!({op: command})).map_err(|error| format!("the command `{op}` cannot be read: {error}"))
}

fn step(command: Command, seen: &mut Seen) -> Option<End> {
    match command {
        Command::Send(send) => (0..send.times).for_each(|_| seen.send(&send)),
        Command::Loop {} => harm::spin(),
        Command::Grow { bytes } => harm::grow(bytes.unwrap_or(u64::MAX)),
        Command::Trap { status } if seen.fits(status) => panic!("told to trap"),
        Command::Trap { .. } => {}
        Command::Recurse {} => harm::recurse(),
        Command::Log { lines, bytes, level } => harm::flood(lines, bytes, &level.unwrap_or_default()),
        Command::Print { lines, bytes } => wasi::print(lines, bytes),
        Command::Wasi {} => seen.wasi = Some(wasi::ask()),
        Command::Sleep { ms } => wasi::sleep(ms),
        Command::Exit {} => wasi::exit(),
        Command::Ok { output } => return Some(End::Output(seen.output(output))),
        Command::Text { text } => return Some(End::Output(seen.filled(&text))),
        Command::Huge { bytes } => return Some(End::Output(format!("\"{}\"", "x".repeat(bytes)))),
        Command::Judge { reference } => return Some(seen.judge(reference.as_deref())),
        Command::Rejected(report) => return Some(End::Failure(Failure::Rejected(report.into()))),
        Command::Unauthorized(report) => return Some(End::Failure(Failure::Unauthorized(report.into()))),
        Command::Temporary(report) => return Some(End::Failure(Failure::Temporary(report.into()))),
        Command::Unsure(report) => return Some(End::Failure(Failure::Unsure(report.into()))),
        Command::Found { output, reference, by } => {
            let (output, reference) = (seen.output(output), seen.filled(&reference.unwrap_or_default()));
            let content = by.as_deref() == Some("content");
            let found = if content {
                Finding::by_content(output, reference)
            } else {
                Finding::by_key(output, reference)
            };
            return Some(End::Finding(found));
        }
        Command::Absent {} => return Some(End::Finding(Finding::Absent)),
    }
    None
}

impl Seen {
    fn new(call: &RawCall, doubt: Option<Doubt>) -> Seen {
        Seen {
            key: call.key.clone(),
            last: None,
            answers: Vec::new(),
            wasi: None,
            doubt,
        }
    }

    /// `{{key}}` is the step key, in every text of a script.
    fn filled(&self, text: &str) -> String {
        text.replace("{{key}}", &self.key)
    }

    fn send(&mut self, send: &Send) {
        let mut request = Request::new(&send.method, &send.endpoint, &self.filled(&send.path));
        for (name, value) in &send.query {
            request = request.query(name, self.filled(value));
        }
        for (name, value) in &send.headers {
            request = request.header(name, self.filled(value));
        }
        if let Some(json) = &send.json {
            request = request.bytes("application/json", self.filled(&json.to_string()));
        }
        let mut wire = match request.build() {
            Ok(wire) => wire,
            Err(error) => return self.remember(Err(error)),
        };
        if let Some(text) = &send.text {
            wire.body = Some(self.filled(text).into_bytes());
        }
        self.remember(oncegate_sdk::raw::send(wire));
    }

    fn remember(&mut self, result: Result<Answer, SendError>) {
        self.answers.push(match &result {
            Ok(answer) => {
                let body: Value = answer
                    .raw_json()
                    .and_then(|json| json.read().ok())
                    .unwrap_or_else(|| answer.text().into());
                let headers: Vec<_> = answer
                    .headers
                    .iter()
                    .map(|(name, value)| json!([name, value]))
                    .collect();
                json!({"status": answer.status, "headers": headers, "body": body})
            }
            Err(error) => {
                let (kind, why) = kind(error);
                log::info(&format!("{kind}: {why}"));
                json!({"error": kind, "why": why})
            }
        });
        self.last = Some(result);
    }

    /// Whether the last answer had this status; without one, always.
    fn fits(&self, status: Option<u16>) -> bool {
        let last = || Some(self.last.as_ref()?.as_ref().ok()?.status);
        status.is_none_or(|wanted| last() == Some(wanted))
    }

    /// The output that the script asks for, or else all that it saw.
    fn output(&self, asked: Option<Value>) -> String {
        if let Some(asked) = asked {
            return self.filled(&asked.to_string());
        }
        let doubt = self
            .doubt
            .map(|doubt| json!({"first_sent_ms": doubt.first_sent_ms, "status": doubt.status}));
        json!({"key": self.key, "answers": self.answers, "wasi": self.wasi, "doubt": doubt}).to_string()
    }

    /// What an honest connector would say of the last answer.
    fn judge(&self, reference: Option<&str>) -> End {
        let answer = match self.last.clone() {
            None => return End::Failure(Failure::rejected("script", "nothing was sent")),
            Some(Err(error)) => return End::Failure(error.into()),
            Some(Ok(answer)) => answer,
        };
        if self.doubt.is_none() {
            return match answer.ok() {
                Ok(answer) => End::Output(answer.raw_json().unwrap_or_default().as_str().to_owned()),
                Err(failure) => End::Failure(failure),
            };
        }
        let reference = reference
            .and_then(|at| answer.raw_json()?.pointer(at)?.scalar())
            .unwrap_or_default();
        End::Finding(match answer.unless_missing() {
            Ok(None) => Finding::Absent,
            Ok(Some(answer)) if answer.text().contains(&self.key) => {
                Finding::by_key(answer.raw_json().unwrap_or_default().as_str().to_owned(), reference)
            }
            Ok(Some(_)) => Finding::unsure("an answer without our key"),
            Err(failure) => Finding::unsure(failure.problem().message.clone()),
        })
    }
}

fn kind(error: &SendError) -> (&'static str, &str) {
    match error {
        SendError::NotBuilt(why) => ("not_built", why),
        SendError::Denied(why) => ("denied", why),
        SendError::NothingSent(why) => ("nothing_sent", why),
        SendError::MaybeSent(why) => ("maybe_sent", why),
    }
}

impl From<Report> for Problem {
    fn from(report: Report) -> Problem {
        let Report {
            code,
            message,
            fields,
            retry_after_ms,
        } = report;
        Problem {
            code,
            message,
            fields,
            retry_after_ms,
        }
    }
}

#[cfg(test)]
mod tests;
