//! Evidence that comes after its attempt was given up: its owner had lost its lease. It changes no state, but
//! whoever is about to ask, to send again or to call a person reads it first.

use super::database::{Conn, Value};
use super::rows::Row;
use super::{LateEvidence, LedgerError, Result};
use oncegate_domain::id::Id;
use oncegate_domain::outcome::{Outcome, Proof};
use serde_json::Value as Json;

pub(super) const FOUND: &str = "SELECT number, late_outcome, late_output, late_reference FROM attempts
    WHERE step_id = ?1 AND late_outcome IS NOT NULL ORDER BY number DESC";

/// Late evidence that the effect of a step exists.
#[derive(Clone, Debug, PartialEq)]
pub struct LateFound {
    /// Of which attempt.
    pub number: u32,
    /// What later steps read.
    pub output: Option<Json>,
    /// What a person would search for at the destination.
    pub reference: Option<String>,
}

/// Appends evidence to an attempt that was given up. A person who looks at the step must see it before deciding, so its
/// open item gets a new version. Where it proves the effect of a step that waits for a person, nobody need be asked any more:
/// the step is due, so that the owner of its run completes it. Returns the epoch of that owner.
pub(super) async fn append(conn: &mut Conn<'_>, late: &LateEvidence) -> Result<Option<i64>> {
    const APPEND: &str = "UPDATE attempts SET late_evidence = ?3, late_ms = ?4, late_outcome = ?5, late_output = ?6,
          late_reference = ?7
        WHERE step_id = ?1 AND number = ?2 AND epoch = ?8 RETURNING step_id";
    const BUMP: &str = "UPDATE review_items SET version = version + 1
        WHERE step_id = ?1 AND closed_ms IS NULL AND step_id IS NOT NULL";
    const LOOK: &str = "UPDATE steps SET due_ms = ?2 WHERE id = ?1 AND state = 'needs_review' RETURNING epoch";
    let attempt = late.attempt;
    let values = vec![
        Value::id(attempt.step),
        Value::number(attempt.number),
        Value::json(&late.evidence),
        Value::int(late.at_ms),
        Value::opt_json(late.outcome.as_ref()),
        Value::opt_json(late.output.as_ref()),
        Value::opt_text(late.reference.as_deref()),
        Value::int(late.epoch),
    ];
    if conn.query(APPEND, values).await?.is_empty() {
        let id = format!("{}/{}", attempt.step, attempt.number);
        return Err(LedgerError::NotFound { what: "attempt", id });
    }
    conn.query(BUMP, vec![Value::id(attempt.step)]).await?;
    if !late.outcome.as_ref().is_some_and(proves_effect) {
        return Ok(None);
    }
    let looked = conn
        .query(LOOK, vec![Value::id(attempt.step), Value::int(late.at_ms)])
        .await?;
    let owner = |row: Row| row.decode("steps", |row| row.int());
    looked.into_iter().next().map(owner).transpose()
}

/// Accepted only, the destination may still think otherwise.
fn proves_effect(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Confirmed(Proof::Answered(_) | Proof::FoundAlreadyThere) => true,
        Outcome::Confirmed(Proof::Accepted) | Outcome::Refused(_) | Outcome::Unsent | Outcome::Unknown => false,
    }
}

/// Late evidence that the effect of a step exists.
pub(super) async fn found(conn: &mut Conn<'_>, step: Id) -> Result<Option<LateFound>> {
    for row in conn.query(FOUND, vec![Value::id(step)]).await? {
        let (outcome, found) = row.decode("attempts", |row: &mut Row| {
            let number = row.small()?;
            let outcome: Option<Outcome> = row.opt_json()?;
            let found = LateFound {
                number,
                output: row.opt_json()?,
                reference: row.opt_text()?,
            };
            Ok((outcome, found))
        })?;
        if outcome.as_ref().is_some_and(proves_effect) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
