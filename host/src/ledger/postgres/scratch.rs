//! Databases for a while, beside the one whose address was given: whoever measures on a server leaves nothing behind.

use super::{Sql, Value, db_error, query};
use crate::ledger::rows::Row;
use crate::ledger::{Database, LedgerError, Result};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};
use std::str::FromStr;

/// New databases on somebody's server, all under names that begin alike.
#[derive(Clone, Debug)]
pub struct Scratch {
    options: PgConnectOptions,
    prefix: String,
}

impl Scratch {
    /// `name` tells these databases from those of others; letters, digits and `_` of it count. `None`: the ledger is to be in the
    /// data directory, where a folder for a while is all that is needed.
    ///
    /// # Errors
    /// The address is not understood.
    pub fn on(database: &Database, name: &str) -> Result<Option<Self>> {
        let Some(address) = database.address() else {
            return Ok(None);
        };
        let options = PgConnectOptions::from_str(address).map_err(|error| refused(error.to_string()))?;
        let name = name.to_lowercase();
        let plain = name.chars().filter(|letter| letter.is_ascii_alphanumeric());
        Ok(Some(Self {
            options: options.application_name("oncegate").disable_statement_logging(),
            prefix: format!("oncegate_{}_", plain.collect::<String>()),
        }))
    }

    /// A new, empty one.
    ///
    /// # Errors
    /// The server cannot be reached, or its user may not make databases.
    pub async fn make(&self, name: &str) -> Result<Database> {
        let name = format!("{}{name}", self.prefix);
        let text = format!("CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'");
        run(&mut self.connect().await?, text).await?;
        Ok(Database::Postgres(
            self.options.clone().database(&name).to_url_lossy().to_string(),
        ))
    }

    /// Drops all of them, whoever still uses them.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn drop_all(&self) -> Result<()> {
        const FIND: &str = "SELECT datname FROM pg_database WHERE starts_with(datname, ?1)";
        let mut connection = self.connect().await?;
        let prefix = vec![Value::text(self.prefix.as_str())];
        for row in query(&mut connection, &Sql::Fixed(FIND), prefix).await? {
            let name = row.decode("pg_database", Row::text)?;
            run(&mut connection, format!("DROP DATABASE \"{name}\" WITH (FORCE)")).await?;
        }
        Ok(())
    }

    async fn connect(&self) -> Result<PgConnection> {
        self.options.connect().await.map_err(|error| refused(error.to_string()))
    }
}

async fn run(connection: &mut PgConnection, text: String) -> Result<()> {
    let done = sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await;
    done.map(drop).map_err(|error| refused(db_error(error).to_string()))
}

pub(super) fn refused(why: String) -> LedgerError {
    LedgerError::Open {
        place: "a database for a while".to_owned(),
        why,
    }
}
