//! What people do: decisions about review items, cancelling, and the trail of it. One transaction each.

use super::accept::{INSERT_RUN, INSERT_STEP, NewRun, run_row, step_row};
use super::database::{Conn, Value};
use super::fence::{self, Fence};
use super::finish::{self, UPDATE_RUN, UPDATE_STEP};
use super::hosts;
use super::review::{self, Closing};
use super::{AuditEntry, Cancel, ConflictDecision, ConflictRun, PersonDecision, StepWrite};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::run;

/// A decision about a step.
pub(super) async fn decide(conn: &mut Conn<'_>, epoch: i64, decision: &PersonDecision) -> Result<i64> {
    let closing = Closing {
        at_ms: decision.at_ms,
        action: decision.action.as_str(),
        who: &decision.who,
        why: &decision.why,
        stated_absent: decision.stated_absent,
        new_run: None,
    };
    let about = review::close(conn, decision.item, Some(decision.version), &closing).await?;
    if about.step != Some(decision.step.id) {
        let why = format!("review item {} is not about step {}", decision.item, decision.step.id);
        return Err(LedgerError::Invalid {
            what: "a decision",
            why,
        });
    }
    conn.query(
        "UPDATE steps SET review_item = NULL WHERE id = ?1",
        vec![Value::id(decision.step.id)],
    )
    .await?;
    let steps = std::iter::once(&decision.step).chain(&decision.others);
    let state = decision.run_state.map(|state| (state, decision.run_version));
    let owner = write_steps(conn, epoch, about.run, steps, state, &closing).await?;
    let entry = entry(&closing, "review", about.run);
    audit(conn, &entry).await?;
    Ok(owner)
}

/// Writes steps for a person, fenced by their versions: people act at any host. Where the owner of the run has ended this
/// process goes on with it; one that lives finds what has changed. Returns the owner's epoch.
async fn write_steps<'a>(
    conn: &mut Conn<'_>,
    epoch: i64,
    run: Id,
    writes: impl Iterator<Item = &'a StepWrite>,
    state: Option<(run::State, i64)>,
    closing: &Closing<'_>,
) -> Result<i64> {
    hosts::take_over(conn, epoch, &[run]).await?;
    let owner = hosts::owner(conn, run).await?;
    let epoch = owner.ok_or_else(|| LedgerError::NotFound {
        what: "run",
        id: run.to_string(),
    })?;
    for write in writes {
        let row = finish::update_row(write, epoch, closing.at_ms, 0);
        if !UPDATE_STEP.change_one(conn, row).await? {
            let fence = Fence {
                step: write.id,
                epoch,
                version: write.version,
            };
            return Err(fence::explain(conn, fence).await?);
        }
        let open = finish::open_item(conn, write.id).await?;
        review::follow(conn, run, write, open, closing).await?;
    }
    if let Some((state, version)) = state {
        let row = finish::run_row(run, state, closing.at_ms, version);
        if !UPDATE_RUN.change_one(conn, row).await? {
            return Err(finish::stale_run(run, version));
        }
    }
    Ok(epoch)
}

fn entry(closing: &Closing<'_>, what: &str, subject: Id) -> AuditEntry {
    AuditEntry {
        at_ms: closing.at_ms,
        who: closing.who.to_owned(),
        what: format!("{what}.{}", closing.action),
        subject: subject.to_string(),
        why: closing.why.to_owned(),
    }
}

/// Cancels what has not been sent.
pub(super) async fn cancel(conn: &mut Conn<'_>, epoch: i64, cancel: &Cancel) -> Result<i64> {
    let closing = Closing {
        at_ms: cancel.at_ms,
        action: "cancel",
        who: &cancel.who,
        why: &cancel.why,
        stated_absent: false,
        new_run: None,
    };
    let owner = write_steps(
        conn,
        epoch,
        cancel.run,
        cancel.steps.iter(),
        Some((cancel.run_state, cancel.run_version)),
        &closing,
    )
    .await?;
    audit(conn, &entry(&closing, "run", cancel.run)).await?;
    Ok(owner)
}

/// A decision about a conflicting event; the new run belongs to this process.
pub(super) async fn decide_conflict(
    conn: &mut Conn<'_>,
    epoch: i64,
    decision: &ConflictDecision,
) -> Result<Option<Id>> {
    let new_run = decision.run.as_ref().map(|_| new_id(decision.at_ms));
    let closing = Closing {
        at_ms: decision.at_ms,
        action: if new_run.is_some() { "run" } else { "ignore" },
        who: &decision.who,
        why: &decision.why,
        stated_absent: false,
        new_run,
    };
    let about = review::close(conn, decision.item, Some(decision.version), &closing).await?;
    let Some(event) = about.event else {
        let why = format!("review item {} is not about a conflicting event", decision.item);
        return Err(LedgerError::Invalid {
            what: "a decision",
            why,
        });
    };
    if let (Some(id), Some(run)) = (new_run, &decision.run) {
        run_event(conn, epoch, id, event, run, decision.at_ms).await?;
    }
    audit(conn, &entry(&closing, "conflict", about.run)).await?;
    Ok(new_run)
}

async fn run_event(conn: &mut Conn<'_>, epoch: i64, id: Id, event: Id, run: &ConflictRun, at_ms: i64) -> Result<()> {
    let found = conn
        .query(
            "SELECT id, flow_id, fingerprint FROM events WHERE id = ?1",
            vec![Value::id(event)],
        )
        .await?;
    let missing = || LedgerError::NotFound {
        what: "event",
        id: event.to_string(),
    };
    let (flow_id, fingerprint) = found.into_iter().next().ok_or_else(missing)?.decode("events", |row| {
        row.id()?;
        Ok((row.id()?, row.digest()?))
    })?;
    let row = run_row(&NewRun {
        id,
        event,
        flow_id,
        flow_revision: run.flow_revision,
        key: run.key.as_str(),
        key_hash: &run.key_hash,
        fingerprint: &fingerprint,
        context: &run.context,
        steps: &run.steps,
        at_ms,
    });
    if !INSERT_RUN.change_one(conn, row).await? {
        let why = format!("the key {} has a run already", run.key.as_str());
        return Err(LedgerError::Invalid {
            what: "a decision",
            why,
        });
    }
    for step in &run.steps {
        let row = step_row(new_id(at_ms), id, run.flow_revision, epoch, at_ms, step);
        INSERT_STEP.change_one(conn, row).await?;
    }
    Ok(())
}

/// Adds a line to the trail.
pub(super) async fn audit(conn: &mut Conn<'_>, entry: &AuditEntry) -> Result<()> {
    const ADD: &str = "INSERT INTO audit (id, at_ms, who, what, subject, why) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = vec![
        Value::id(new_id(entry.at_ms)),
        Value::int(entry.at_ms),
        Value::text(entry.who.as_str()),
        Value::text(entry.what.as_str()),
        Value::text(entry.subject.as_str()),
        Value::text(entry.why.as_str()),
    ];
    conn.query(ADD, values).await?;
    Ok(())
}
