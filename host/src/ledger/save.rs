//! Keeping what describes the installation: flows, connectors, connections, tokens. Revisions are added, never changed.

use super::database::{Conn, Value};
use super::decide::audit;
use super::rows::{Row, json_text};
use super::{AuditEntry, InstallationChange, NewConnection, NewConnector, NewFlow, NewToken};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;

fn entry(at_ms: i64, who: &str, what: &str, subject: &str) -> AuditEntry {
    AuditEntry {
        at_ms,
        who: who.into(),
        what: what.into(),
        subject: subject.into(),
        why: String::new(),
    }
}

/// Stores a flow; returns its stable id and its revision.
pub(super) async fn flow(conn: &mut Conn<'_>, flow: &NewFlow) -> Result<(Id, u32)> {
    const ADD: &str = "INSERT INTO flows (id, name, active, revision, renamed_from, created_ms)
        VALUES (?1, ?2, 1, 0, NULL, ?3)";
    const RENAME: &str = "UPDATE flows SET name = ?2, renamed_from = ?3 WHERE id = ?1";
    let mut known = find_flow(conn, &flow.name).await?;
    if known.is_none()
        && let Some(before) = &flow.renamed_from
        && let Some((id, revision)) = find_flow(conn, before).await?
    {
        let values = vec![
            Value::id(id),
            Value::text(flow.name.as_str()),
            Value::text(before.as_str()),
        ];
        conn.query(RENAME, values).await?;
        known = Some((id, revision));
    }
    let (id, revision) = match known {
        Some(known) => known,
        None => {
            let id = new_id(flow.at_ms);
            conn.query(
                ADD,
                vec![Value::id(id), Value::text(flow.name.as_str()), Value::int(flow.at_ms)],
            )
            .await?;
            (id, 0)
        }
    };
    let revision = flow_revision(conn, id, revision, flow).await?;
    audit(conn, &entry(flow.at_ms, &flow.who, "flow.save", &flow.name)).await?;
    Ok((id, revision))
}

async fn find_flow(conn: &mut Conn<'_>, name: &str) -> Result<Option<(Id, u32)>> {
    let rows = conn
        .query(
            "SELECT id, revision FROM flows WHERE name = ?1",
            vec![Value::text(name)],
        )
        .await?;
    rows.into_iter()
        .next()
        .map(|row| row.decode("flows", |row| Ok((row.id()?, row.small()?))))
        .transpose()
}

async fn flow_revision(conn: &mut Conn<'_>, id: Id, revision: u32, flow: &NewFlow) -> Result<u32> {
    const SAME: &str = "SELECT revision FROM flow_revisions
        WHERE flow_id = ?1 AND revision = ?2 AND source = ?3 AND examples = ?4";
    const ADD: &str = "INSERT INTO flow_revisions (flow_id, revision, source, examples, saved_ms, saved_by)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    const USE: &str = "UPDATE flows SET revision = ?2, active = 1 WHERE id = ?1";
    let (source, examples) = (flow.source.as_str(), json_text(&flow.examples));
    let same = vec![
        Value::id(id),
        Value::number(revision),
        Value::text(source),
        Value::text(examples.as_str()),
    ];
    let mut now = revision;
    if conn.query(SAME, same).await?.is_empty() {
        now += 1;
        let values = vec![
            Value::id(id),
            Value::number(now),
            Value::text(source),
            Value::text(examples),
            Value::int(flow.at_ms),
            Value::text(flow.who.as_str()),
        ];
        conn.query(ADD, values).await?;
    }
    conn.query(USE, vec![Value::id(id), Value::number(now)]).await?;
    Ok(now)
}

/// Stores a connector; the same digest is the same bytes.
pub(super) async fn connector(conn: &mut Conn<'_>, connector: &NewConnector) -> Result<()> {
    const ADD: &str = "INSERT INTO connectors (digest, name, version, bytes, manifest, added_ms, added_by)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (digest) DO NOTHING RETURNING digest";
    let values = vec![
        Value::text(connector.digest.as_str()),
        Value::text(connector.name.as_str()),
        Value::text(connector.version.as_str()),
        Value::bytes(&connector.bytes),
        Value::text(connector.manifest.as_str()),
        Value::int(connector.at_ms),
        Value::text(connector.who.as_str()),
    ];
    if conn.query(ADD, values).await?.is_empty() {
        return Ok(());
    }
    let subject = format!("{} {}", connector.name, connector.digest);
    audit(
        conn,
        &entry(connector.at_ms, &connector.who, "connector.save", &subject),
    )
    .await
}

/// Stores a connection; returns its revision.
pub(super) async fn connection(conn: &mut Conn<'_>, connection: &NewConnection) -> Result<u32> {
    const ADD: &str = "INSERT INTO connections (name, active, revision, created_ms) VALUES (?1, 1, 0, ?2)
        ON CONFLICT (name) DO NOTHING";
    const NOW: &str = "SELECT name, revision FROM connections WHERE name = ?1";
    const SAME: &str = "SELECT revision FROM connection_revisions
        WHERE name = ?1 AND revision = ?2 AND source = ?3 AND digest = ?4 AND flows = ?5";
    const REVISE: &str = "INSERT INTO connection_revisions (name, revision, source, digest, flows, saved_ms, saved_by)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    const USE: &str = "UPDATE connections SET revision = ?2, active = 1 WHERE name = ?1";
    let name = || Value::text(connection.name.as_str());
    conn.query(ADD, vec![name(), Value::int(connection.at_ms)]).await?;
    let row = conn.query(NOW, vec![name()]).await?.into_iter().next();
    let row = row.ok_or_else(|| not_found("connection", &connection.name))?;
    let mut revision: u32 = row.decode("connections", |row| {
        row.text()?;
        row.small()
    })?;
    let content = |revision: u32| {
        let flows = Value::json(&connection.flows);
        let (source, digest) = (
            Value::text(connection.source.as_str()),
            Value::text(connection.digest.as_str()),
        );
        vec![name(), Value::number(revision), source, digest, flows]
    };
    if conn.query(SAME, content(revision)).await?.is_empty() {
        revision += 1;
        let mut values = content(revision);
        values.extend([Value::int(connection.at_ms), Value::text(connection.who.as_str())]);
        conn.query(REVISE, values).await?;
    }
    conn.query(USE, vec![name(), Value::number(revision)]).await?;
    // Which bytes were approved, and by whom, is what an operator asks later.
    let entry = AuditEntry {
        why: format!("revision {revision} with the connector {}", connection.digest),
        ..entry(connection.at_ms, &connection.who, "connection.save", &connection.name)
    };
    audit(conn, &entry).await?;
    Ok(revision)
}

/// What takes no more part, by name.
#[derive(Clone, Debug)]
pub(super) struct Deactivate {
    pub name: String,
    pub who: String,
    pub at_ms: i64,
}

/// Connectors first, for connections name them; what goes, last.
pub(super) async fn installation(conn: &mut Conn<'_>, change: &InstallationChange) -> Result<()> {
    for new in &change.connectors {
        connector(conn, new).await?;
    }
    for new in &change.connections {
        connection(conn, new).await?;
    }
    for new in &change.flows {
        flow(conn, new).await?;
    }
    let gone = |name: &String| Deactivate {
        name: name.clone(),
        who: change.who.clone(),
        at_ms: change.at_ms,
    };
    for name in &change.gone_flows {
        deactivate_flow(conn, &gone(name)).await?;
    }
    for name in &change.gone_connections {
        deactivate_connection(conn, &gone(name)).await?;
    }
    Ok(())
}

pub(super) async fn deactivate_flow(conn: &mut Conn<'_>, what: &Deactivate) -> Result<()> {
    const OFF: &str = "UPDATE flows SET active = 0 WHERE name = ?1 RETURNING name";
    if conn.query(OFF, vec![Value::text(what.name.as_str())]).await?.is_empty() {
        return Err(not_found("flow", &what.name));
    }
    audit(conn, &entry(what.at_ms, &what.who, "flow.deactivate", &what.name)).await
}

pub(super) async fn deactivate_connection(conn: &mut Conn<'_>, what: &Deactivate) -> Result<()> {
    const OFF: &str = "UPDATE connections SET active = 0 WHERE name = ?1 RETURNING name";
    if conn.query(OFF, vec![Value::text(what.name.as_str())]).await?.is_empty() {
        return Err(not_found("connection", &what.name));
    }
    audit(conn, &entry(what.at_ms, &what.who, "connection.deactivate", &what.name)).await
}

fn not_found(what: &'static str, id: &str) -> LedgerError {
    LedgerError::NotFound {
        what,
        id: id.to_owned(),
    }
}

/// Stores a token's hash.
pub(super) async fn token(conn: &mut Conn<'_>, token: &NewToken) -> Result<Id> {
    const ADD: &str = "INSERT INTO tokens (id, name, hash, role, expires_ms, created_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let id = new_id(token.at_ms);
    let values = vec![
        Value::id(id),
        Value::text(token.name.as_str()),
        Value::bytes(&token.hash),
        Value::text(token.role.as_str()),
        Value::Int(token.expires_ms),
        Value::int(token.at_ms),
    ];
    conn.query(ADD, values).await?;
    Ok(id)
}

/// Forgets a token.
pub(super) async fn revoke_token(conn: &mut Conn<'_>, id: Id, what: &Deactivate) -> Result<()> {
    const DROP: &str = "DELETE FROM tokens WHERE id = ?1 RETURNING id, name";
    let row = conn.query(DROP, vec![Value::id(id)]).await?.into_iter().next();
    let row = row.ok_or_else(|| not_found("token", &what.name))?;
    let name = row.decode("tokens", |row: &mut Row| {
        row.id()?;
        row.text()
    })?;
    audit(conn, &entry(what.at_ms, &what.who, "token.revoke", &name)).await
}
