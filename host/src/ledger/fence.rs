//! Why a fenced write found no row.

use super::database::{Conn, Value};
use super::{LedgerError, Result};
use oncegate_domain::id::Id;

/// What a write of a step names, so that a late or outdated writer changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    pub step: Id,
    pub epoch: i64,
    pub version: i64,
}

/// The error for a step that was not where its writer thought it was.
pub(super) async fn explain(conn: &mut Conn<'_>, fence: Fence) -> Result<LedgerError> {
    let Fence { step, epoch, version } = fence;
    let rows = conn
        .query(
            "SELECT id, epoch, version FROM steps WHERE id = ?1",
            vec![Value::id(step)],
        )
        .await?;
    let Some(row) = rows.into_iter().next() else {
        return Ok(LedgerError::NotFound {
            what: "step",
            id: step.to_string(),
        });
    };
    let (epoch_now, version_now) = row.decode("steps", |row| {
        row.id()?;
        Ok((row.int()?, row.int()?))
    })?;
    Ok(if epoch_now != epoch {
        LedgerError::LeaseLost { step, epoch }
    } else if version_now != version {
        LedgerError::Stale {
            what: "step",
            id: step,
            version,
        }
    } else {
        let why = "its attempt number does not follow the stored ones".into();
        LedgerError::Invalid {
            what: "an attempt",
            why,
        }
    })
}
