//! The end of an attempt and what follows from it: attempt, step, run, successors and review items in one commit.

use super::accept::{INSERT_STEP, step_row};
use super::batch::Template;
use super::database::{Conn, Value};
use super::error::A_RUN;
use super::fence::{self, Fence};
use super::review::{self, Closing};
use super::rows::{Row, due_ms, run_is_final, run_state_word, wait_reason};
use super::{AttemptEnd, Finish, Finished, StepWrite};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::State;

pub(super) static UPDATE_STEP: Template<14> = Template::update(
    "steps",
    &[
        "id",
        "epoch",
        "version",
        "state",
        "wait_reason",
        "in_doubt_since_ms",
        "standing",
        "due_ms",
        "number",
        "last_error",
        "clear_error",
        "output",
        "reference",
        "input",
    ],
    "state = v.state, wait_reason = v.wait_reason, in_doubt_since_ms = v.in_doubt_since_ms,
       standing = v.standing, due_ms = v.due_ms, version = v.version + 1,
       last_number = CASE WHEN v.number > steps.last_number THEN v.number ELSE steps.last_number END,
       last_error = CASE WHEN v.clear_error = 1 THEN NULL ELSE COALESCE(v.last_error, steps.last_error) END,
       output = COALESCE(v.output, steps.output), reference = COALESCE(v.reference, steps.reference),
       input = COALESCE(v.input, steps.input)",
    "steps.id = v.id AND steps.epoch = v.epoch AND steps.version = v.version",
);
/// The open review item of a step.
pub(super) static OPEN_ITEM: Template<1> = Template::find(
    "review_items.id",
    "review_items",
    &["step_id"],
    "review_items.step_id = v.step_id AND closed_ms IS NULL AND review_items.step_id IS NOT NULL",
);
pub(super) static END_INTENT: Template<10> = Template::update(
    "attempts",
    &[
        "step_id",
        "number",
        "evidence",
        "status",
        "report",
        "outcome",
        "finding",
        "message",
        "started_ms",
        "ended_ms",
    ],
    "evidence = v.evidence, status = v.status, report = v.report, outcome = v.outcome,
       finding = v.finding, message = v.message, started_ms = v.started_ms, ended_ms = v.ended_ms",
    "attempts.step_id = v.step_id AND attempts.number = v.number AND attempts.ended_ms IS NULL",
);
pub(super) static INSERT_ATTEMPT: Template<17> = Template::insert(
    "attempts",
    &[
        "step_id",
        "number",
        "evidence",
        "status",
        "report",
        "outcome",
        "finding",
        "message",
        "started_ms",
        "ended_ms",
        "kind",
        "epoch",
        "connector_digest",
        "connection",
        "connection_revision",
        "origin",
        "account",
    ],
    "",
);
/// What follows from a step depends on the others: whoever has not seen the last change of one of them changes nothing.
pub(super) static UPDATE_RUN: Template<4> = Template::update(
    "runs",
    &["id", "state", "finished_ms", "version"],
    "state = v.state, finished_ms = v.finished_ms, version = v.version + 1",
    "runs.id = v.id AND runs.version = v.version",
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
    let rows = finishes.iter().flat_map(|finish| writes(finish));
    let mut passed = UPDATE_STEP.change(conn, rows).await?.into_iter();
    let mut refused = Vec::with_capacity(finishes.len());
    for finish in finishes {
        refused.push(refusal(conn, finish, passed.by_ref()).await?);
    }
    let done = finishes.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let done: Vec<&Finish> = done.map(|(finish, _)| *finish).collect();
    write_attempts(conn, &done).await?;
    let states = done.iter().filter_map(|finish| Some((finish, finish.run_state?)));
    let states: Vec<_> = states.collect();
    let rows = states
        .iter()
        .map(|(finish, state)| run_row(finish.run, *state, finish.at_ms, finish.run_version));
    let passed = UPDATE_RUN.change(conn, rows).await?;
    if let Some(((finish, _), _)) = states.iter().zip(passed).find(|(_, passed)| !passed) {
        // Of the whole group, which is rolled back and repeated one by one.
        return Err(stale_run(finish.run, finish.run_version));
    }

    let steps = done.iter().flat_map(|finish| changed(finish));
    let steps = steps.map(|write| [Value::id(write.id)]);
    let mut open = OPEN_ITEM.find_each(conn, steps).await?.into_iter();
    let mut verdicts = Vec::with_capacity(finishes.len());
    for (finish, refused) in finishes.iter().zip(refused) {
        verdicts.push(match refused {
            Some(refused) => Err(refused),
            None => Ok(follow(conn, finish, open.by_ref()).await?),
        });
    }
    Ok(verdicts)
}

/// The steps that a finish changes, its own first.
fn changed(finish: &Finish) -> impl Iterator<Item = &StepWrite> {
    std::iter::once(&finish.step).chain(&finish.others)
}

/// Their rows. The attempt is the first one's.
fn writes(finish: &Finish) -> impl Iterator<Item = [Value<'_>; 14]> {
    let number = finish.attempt.as_ref().map_or(0, |attempt| attempt.number);
    let numbers = std::iter::once(number).chain(std::iter::repeat(0));
    changed(finish)
        .zip(numbers)
        .map(|(write, number)| update_row(write, finish.epoch, finish.at_ms, number))
}

/// Why the fence refused, if it did: `passed` begins with this finish's steps. Nothing was written then; where some of them
/// had passed, the error is the whole group's, which is rolled back and repeated one by one.
async fn refusal(
    conn: &mut Conn<'_>,
    finish: &Finish,
    passed: impl Iterator<Item = bool>,
) -> Result<Option<LedgerError>> {
    let (passed, missed): (Vec<_>, Vec<_>) = changed(finish).zip(passed).partition(|(_, passed)| *passed);
    let Some((write, _)) = missed.first() else {
        return Ok(None);
    };
    let fence = Fence {
        step: write.id,
        epoch: finish.epoch,
        version: write.version,
    };
    let error = fence::explain(conn, fence).await?;
    if passed.is_empty() { Ok(Some(error)) } else { Err(error) }
}

async fn write_attempts(conn: &mut Conn<'_>, finishes: &[&Finish]) -> Result<()> {
    let attempts = || {
        finishes
            .iter()
            .filter_map(|finish| Some((finish, finish.attempt.as_ref()?)))
    };
    let whole = attempts().filter(|(_, attempt)| !attempt.has_intent);
    let whole = whole.map(|(finish, attempt)| whole_row(finish, attempt));
    INSERT_ATTEMPT.change(conn, whole).await?;
    let ended = attempts().filter(|(_, attempt)| attempt.has_intent);
    let ended = ended.map(|(finish, attempt)| end_row(finish.step.id, attempt));
    if END_INTENT.change(conn, ended).await?.contains(&false) {
        return Err(LedgerError::Invalid {
            what: "the end of an attempt",
            why: "there is no open intent with its number".into(),
        });
    }
    Ok(())
}

/// The open review item of a step.
pub(super) async fn open_item(conn: &mut Conn<'_>, step: Id) -> Result<Option<Id>> {
    item(OPEN_ITEM.find_one(conn, [Value::id(step)]).await?)
}

fn item(mut found: Vec<Row>) -> Result<Option<Id>> {
    found.pop().map(|row| row.decode("review_items", Row::id)).transpose()
}

/// What is rare: review items, and steps that tell people. `open` begins with what was found for this finish's steps.
async fn follow(conn: &mut Conn<'_>, finish: &Finish, open: impl Iterator<Item = Vec<Row>>) -> Result<Finished> {
    let mut finished = Finished::default();
    for (write, open) in changed(finish).zip(open) {
        let open = item(open)?;
        let opened = review::follow(conn, finish.run, write, open, &Closing::settled(finish.at_ms)).await?;
        if write.id == finish.step.id {
            finished.item = opened;
        }
    }
    for step in &finish.notify {
        let id = new_id(finish.at_ms);
        let revision = flow_revision(conn, finish.run).await?;
        let row = step_row(id, finish.run, revision, finish.epoch, finish.at_ms, step);
        INSERT_STEP.change_one(conn, row).await?;
        finished.notify.push(id);
    }
    Ok(finished)
}

async fn flow_revision(conn: &mut Conn<'_>, run: Id) -> Result<u32> {
    let rows = conn
        .query("SELECT id, flow_revision FROM runs WHERE id = ?1", vec![Value::id(run)])
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

pub(super) fn update_row(write: &StepWrite, epoch: i64, at_ms: i64, number: u32) -> [Value<'_>; 14] {
    let step = &write.after;
    [
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
        Value::opt_json(write.output.as_deref()),
        Value::opt_text(write.reference.as_deref()),
        Value::opt_text(write.input.as_deref()),
    ]
}

pub(super) fn stale_run(run: Id, version: i64) -> LedgerError {
    LedgerError::Stale {
        what: A_RUN,
        id: run,
        version,
    }
}

pub(super) fn run_row(run: Id, state: run::State, at_ms: i64, version: i64) -> [Value<'static>; 4] {
    let finished_ms = run_is_final(state).then_some(at_ms);
    [
        Value::id(run),
        Value::text(run_state_word(state)),
        Value::Int(finished_ms),
        Value::int(version),
    ]
}

fn end_row(step: Id, attempt: &AttemptEnd) -> [Value<'_>; 10] {
    [
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

/// An attempt without an intent: nothing of it is stored yet.
fn whole_row<'a>(finish: &'a Finish, attempt: &'a AttemptEnd) -> [Value<'a>; 17] {
    let [
        step,
        number,
        evidence,
        status,
        report,
        outcome,
        finding,
        message,
        started,
        ended,
    ] = end_row(finish.step.id, attempt);
    let place = attempt.place.as_ref();
    [
        step,
        number,
        evidence,
        status,
        report,
        outcome,
        finding,
        message,
        started,
        ended,
        Value::text(attempt.kind.as_str()),
        Value::int(finish.epoch),
        Value::opt_text(place.map(|place| place.connector_digest.as_str())),
        Value::opt_text(place.map(|place| place.connection.as_str())),
        Value::Int(place.map(|place| place.connection_revision.into())),
        Value::opt_text(place.map(|place| place.origin.as_str())),
        Value::opt_text(place.map(|place| place.account.as_str())),
    ]
}
