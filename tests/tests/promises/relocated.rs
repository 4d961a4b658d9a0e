//! An installation moves to PostgreSQL: stopped, moved by command, started there. Nothing is done twice and nothing is lost.

use crate::{CRM, HOST};
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Service, TestHost, orders, run_of};
use serde_json::json;
use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Output {
    let mut command = Command::new(HOST);
    command.args(arguments);
    tokio::task::block_in_place(|| command.output().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_in_before_the_move_is_known_and_goes_on_after_it() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let mut host = TestHost::start_embedded(&folder).await;
    let done = host.order("orders", "A-1").await;
    host.settle(done).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    let in_doubt = host.order("orders", "A-2").await;
    host.until(in_doubt, |view| view.stands("crm") == "retrying").await;

    let from = format!("sqlite:{}", host.data().display());
    let to = oncegate_test_database::new_database().await;
    let at_work = command(&["ledger", "move", "--from", &from, "--to", &to]);
    let said = String::from_utf8(at_work.stderr).unwrap();
    assert!(
        !at_work.status.success() && said.contains("stop that host first"),
        "{said}"
    );
    host.stop().await;
    let moved = command(&["ledger", "move", "--from", &from, "--to", &to]);
    let said = String::from_utf8(moved.stdout).unwrap();
    assert!(moved.status.success(), "{said}");
    assert!(said.contains("The source takes no host any more"), "{said}");

    // Whoever forgets to say where it is now is told.
    let refused = command(&[
        "--data",
        host.data().to_str().unwrap(),
        "serve",
        "--listen",
        "127.0.0.1:0",
    ]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && said.contains("it was moved to the database"),
        "{said}"
    );

    host.come_up_on(&to).await;
    let again = host.deliver("orders", r#"{"order":{"id":"A-1"}}"#).await;
    assert_eq!(
        again.json(),
        json!({ "run": done.to_string(), "state": "completed", "duplicate": true })
    );
    let view = host.settle(in_doubt).await;
    assert_eq!(view.stands("crm"), "completed");
    let new = host.order("orders", "A-3").await;
    host.settle(new).await;
    assert_eq!(run_of(&host.deliver("orders", r#"{"order":{"id":"A-3"}}"#).await), new);
    assert_eq!(destination.effects_total(), 3);
    assert_eq!(destination.duplicates(), []);
}
