//! Connections that only read.

use super::{Sql, Value, db_error, query};
use crate::ledger::database::DbError;
use crate::ledger::rows::Row;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Postgres, Transaction};
use std::time::Duration;

const READERS_MAX: u32 = 4;
/// How long a read waits for a connection before it says that the database is away.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// Connections that only read, each in its own snapshot.
#[derive(Clone, Debug)]
pub(in crate::ledger) struct Readers(PgPool);

/// A consistent view: all its statements see one commit.
pub(in crate::ledger) struct Snapshot(Transaction<'static, Postgres>);

impl Readers {
    pub(super) fn of(options: PgConnectOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(READERS_MAX)
            .acquire_timeout(CONNECT_MAX);
        Readers(pool.connect_lazy_with(options))
    }

    pub(in crate::ledger) async fn snapshot(&self) -> Result<Snapshot, DbError> {
        let begun = self.0.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        // It holds all that it takes to connect, and would make every future large that may once read.
        Box::pin(begun).await.map(Snapshot).map_err(db_error)
    }

    pub(in crate::ledger) async fn close(&self) {
        self.0.close().await;
    }
}

impl Snapshot {
    pub(in crate::ledger) async fn query(&mut self, sql: &Sql, values: Vec<Value<'_>>) -> Result<Vec<Row>, DbError> {
        query(&mut self.0, sql, values).await
    }
}
