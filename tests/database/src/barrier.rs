//! A barrier before the COMMIT of whoever writes a row of a table: how a test stops a host right after something has become
//! durable, and before the host knows.

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use std::str::FromStr;
use std::time::Duration;

/// The advisory lock that is the barrier.
const LOCK: i64 = 0x0062_6172_7269_6572;

/// See the module's words.
pub struct Barrier(PgConnection);

impl Barrier {
    /// Puts one up before the commits of new rows of `table` in the database that `url` names.
    ///
    /// # Panics
    /// The database cannot be reached, or there is no such table.
    pub async fn before_commits_to(url: &str, table: &str) -> Barrier {
        let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let connection = options.connect().await;
        let mut barrier = Barrier(connection.unwrap_or_else(|error| panic!("{url}: {error}")));
        barrier.run(&format!("SELECT pg_advisory_lock({LOCK})")).await;
        barrier
            .run(&format!(
                "CREATE FUNCTION barrier() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                   PERFORM pg_advisory_xact_lock_shared({LOCK}); RETURN NULL; END $$;
                 CREATE CONSTRAINT TRIGGER barrier AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
                   FOR EACH ROW EXECUTE FUNCTION barrier()"
            ))
            .await;
        barrier
    }

    /// Waits until a commit stands before it.
    ///
    /// # Panics
    /// None comes.
    pub async fn until_somebody_waits(&mut self) {
        const WAITING: &str = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        for _ in 0..600 {
            let waiting: sqlx::Result<i64> = sqlx::query_scalar(WAITING).fetch_one(&mut self.0).await;
            if waiting.unwrap_or_else(|error| panic!("{WAITING}: {error}")) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nobody comes to the barrier");
    }

    /// Opens it, for good.
    ///
    /// # Panics
    /// The database is gone.
    pub async fn open(mut self) {
        self.run(&format!("SELECT pg_advisory_unlock({LOCK})")).await;
        let closed = self.0.close().await;
        closed.unwrap_or_else(|error| panic!("the barrier's connection: {error}"));
    }

    async fn run(&mut self, text: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut self.0).await;
        done.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}
