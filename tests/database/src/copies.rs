//! Copies of a database, and what puts one back: how tests set a ledger back to an older state.

use super::{COUNT, server};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;
use std::sync::atomic::Ordering;

/// A connection to the database that `url` names.
///
/// # Panics
/// There is none.
pub async fn connection(url: &str) -> PgConnection {
    let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    options.connect().await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// The address of a copy of a database as it is now. Whoever is connected to it is thrown out.
///
/// # Panics
/// It cannot be copied.
pub async fn copy_of(url: &str) -> String {
    let name = name_of(url);
    let copy = format!("{name}_copy_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    run(&[throw_out(&name), format!("CREATE DATABASE {copy} TEMPLATE {name}")]).await;
    let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    options.database(&copy).to_url_lossy().to_string()
}

/// Puts a copy in the place of a database. Whoever is connected to that is thrown out.
///
/// # Panics
/// It cannot be done.
pub async fn put_back(copy: &str, url: &str) {
    let (copy, name) = (name_of(copy), name_of(url));
    run(&[
        format!("DROP DATABASE {name} WITH (FORCE)"),
        throw_out(&copy),
        format!("ALTER DATABASE {copy} RENAME TO {name}"),
    ])
    .await;
}

fn name_of(url: &str) -> String {
    let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    options.get_database().unwrap_or_default().to_owned()
}

fn throw_out(name: &str) -> String {
    format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
}

async fn run(statements: &[String]) {
    let mut connection = connection(server()).await;
    for statement in statements {
        let done = sqlx::raw_sql(AssertSqlSafe(statement.clone()))
            .execute(&mut connection)
            .await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    connection.close().await.unwrap_or_else(|error| panic!("{error}"));
}
