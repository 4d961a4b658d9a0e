//! A long history, made by the server itself: what the bench asks about a ledger of millions of runs must not first take the
//! hours in which they would be carried out.

use super::scratch::refused;
use super::{db_error, translated};
use crate::ledger::{Database, Result};
use oncegate_domain::id::Id;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};
use std::ops::Range;
use std::str::FromStr;

/// The key of a stored run begins so; its number follows. What stands for its HMAC is its SHA-256.
pub const STORED_KEY: &str = "stored-";

/// Rows of one statement.
const ROWS: u64 = 100_000;
/// Ids begin with their time; these are of the first milliseconds of time, one after the other.
const ID: &str = "decode(lpad(to_hex(n), 12, '0') || '00000000000000000000', 'hex')";
/// Rows of one run of one step that went its whole way: as many, and of the same size, as a host leaves.
const RUNS: &str =
    "INSERT INTO runs (id, flow_id, flow_revision, event_id, event_key, key_hash, fingerprint, context, state,
      created_ms, finished_ms)
    SELECT {id}, ?1, 1, {id}, '{key}' || n, sha256(('{key}' || n)::bytea), sha256('x'::bytea),
      '[{\"name\":\"lead\",\"value\":\"' || n || '\",\"personal\":false}]', 'completed', n, n
    FROM generate_series(?2, ?3) AS n";
const EVENTS: &str = "INSERT INTO events (id, flow_id, run_id, kind, received_ms, source, verified_by, fingerprint, content_type,
      content_encoding, headers, query, body)
    SELECT {id}, ?1, {id}, 'first', n, 'webhook', 'none', sha256('x'::bytea), 'application/json', 'identity', '{}', '{}',
      ('{\"id\":\"{key}' || n || '\",\"email\":\"ada@example.com\",\"name\":\"Ada Example\"}')::bytea
    FROM generate_series(?2, ?3) AS n";
const STEPS: &str = "INSERT INTO steps (id, run_id, ordinal, flow_revision, name, role, item, correction, connection, action,
      state, standing, version, epoch, last_number, input, output)
    SELECT {id}, {id}, 0, 1, 'one', 'do', '', 0, 'bench', 'send', 'completed', '{\"state\":\"completed\"}', 2, 1, 1,
      '{\"path\":\"/effects/1\",\"body\":{\"event\":\"{key}' || n || '\"}}', '{\"status\":201,\"body\":{\"id\":' || n || '}}'
    FROM generate_series(?2, ?3) AS n WHERE ?1 = ?1";
const ATTEMPTS: &str = "INSERT INTO attempts (step_id, number, kind, epoch, connector_digest, connection, connection_revision,
      action, origin, account, intent_ms, intent_boot_ms, send_by_ms, send_by_boot_ms, request_head, request_body, evidence,
      status, report, outcome, started_ms, ended_ms)
    SELECT {id}, 1, 'perform', 1, 'sha256:0', 'bench', 1, 'send', 'http://127.0.0.1', 'bench', n, n, n, n,
      '[\"POST\",\"/effects/1\",[]]', ('{\"event\":\"{key}' || n || '\"}')::bytea, '{\"answered\":201}', 201, '\"ok\"',
      '{\"confirmed\":\"done\"}', n, n
    FROM generate_series(?2, ?3) AS n WHERE ?1 = ?1";

/// Stores finished runs of a flow with these numbers, and lets the server count what it has.
///
/// # Errors
/// The server cannot be reached, or has no room.
pub async fn store(database: &Database, flow: Id, numbers: Range<u64>, mut say: impl FnMut(u64)) -> Result<()> {
    let options = PgConnectOptions::from_str(database.address().unwrap_or_default());
    let options = options.map_err(|error| refused(error.to_string()))?;
    let mut connection = options.connect().await.map_err(|error| refused(error.to_string()))?;
    for from in numbers.clone().step_by(ROWS as usize) {
        let until = numbers.end.min(from + ROWS);
        for rows in [RUNS, EVENTS, STEPS, ATTEMPTS] {
            insert(&mut connection, rows, flow, from..until).await?;
        }
        say(numbers.end - until);
    }
    // As the server does by itself, some time later: it knows what it has, and no longer writes down what was stored just now.
    let known = sqlx::raw_sql("VACUUM ANALYZE").execute(&mut connection).await;
    known.map_err(|error| refused(db_error(error).to_string()))?;
    if let Err(error) = sqlx::raw_sql("CHECKPOINT").execute(&mut connection).await {
        // Not every user may ask for it.
        tracing::warn!(%error, "the server may still be writing");
    }
    Ok(())
}

async fn insert(connection: &mut PgConnection, rows: &str, flow: Id, numbers: Range<u64>) -> Result<()> {
    let text = translated(&rows.replace("{id}", ID).replace("{key}", STORED_KEY));
    let last = numbers.end.saturating_sub(1);
    let query = sqlx::query(AssertSqlSafe(text))
        .bind(flow.to_bytes().to_vec())
        .bind(numbers.start.cast_signed())
        .bind(last.cast_signed());
    let inserted = query.execute(connection).await;
    inserted.map(drop).map_err(|error| refused(db_error(error).to_string()))
}
