//! A PostgreSQL server for tests: the one that `DATABASE_URL` names, else a private one, made with the installed `initdb` in a
//! temporary folder and reached through a socket in it. It goes when the process that asked for it is gone.

mod barrier;
mod copies;
mod private;
mod wire;

pub use barrier::Barrier;
pub use copies::{connection, copy_of, put_back};
pub use private::Server;
pub use wire::{Fault, Wire};

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, postgres::PgConnectOptions};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Databases that were made, for their names.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Which database tests run on that ask for none: `ONCEGATE_TEST_DATABASE=postgres`, else the embedded one.
pub fn is_asked_for() -> bool {
    match std::env::var("ONCEGATE_TEST_DATABASE").as_deref() {
        Ok("postgres") => true,
        Ok("" | "sqlite") | Err(_) => false,
        Ok(other) => panic!("ONCEGATE_TEST_DATABASE is {other:?}; it can be postgres or sqlite"),
    }
}

/// The address of a new, empty database.
///
/// # Panics
/// There is no server and none can be started; the text says what to do.
pub async fn new_database() -> String {
    new_database_on(server()).await
}

/// The same on a server of the test's own.
///
/// # Panics
/// It cannot be made.
pub async fn new_database_on(server: &str) -> String {
    let name = format!(
        "oncegate_test_{}_{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let options = PgConnectOptions::from_str(server).unwrap_or_else(|error| panic!("{server}: {error}"));
    let mut connection = options
        .connect()
        .await
        .unwrap_or_else(|error| panic!("{server}: {error}"));
    let create = AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
    let created = sqlx::raw_sql(create).execute(&mut connection).await;
    created.unwrap_or_else(|error| panic!("{name} cannot be made: {error}"));
    connection
        .close()
        .await
        .unwrap_or_else(|error| panic!("{server}: {error}"));
    options.database(&name).to_url_lossy().to_string()
}

fn server() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| match std::env::var("DATABASE_URL") {
        Ok(url) if !url.is_empty() => url,
        Ok(_) | Err(_) => {
            let server = server_of_its_own();
            let address = server.address();
            // It lives as long as this process.
            std::mem::forget(server);
            address
        }
    })
}

/// A server that a test has for itself, to crash it.
///
/// # Panics
/// None can be started; the text says what to do.
pub fn server_of_its_own() -> Server {
    Server::start().unwrap_or_else(|why| {
        panic!(
            "these tests need PostgreSQL 15 or newer: {why}. Install it (Debian: apt-get install postgresql), or name a server \
             on which databases may be made in DATABASE_URL"
        )
    })
}
