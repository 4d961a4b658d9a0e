//! The end of an attempt and what follows from it: attempt, step, run, successors and review items in one commit.

use super::accept::step_row;
use super::batch::Template;
use super::fence::{self, Fence};
use super::review::{self, Closing};
use super::rows::{due_ms, run_is_final, run_state_word, wait_reason};
use super::sqlite::{Conn, Value};
use super::{AttemptEnd, Finish, Finished, StepWrite};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::State;
use std::collections::HashMap;

pub(super) static UPDATE_STEP: Template = Template::new(
    "WITH v(id, epoch, version, state, wait_reason, in_doubt_since_ms, standing, due_ms, number, last_error, clear_error,
       output, reference, input) AS (VALUES ",
    ") UPDATE steps SET state = v.state, wait_reason = v.wait_reason, in_doubt_since_ms = v.in_doubt_since_ms,
       standing = v.standing, due_ms = v.due_ms, version = v.version + 1,
       last_number = CASE WHEN v.number > steps.last_number THEN v.number ELSE steps.last_number END,
       last_error = CASE WHEN v.clear_error = 1 THEN NULL ELSE COALESCE(v.last_error, steps.last_error) END,
       output = COALESCE(v.output, steps.output), reference = COALESCE(v.reference, steps.reference),
       input = COALESCE(v.input, steps.input)
     FROM v WHERE steps.id = v.id AND steps.epoch = v.epoch AND steps.version = v.version
     RETURNING steps.id, steps.review_item",
);
pub(super) static END_INTENT: Template = Template::new(
    "WITH v(step_id, number, evidence, status, report, outcome, finding, message, started_ms, ended_ms) AS (VALUES ",
    ") UPDATE attempts SET evidence = v.evidence, status = v.status, report = v.report, outcome = v.outcome,
       finding = v.finding, message = v.message, started_ms = v.started_ms, ended_ms = v.ended_ms
     FROM v WHERE attempts.step_id = v.step_id AND attempts.number = v.number AND attempts.ended_ms IS NULL
     RETURNING attempts.step_id",
);
pub(super) static INSERT_ATTEMPT: Template = Template::new(
    "INSERT INTO attempts (step_id, number, evidence, status, report, outcome, finding, message, started_ms, ended_ms, kind,
       epoch, connector_digest, connection, connection_revision, origin, account) VALUES ",
    "",
);
pub(super) static UPDATE_RUN: Template = Template::new(
    "WITH v(id, state, finished_ms) AS (VALUES ",
    ") UPDATE runs SET state = v.state, finished_ms = v.finished_ms FROM v WHERE runs.id = v.id",
);

/// What must hold before a command is sent to the writer: a set-based statement would write one of two changes of a step
/// and silently drop the other.
pub(super) fn check(finish: &Finish) -> Result<()> {
    let mut steps: Vec<Id> = finish
        .others
        .iter()
        .map(|other| other.id)
        .chain([finish.step.id])
        .collect();
    steps.sort();
    if steps.windows(2).any(|pair| pair[0] == pair[1]) {
        let why = "it changes one step twice".into();
        return Err(LedgerError::Invalid {
            what: "the end of an attempt",
            why,
        });
    }
    Ok(())
}

/// Finishes attempts of different runs.
pub(super) async fn apply(conn: &mut Conn<'_>, finishes: &[&Finish]) -> Result<Vec<Result<Finished>>> {
    let writes = finishes.iter().flat_map(|finish| {
        let number = finish.attempt.as_ref().map_or(0, |attempt| attempt.number);
        std::iter::once((&finish.step, number))
            .chain(finish.others.iter().map(|other| (other, 0)))
            .map(|(write, number)| update_row(write, finish.epoch, finish.at_ms, number))
    });
    let items = update_steps(conn, writes.collect()).await?;

    let mut verdicts = Vec::with_capacity(finishes.len());
    let mut passed = Vec::with_capacity(finishes.len());
    for finish in finishes {
        match refusal(conn, finish, &items).await? {
            Some(error) => verdicts.push(Err(error)),
            None => {
                passed.push(*finish);
                verdicts.push(Ok(Finished::default()));
            }
        }
    }
    write_attempts(conn, &passed).await?;
    let runs = passed
        .iter()
        .filter_map(|finish| Some(run_row(finish.run, finish.run_state?, finish.at_ms)));
    UPDATE_RUN.run(conn, runs.collect()).await?;
    for (verdict, finish) in verdicts.iter_mut().zip(finishes) {
        if let Ok(finished) = verdict {
            *finished = follow(conn, finish, &items).await?;
        }
    }
    Ok(verdicts)
}

/// Updates steps, and gives the open review item of each that passed its fence.
pub(super) async fn update_steps(conn: &mut Conn<'_>, rows: Vec<Vec<Value>>) -> Result<HashMap<Id, Option<Id>>> {
    let passed = UPDATE_STEP.run(conn, rows).await?;
    passed
        .into_iter()
        .map(|row| row.decode("steps", |row| Ok((row.id()?, row.opt_id()?))))
        .collect()
}

/// Whether the fence refused. Nothing was written then; where only a part of it passed, the error is the whole group's,
/// which is rolled back and repeated one by one.
async fn refusal(
    conn: &mut Conn<'_>,
    finish: &Finish,
    passed: &HashMap<Id, Option<Id>>,
) -> Result<Option<LedgerError>> {
    let mut writes = std::iter::once(&finish.step).chain(&finish.others);
    let Some(missed) = writes.find(|write| !passed.contains_key(&write.id)) else {
        return Ok(None);
    };
    let fence = Fence {
        step: missed.id,
        epoch: finish.epoch,
        version: missed.version,
    };
    let error = fence::explain(conn, fence).await?;
    let mut writes = std::iter::once(&finish.step).chain(&finish.others);
    if writes.any(|write| passed.contains_key(&write.id)) {
        Err(error)
    } else {
        Ok(Some(error))
    }
}

async fn write_attempts(conn: &mut Conn<'_>, finishes: &[&Finish]) -> Result<()> {
    let (mut ended, mut whole) = (Vec::new(), Vec::new());
    for finish in finishes {
        let Some(attempt) = &finish.attempt else { continue };
        let mut row = end_row(finish.step.id, attempt);
        if attempt.has_intent {
            ended.push(row);
        } else {
            row.extend(place_values(finish.epoch, attempt));
            whole.push(row);
        }
    }
    let expected = ended.len();
    if END_INTENT.run(conn, ended).await?.len() != expected {
        let why = "there is no open intent with its number".into();
        return Err(LedgerError::Invalid {
            what: "the end of an attempt",
            why,
        });
    }
    INSERT_ATTEMPT.run(conn, whole).await?;
    Ok(())
}

/// What is rare: review items, and steps that tell people.
async fn follow(conn: &mut Conn<'_>, finish: &Finish, items: &HashMap<Id, Option<Id>>) -> Result<Finished> {
    let mut finished = Finished::default();
    for write in std::iter::once(&finish.step).chain(&finish.others) {
        let open = items.get(&write.id).copied().flatten();
        let opened = review::follow(conn, finish.run, write, open, &Closing::settled(finish.at_ms)).await?;
        if write.id == finish.step.id {
            finished.item = opened;
        }
    }
    for step in &finish.notify {
        let id = new_id(finish.at_ms);
        let revision = flow_revision(conn, finish.run).await?;
        super::accept::INSERT_STEP
            .run(
                conn,
                vec![step_row(id, finish.run, revision, finish.epoch, finish.at_ms, step)],
            )
            .await?;
        finished.notify.push(id);
    }
    Ok(finished)
}

async fn flow_revision(conn: &mut Conn<'_>, run: Id) -> Result<u32> {
    let rows = conn
        .query("SELECT id, flow_revision FROM runs WHERE id = $1", vec![Value::id(run)])
        .await?;
    let row = rows.into_iter().next().ok_or_else(|| LedgerError::NotFound {
        what: "run",
        id: run.to_string(),
    })?;
    row.decode("runs", |row| {
        row.id()?;
        row.small()
    })
}

pub(super) fn update_row(write: &StepWrite, epoch: i64, at_ms: i64, number: u32) -> Vec<Value> {
    let step = &write.after;
    vec![
        Value::id(write.id),
        Value::int(epoch),
        Value::int(write.version),
        Value::text(step.state.as_str()),
        Value::opt_text(wait_reason(step)),
        Value::Int(step.in_doubt_since_ms()),
        Value::json(step),
        Value::Int(due_ms(step, write.due_ms, at_ms)),
        Value::number(number),
        Value::opt_text(write.last_error.as_deref()),
        Value::flag(step.state == State::Completed && write.last_error.is_none()),
        Value::opt_json(write.output.as_ref()),
        Value::opt_text(write.reference.as_deref()),
        Value::opt_text(write.input.as_deref()),
    ]
}

pub(super) fn run_row(run: Id, state: run::State, at_ms: i64) -> Vec<Value> {
    let finished_ms = run_is_final(state).then_some(at_ms);
    vec![
        Value::id(run),
        Value::text(run_state_word(state)),
        Value::Int(finished_ms),
    ]
}

fn end_row(step: Id, attempt: &AttemptEnd) -> Vec<Value> {
    vec![
        Value::id(step),
        Value::number(attempt.number),
        Value::json(&attempt.evidence),
        Value::Int(attempt.status.map(i64::from)),
        Value::opt_json(attempt.report.as_ref()),
        Value::opt_json(attempt.outcome.as_ref()),
        Value::opt_json(attempt.finding.as_ref()),
        Value::opt_text(attempt.message.as_deref()),
        Value::int(attempt.started_ms),
        Value::int(attempt.ended_ms),
    ]
}

fn place_values(epoch: i64, attempt: &AttemptEnd) -> [Value; 7] {
    let place = attempt.place.as_ref();
    [
        Value::text(attempt.kind.as_str()),
        Value::int(epoch),
        Value::opt_text(place.map(|place| place.connector_digest.as_str())),
        Value::opt_text(place.map(|place| place.connection.as_str())),
        Value::Int(place.map(|place| place.connection_revision.into())),
        Value::opt_text(place.map(|place| place.origin.as_str())),
        Value::opt_text(place.map(|place| place.account.as_str())),
    ]
}
