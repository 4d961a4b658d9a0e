//! The one connection that writes. When it is lost, another is made; and a COMMIT whose answer was lost with it is asked for.

use super::identity;
use super::server::{self, Session};
use super::{Columns, Sql, Value, db_error, query, translated};
use crate::clock;
use crate::ledger::database::{DbError, Expected};
use crate::ledger::lease::LeaseTerm;
use crate::ledger::rows::Row;
use crate::ledger::vouch::Told;
use crate::ledger::witness::Server;
use oncegate_domain::id::Id;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// How long one try to connect may take.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Pauses between tries, from the first to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LONGEST: Duration = Duration::from_secs(2);
/// A server that takes longer for one statement is as good as away.
const STATEMENT_MAX: Duration = Duration::from_secs(15);
/// Tables grow faster than the server looks at them. From what it believes of one that was empty a moment ago it would read the whole
/// of it for each group, so rows are found by their keys, wherever there is a key, whatever it believes.
const PLANS: [(&str, &str); 3] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
];
/// For how long, at most, a session may stand still between two statements of a transaction, and never longer than a lease: what a host
/// that is stopped there has locked, its own epoch first, would be kept from those who take its work over.
const IDLE_WITHIN_MS_MAX: u64 = 10_000;
/// How often the locks are asked for at a start: the process before may just be closing.
const LOCK_TRIES_MAX: u32 = 20;

/// See the module's words.
pub(in crate::ledger) struct WriterConnection {
    options: PgConnectOptions,
    host: Id,
    /// On which connections are made: the one of the thread that uses them.
    runtime: Handle,
    /// `None`: lost.
    connection: Option<PgConnection>,
    /// The session of the connection, or of the one before.
    session: Option<Session>,
    server: Server,
    /// What another connection must find; `None`: not known yet.
    expected: Option<Expected>,
    /// Whether the session knows the statement by which a transaction says of itself what it is.
    is_prepared: bool,
    /// Whether a transaction is under way.
    is_within: bool,
    pause: Duration,
    /// No try to connect before this.
    not_before_ns: u64,
    is_away: Arc<AtomicBool>,
    /// Whether each COMMIT waits for a second server, as of the last connection.
    has_standby: bool,
}

impl WriterConnection {
    pub(super) async fn open(
        options: PgConnectOptions,
        host: Id,
        lease: LeaseTerm,
        runtime: &Handle,
    ) -> Result<Self, String> {
        let idle_ms = lease.ms.min(IDLE_WITHIN_MS_MAX);
        let idle = ("idle_in_transaction_session_timeout", format!("{idle_ms}ms"));
        let mut writer = WriterConnection {
            options: options.options(PLANS).options([idle]),
            host,
            runtime: runtime.clone(),
            connection: None,
            session: None,
            server: Server::default(),
            expected: None,
            is_prepared: false,
            is_within: false,
            pause: PAUSE_FIRST,
            not_before_ns: 0,
            is_away: Arc::default(),
            // Until it is known, so that its lack is told.
            has_standby: true,
        };
        writer.connection().await.map_err(|error| error.to_string())?;
        Ok(writer)
    }

    /// Whether the database is away, as of the last try to write.
    pub(in crate::ledger) fn is_away(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_away)
    }

    pub(super) fn has_standby(&self) -> bool {
        self.has_standby
    }

    /// From now on a new connection must find this there.
    pub(in crate::ledger) fn expect(&mut self, expected: Expected) {
        self.expected = Some(expected);
    }

    /// Who the server is, as of the last connection.
    pub(in crate::ledger) fn server(&self) -> Server {
        self.server.clone()
    }

    /// Whether the database remembers what this process has committed; who the server is.
    async fn remembers(&self, connection: &mut PgConnection) -> Result<Server, DbError> {
        let server = identity::server(connection).await?;
        if let Some(expected) = &self.expected {
            identity::check(connection, expected).await?;
            if server.is_other_than(&self.server) {
                tracing::info!(
                    ?server,
                    "another server holds the database, and nothing that this host did is missing"
                );
            }
        }
        Ok(server)
    }

    async fn connect(&mut self) -> Result<(PgConnection, Session, Server), DbError> {
        let connecting = async {
            let options = self.options.clone();
            let made = self.runtime.spawn(async move { options.connect().await });
            let made = made.await.map_err(|error| DbError::Other(error.to_string()))?;
            let mut connection = made.map_err(db_error)?;
            let has_standby = server::check(&mut connection).await?;
            if !has_standby && std::mem::replace(&mut self.has_standby, has_standby) {
                tracing::warn!(
                    "the database has no synchronous standby: a failover to another server can lose work that was acknowledged"
                );
            }
            self.has_standby = has_standby;
            if let Some(before) = &self.session {
                // The server may not have noticed yet that it is gone, and would keep its lock and its transaction for it.
                before.end(&mut connection).await?;
            }
            let mut tries = 0;
            loop {
                match server::lock(&mut connection, self.host).await? {
                    Ok(()) => {
                        let server = self.remembers(&mut connection).await?;
                        let session = Session::of(&mut connection).await?;
                        return Ok((connection, session, server));
                    }
                    Err(taken) if tries >= LOCK_TRIES_MAX => return Err(DbError::Unwritable(taken.why())),
                    Err(_) => tries += 1,
                }
                tokio::time::sleep(PAUSE_FIRST).await;
            }
        };
        match tokio::time::timeout(CONNECT_MAX, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(DbError::Lost("the database does not answer".into())),
        }
    }

    /// The connection, made anew where it was lost. While tries fail they are spaced out, and in between it is simply away.
    async fn connection(&mut self) -> Result<&mut PgConnection, DbError> {
        if self.connection.is_none() {
            if clock::monotonic_ns() < self.not_before_ns {
                return Err(DbError::Lost("the database cannot be reached".into()));
            }
            match self.connect().await {
                Ok((connection, session, server)) => {
                    self.server = server;
                    if self.session.replace(session).is_some() {
                        tracing::info!("the database is there again");
                    }
                    self.connection = Some(connection);
                    self.is_prepared = false;
                    self.pause = PAUSE_FIRST;
                    self.is_away.store(false, Ordering::Relaxed);
                }
                Err(error) => {
                    let pause_ns = u64::try_from(self.pause.as_nanos()).unwrap_or(u64::MAX);
                    self.not_before_ns = clock::monotonic_ns().saturating_add(pause_ns);
                    self.pause = (self.pause * 2).min(PAUSE_LONGEST);
                    return Err(error);
                }
            }
        }
        self.connection
            .as_mut()
            .ok_or_else(|| DbError::Lost("the database cannot be reached".into()))
    }

    /// How soon to look for a lost database; `None`: it is there, as far as is known.
    pub(in crate::ledger) fn lost(&self) -> Option<Duration> {
        self.connection.is_none().then_some(self.pause)
    }

    /// Looks for it once. What went wrong shows when somebody wants to write, unless nobody may any more.
    ///
    /// # Errors
    /// What was found is not the ledger of this process.
    pub(in crate::ledger) async fn look_for(&mut self) -> Result<(), String> {
        match self.connection().await {
            Err(DbError::Io(why)) => Err(why),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Keeps in mind that a lost connection is lost.
    fn noted<T>(&mut self, done: Result<T, DbError>) -> Result<T, DbError> {
        if let Err(DbError::Lost(why)) = &done
            && self.connection.take().is_some()
        {
            self.is_away.store(true, Ordering::Relaxed);
            tracing::warn!(%why, "the connection to the database is lost: nothing is stored until it is back");
        }
        done
    }

    /// `told`: what the transaction says of itself, by which it can be known later whether it is there. Both in one journey.
    pub(in crate::ledger) async fn begin(&mut self, told: Option<Told>) -> Result<(), DbError> {
        let text = match told {
            Some(told) => {
                let [position, at_ms, epoch] = told.values();
                format!("BEGIN; EXECUTE told ({position}, {at_ms}, {epoch})")
            }
            None => "BEGIN".to_owned(),
        };
        self.connection().await?;
        if told.is_some() && !self.is_prepared {
            self.prepare().await?;
        }
        let connection = self.connection().await?;
        let begun = in_time(sqlx::raw_sql(AssertSqlSafe(text)).execute(connection)).await;
        self.is_within = true;
        if let Err(error) = self.noted(begun) {
            self.rollback().await?;
            return Err(error);
        }
        Ok(())
    }

    /// What each transaction says of itself takes neither a journey nor a plan then.
    async fn prepare(&mut self) -> Result<(), DbError> {
        let told = translated(Told::STATEMENT);
        let prepare = format!("PREPARE told (bigint, bigint, bigint) AS {told}");
        let connection = self.connection().await?;
        let prepared = in_time(sqlx::raw_sql(AssertSqlSafe(prepare)).execute(connection)).await;
        self.noted(prepared)?;
        self.is_prepared = true;
        Ok(())
    }

    /// `told`: what it began with.
    pub(in crate::ledger) async fn commit(&mut self, told: Option<Told>) -> Result<(), DbError> {
        // However that ends, nothing of it is left to undo.
        self.is_within = false;
        let committed = self.run("COMMIT").await;
        match (self.noted(committed), told) {
            (Err(DbError::Lost(_)), Some(told)) => self.fate(told).await,
            (committed, _) => committed,
        }
    }

    /// What became of a COMMIT whose answer was lost. Nobody is told anything before the database has said it. It is asked for
    /// what only that transaction can have said: the number of one that a server lost in a crash is given again. Whoever
    /// has the locks of this host knows that the session before, and what it was about to commit, has come to its end.
    async fn fate(&mut self, told: Told) -> Result<(), DbError> {
        const FATE: &str = "SELECT COALESCE(MAX(position), 0) FROM hosts WHERE epoch = ?1 AND started_ms = ?2";
        loop {
            let asked = match self.connection().await {
                Ok(connection) => {
                    let start = vec![Value::int(told.start.epoch), Value::int(told.start.started_ms)];
                    query(connection, &Sql::Fixed(FATE), start).await
                }
                Err(error) => Err(error),
            };
            match self.noted(asked) {
                Ok(rows) => {
                    let position = rows.into_iter().next().map(|row| row.decode("hosts", Row::int));
                    return match position {
                        Some(Ok(position)) if position >= told.position => Ok(()),
                        Some(Ok(_)) => Err(DbError::Lost("the database went away before the COMMIT".into())),
                        Some(Err(_)) | None => Err(DbError::Io(
                            "a COMMIT was not answered, and the database does not tell what became of it".into(),
                        )),
                    };
                }
                // What was found is not the ledger of this process.
                Err(error @ DbError::Io(_)) => return Err(error),
                Err(_) => tokio::time::sleep(self.pause).await,
            }
        }
    }

    /// A lost session is rolled back by the server.
    pub(in crate::ledger) async fn rollback(&mut self) -> Result<(), DbError> {
        if !std::mem::take(&mut self.is_within) || self.connection.is_none() {
            return Ok(());
        }
        let done = self.run("ROLLBACK").await;
        match self.noted(done) {
            Err(DbError::Lost(_)) => Ok(()),
            done => done,
        }
    }

    pub(in crate::ledger) async fn close(self) -> Result<(), DbError> {
        match self.connection {
            Some(connection) => connection.close().await.map_err(db_error),
            None => Ok(()),
        }
    }

    async fn run(&mut self, text: &'static str) -> Result<(), DbError> {
        let connection = self.connection.as_mut().ok_or_else(lost)?;
        sqlx::raw_sql(text)
            .execute(connection)
            .await
            .map(drop)
            .map_err(db_error)
    }

    pub(in crate::ledger) async fn script(&mut self, text: &'static str) -> Result<(), DbError> {
        let done = self.run(text).await;
        self.noted(done)
    }

    pub(in crate::ledger) async fn query(&mut self, sql: &Sql, values: Vec<Value<'_>>) -> Result<Vec<Row>, DbError> {
        let connection = self.connection.as_mut().ok_or_else(lost)?;
        let done = tokio::time::timeout(STATEMENT_MAX, query(connection, sql, values)).await;
        self.noted(done.unwrap_or_else(|_| Err(no_answer())))
    }

    /// Runs a statement over many rows.
    pub(in crate::ledger) async fn query_all(&mut self, text: &str, columns: Columns<'_>) -> Result<Vec<Row>, DbError> {
        let connection = self.connection.as_mut().ok_or_else(lost)?;
        let query = sqlx::query_with(AssertSqlSafe(text.to_owned()), columns.arguments()?);
        let rows = in_time(query.fetch_all(connection)).await;
        let rows = rows.and_then(|rows| rows.into_iter().map(super::row).collect());
        self.noted(rows)
    }
}

/// The transaction went with the connection: nothing more is written in it.
fn lost() -> DbError {
    DbError::Lost("the connection to the database is lost".into())
}

async fn in_time<T>(asked: impl Future<Output = sqlx::Result<T>>) -> Result<T, DbError> {
    match tokio::time::timeout(STATEMENT_MAX, asked).await {
        Ok(answered) => answered.map_err(db_error),
        Err(_) => Err(no_answer()),
    }
}

fn no_answer() -> DbError {
    DbError::Lost(format!(
        "the database did not answer within {} s",
        STATEMENT_MAX.as_secs()
    ))
}
