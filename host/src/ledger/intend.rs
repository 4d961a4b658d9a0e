//! Recording the intent to send: what makes it impossible that a request leaves unrecorded.

use super::batch::Template;
use super::database::{Conn, Value};
use super::fence::{self, Fence};
use super::rows::{due_ms, json_text, wait_reason};
use super::{AttemptKind, NewIntent};
use super::{LedgerError, Result};
use oncegate_domain::id::Id;

pub(super) static INTEND_STEP: Template<12> = Template::update(
    "steps",
    &[
        "id",
        "epoch",
        "version",
        "number",
        "state",
        "wait_reason",
        "in_doubt_since_ms",
        "standing",
        "due_ms",
        "key_window_end_ms",
        "natural_key",
        "input",
    ],
    "state = v.state, wait_reason = v.wait_reason, in_doubt_since_ms = v.in_doubt_since_ms,
       standing = v.standing, due_ms = v.due_ms, version = v.version + 1, last_number = v.number,
       key_window_end_ms = COALESCE(v.key_window_end_ms, steps.key_window_end_ms),
       natural_key = COALESCE(v.natural_key, steps.natural_key), input = v.input",
    "steps.id = v.id AND steps.epoch = v.epoch AND steps.version = v.version AND steps.last_number = v.number - 1",
);
pub(super) static INSERT_INTENT: Template<18> = Template::insert(
    "attempts",
    &[
        "step_id",
        "number",
        "kind",
        "epoch",
        "connector_digest",
        "connection",
        "connection_revision",
        "action",
        "origin",
        "account",
        "natural_key",
        "intent_ms",
        "intent_boot_ms",
        "send_by_ms",
        "send_by_boot_ms",
        "request_head",
        "request_body",
        "started_ms",
    ],
    "",
);
pub(super) const LATER_INTENT: &str =
    "SELECT 1 FROM attempts WHERE connection = ?1 AND action = ?2 AND natural_key = ?3
    AND natural_key IS NOT NULL AND intent_ms >= ?4 AND step_id <> ?5 LIMIT 1";

/// Records intents of different runs. The step's row is the fence: an attempt is written only where it was passed.
pub(super) async fn apply(conn: &mut Conn<'_>, intents: &[&NewIntent]) -> Result<Vec<Result<()>>> {
    let mut verdicts: Vec<Result<()>> = Vec::with_capacity(intents.len());
    for intent in intents {
        verdicts.push(match is_overtaken(conn, intent).await? {
            true => Err(LedgerError::Overtaken { step: intent.step }),
            false => Ok(()),
        });
    }
    let open: Vec<usize> = (0..intents.len()).filter(|place| verdicts[*place].is_ok()).collect();
    let passed = INTEND_STEP
        .change(conn, open.iter().map(|place| step_row(intents[*place])))
        .await?;
    let mut written = Vec::with_capacity(open.len());
    for (place, passed) in open.into_iter().zip(passed) {
        if passed {
            written.push(attempt_row(intents[place]));
        } else {
            verdicts[place] = Err(fence::explain(conn, fence_of(intents[place])).await?);
        }
    }
    INSERT_INTENT.change(conn, written.into_iter()).await?;
    Ok(verdicts)
}

fn fence_of(intent: &NewIntent) -> Fence {
    Fence {
        step: intent.step,
        epoch: intent.epoch,
        version: intent.version,
    }
}

/// Tested where the intent is written: a newer value of the same thing may have been recorded since the executor looked.
async fn is_overtaken(conn: &mut Conn<'_>, intent: &NewIntent) -> Result<bool> {
    let (Some(after_ms), Some(key)) = (intent.overtaken_after_ms, &intent.natural_key) else {
        return Ok(false);
    };
    let values = later_values(&intent.place.connection, &intent.action, key, after_ms, intent.step);
    Ok(!conn.query(LATER_INTENT, values).await?.is_empty())
}

pub(super) fn later_values<'a>(
    connection: &'a str,
    action: &'a str,
    key: &'a [u8; 32],
    after_ms: i64,
    step: Id,
) -> Vec<Value<'a>> {
    vec![
        Value::text(connection),
        Value::text(action),
        Value::bytes(key),
        Value::int(after_ms),
        Value::id(step),
    ]
}

fn step_row(intent: &NewIntent) -> [Value<'_>; 12] {
    let step = &intent.step_after;
    [
        Value::id(intent.step),
        Value::int(intent.epoch),
        Value::int(intent.version),
        Value::number(intent.number),
        Value::text(step.state.as_str()),
        Value::opt_text(wait_reason(step)),
        Value::Int(step.in_doubt_since_ms()),
        Value::json(step),
        Value::Int(due_ms(step, intent.due_ms, intent.at_ms)),
        Value::Int(intent.key_window_end_ms),
        Value::opt_bytes(intent.natural_key.as_ref().map(<[u8; 32]>::as_slice)),
        Value::text(intent.input.as_str()),
    ]
}

fn attempt_row(intent: &NewIntent) -> [Value<'_>; 18] {
    let (place, request) = (&intent.place, &intent.request);
    let head = (&request.method, &request.path_and_query, &request.headers);
    [
        Value::id(intent.step),
        Value::number(intent.number),
        Value::text(intent.kind.as_str()),
        Value::int(intent.epoch),
        Value::text(place.connector_digest.as_str()),
        Value::text(place.connection.as_str()),
        Value::number(place.connection_revision),
        Value::text(intent.action.as_str()),
        Value::text(place.origin.as_str()),
        Value::text(place.account.as_str()),
        Value::opt_bytes(intent.natural_key.as_ref().map(<[u8; 32]>::as_slice)),
        Value::int(intent.at_ms),
        Value::int(intent.boot_ms),
        Value::int(intent.send_by_ms),
        Value::int(intent.send_by_boot_ms),
        Value::text(json_text(&head)),
        Value::bytes(&request.body),
        Value::int(intent.at_ms),
    ]
}

/// What must hold before a command is sent to the writer.
pub(super) fn check(intent: &NewIntent) -> Result<()> {
    let refuse = |why: &str| {
        Err(LedgerError::Invalid {
            what: "an intent",
            why: why.into(),
        })
    };
    if intent.kind == AttemptKind::Lookup {
        return refuse("a lookup sends nothing that needs one");
    }
    if intent.number == 0 {
        return refuse("attempts are counted from 1");
    }
    if !intent.step_after.in_doubt() {
        return refuse("the step after it must be in doubt: the request may leave from now on");
    }
    Ok(())
}
