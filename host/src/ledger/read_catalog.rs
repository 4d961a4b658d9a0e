//! Flows, connectors, connections and tokens as stored.

use super::Result;
use super::database::{Conn, Value};
use super::rows::Row;
use super::{CatalogRows, KnownConnector, StoredConnection, StoredConnector, StoredFlow, StoredToken};
use oncegate_domain::id::Id;

macro_rules! flows {
    ($rest:literal) => {
        concat!(
            "SELECT flows.id, flows.name, flow_revisions.revision, flows.active, flow_revisions.source,
               flow_revisions.examples
             FROM flows JOIN flow_revisions ON flow_revisions.flow_id = flows.id ",
            $rest
        )
    };
}
macro_rules! connections {
    ($rest:literal) => {
        concat!(
            "SELECT connections.name, connection_revisions.revision, connections.active, connection_revisions.source,
               connection_revisions.digest, connection_revisions.flows
             FROM connections JOIN connection_revisions ON connection_revisions.name = connections.name ",
            $rest
        )
    };
}
const TOKENS: &str = "SELECT id, name, role, expires_ms, created_ms FROM tokens ORDER BY id";
pub(super) const TOKEN: &str = "SELECT id, name, role, expires_ms, created_ms FROM tokens WHERE hash = ?1";

fn flow(row: Row) -> Result<StoredFlow> {
    row.decode("flows", |row| {
        Ok(StoredFlow {
            id: row.id()?,
            name: row.text()?,
            revision: row.small()?,
            active: row.flag()?,
            source: row.text()?,
            examples: row.json()?,
        })
    })
}

fn known_connector(row: Row) -> Result<KnownConnector> {
    row.decode("connectors", |row| {
        Ok(KnownConnector {
            digest: row.text()?,
            name: row.text()?,
            version: row.text()?,
            bytes_len: row.small()?,
            manifest: row.text()?,
        })
    })
}

fn connector_row(row: Row) -> Result<StoredConnector> {
    row.decode("connectors", |row| {
        Ok(StoredConnector {
            digest: row.text()?,
            name: row.text()?,
            version: row.text()?,
            bytes: row.bytes()?,
            manifest: row.text()?,
        })
    })
}

fn connection(row: Row) -> Result<StoredConnection> {
    row.decode("connections", |row| {
        Ok(StoredConnection {
            name: row.text()?,
            revision: row.small()?,
            active: row.flag()?,
            source: row.text()?,
            digest: row.text()?,
            flows: row.json()?,
        })
    })
}

fn token_row(row: Row) -> Result<StoredToken> {
    row.decode("tokens", |row| {
        Ok(StoredToken {
            id: row.id()?,
            name: row.text()?,
            role: row.text()?,
            expires_ms: row.opt_int()?,
            created_ms: row.int()?,
        })
    })
}

/// Everything at its current revision.
pub(super) async fn all(conn: &mut Conn<'_>) -> Result<CatalogRows> {
    const FLOWS: &str = flows!("AND flow_revisions.revision = flows.revision ORDER BY flows.name");
    const CONNECTORS: &str = "SELECT digest, name, version, LENGTH(bytes), manifest FROM connectors
        ORDER BY name, added_ms, digest";
    const CONNECTIONS: &str =
        connections!("AND connection_revisions.revision = connections.revision ORDER BY connections.name");
    Ok(CatalogRows {
        flows: conn
            .query(FLOWS, Vec::new())
            .await?
            .into_iter()
            .map(flow)
            .collect::<Result<_>>()?,
        connectors: conn
            .query(CONNECTORS, Vec::new())
            .await?
            .into_iter()
            .map(known_connector)
            .collect::<Result<_>>()?,
        connections: conn
            .query(CONNECTIONS, Vec::new())
            .await?
            .into_iter()
            .map(connection)
            .collect::<Result<_>>()?,
    })
}

/// One revision of a flow.
pub(super) async fn flow_revision(conn: &mut Conn<'_>, id: Id, revision: u32) -> Result<Option<StoredFlow>> {
    const ONE: &str = flows!("WHERE flows.id = ?1 AND flow_revisions.revision = ?2");
    conn.query(ONE, vec![Value::id(id), Value::number(revision)])
        .await?
        .pop()
        .map(flow)
        .transpose()
}

/// One connector.
pub(super) async fn connector(conn: &mut Conn<'_>, digest: &str) -> Result<Option<StoredConnector>> {
    const ONE: &str = "SELECT digest, name, version, bytes, manifest FROM connectors WHERE digest = ?1";
    conn.query(ONE, vec![Value::text(digest)])
        .await?
        .pop()
        .map(connector_row)
        .transpose()
}

/// One revision of a connection.
pub(super) async fn connection_revision(
    conn: &mut Conn<'_>,
    name: &str,
    revision: u32,
) -> Result<Option<StoredConnection>> {
    const ONE: &str = connections!("WHERE connections.name = ?1 AND connection_revisions.revision = ?2");
    conn.query(ONE, vec![Value::text(name), Value::number(revision)])
        .await?
        .pop()
        .map(connection)
        .transpose()
}

/// A token by its hash.
pub(super) async fn token(conn: &mut Conn<'_>, hash: &[u8; 32]) -> Result<Option<StoredToken>> {
    conn.query(TOKEN, vec![Value::bytes(hash)])
        .await?
        .pop()
        .map(token_row)
        .transpose()
}

/// All tokens.
pub(super) async fn tokens(conn: &mut Conn<'_>) -> Result<Vec<StoredToken>> {
    conn.query(TOKENS, Vec::new())
        .await?
        .into_iter()
        .map(token_row)
        .collect()
}
