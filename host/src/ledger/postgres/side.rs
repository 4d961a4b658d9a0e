//! A few connections beside the writer's and the readers', for what hosts tell each other; one of them listens.

use super::{Sql, Value, db_error, query};
use crate::ledger::database::DbError;
use crate::ledger::news::News;
use crate::ledger::rows::Row;
use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// One of them listens.
const CONNECTIONS_MAX: u32 = 3;
/// How long a word waits for a connection before it is given up.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A server that takes longer for one of these statements is as good as away.
const STATEMENT_MAX: Duration = Duration::from_secs(5);
/// How often somebody looks whether a notification was missed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The channel of `NOTIFY`. Each database has its own.
const CHANNEL: &str = "oncegate";

/// See the module's words. Cheap to clone.
#[derive(Clone)]
pub(in crate::ledger) struct Side {
    pool: PgPool,
    has_standby: Arc<AtomicBool>,
}

/// What the counters of news said at a look: whoever missed a notification finds another number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counted {
    catalog: i64,
    gates: i64,
}

impl Side {
    pub(super) fn of(options: PgConnectOptions, has_standby: bool) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(CONNECT_MAX);
        // Pace is not worth a flush: a server that crashes forgets the last moments of it, and they are found out anew.
        let options = options.options([("synchronous_commit", "off")]);
        Self {
            pool: pool.connect_lazy_with(options),
            has_standby: Arc::new(AtomicBool::new(has_standby)),
        }
    }

    pub(in crate::ledger) fn has_standby(&self) -> bool {
        self.has_standby.load(Ordering::Relaxed)
    }

    /// Runs a statement, which is a transaction of its own.
    pub(in crate::ledger) async fn query(
        &self,
        text: &'static str,
        values: Vec<Value<'_>>,
    ) -> Result<Vec<Row>, DbError> {
        let mut connection = Box::pin(self.pool.acquire()).await.map_err(db_error)?;
        let sql = Sql::Fixed(text);
        let asked = query(&mut connection, &sql, values);
        match tokio::time::timeout(STATEMENT_MAX, asked).await {
            Ok(rows) => rows,
            Err(_) => {
                // Nobody knows what is still to come on it.
                drop(connection.detach());
                Err(DbError::Lost("the database does not answer".into()))
            }
        }
    }

    pub(in crate::ledger) async fn close(&self) {
        self.pool.close().await;
    }

    /// Tells what it hears until nobody wants to know or the ledger is closed; a lost connection is made anew.
    pub(in crate::ledger) async fn listen(self, tell: mpsc::Sender<News>) {
        let mut seen = None;
        while !tell.is_closed() && !self.pool.is_closed() {
            if let Err(why) = self.hear(&tell, &mut seen).await {
                tracing::debug!(%why, "news of other hosts are not heard for a moment");
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = tell.closed() => {}
            }
        }
    }

    async fn hear(&self, tell: &mpsc::Sender<News>, seen: &mut Option<Counted>) -> Result<(), DbError> {
        let mut listener = Box::pin(PgListener::connect_with(&self.pool)).await.map_err(db_error)?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await.map_err(db_error)?;
        loop {
            // Also right after the connection was made: what was told before that is not told again.
            let look = tokio::time::timeout(STATEMENT_MAX, self.look(&mut listener));
            let counted = look.await.unwrap_or_else(|_| Err(DbError::Lost("no answer".into())))?;
            let before = seen.replace(counted);
            let missed = [
                (
                    News::Catalog,
                    before.is_none_or(|before| before.catalog != counted.catalog),
                ),
                (News::Gates, before.is_none_or(|before| before.gates != counted.gates)),
            ];
            for (news, _) in missed.into_iter().filter(|(_, is_missed)| *is_missed) {
                // Nobody listens any more: the end of the loop finds that as well.
                let _ = tell.send(news).await;
            }
            let look_at = tokio::time::Instant::now() + LOOK_EVERY;
            // Whoever waits for a message can be given up at any time: what came so far stays in the connection's buffer.
            while let Ok(heard) = tokio::time::timeout_at(look_at, listener.try_recv()).await {
                let Some(heard) = heard.map_err(db_error)? else {
                    return Err(DbError::Lost("the connection is gone".into()));
                };
                if let Some(news) = News::understood(heard.payload()) {
                    let _ = tell.send(news).await;
                }
            }
            if tell.is_closed() {
                return Ok(());
            }
        }
    }

    async fn look(&self, listener: &mut PgListener) -> Result<Counted, DbError> {
        const LOOK: &str = "SELECT catalog, pauses + (SELECT COALESCE(SUM(version), 0)::bigint FROM gates),
            current_setting('synchronous_standby_names') FROM news";
        let row = sqlx::query(LOOK).fetch_one(listener).await.map_err(db_error)?;
        let (catalog, gates) = (row.try_get(0).map_err(db_error)?, row.try_get(1).map_err(db_error)?);
        let standbys: String = row.try_get(2).map_err(db_error)?;
        self.has_standby.store(!standbys.trim().is_empty(), Ordering::Relaxed);
        Ok(Counted { catalog, gates })
    }
}
