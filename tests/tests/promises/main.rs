//! The promises, each tested through a whole host and counted at the destination.
//!
//! What is promised elsewhere: a failed TLS handshake and an alert after the request (C6 g) in the egress's own tests,
//! for there the certificates are; all sequences of attempts (C16) in the domain's property tests; hostile guests in all
//! their ways in the runtime's.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

mod accepting;
mod applying;
mod asking_people;
mod bad_events;
mod bad_files;
mod chaos;
mod closed_doors;
mod closed_world;
mod connectors_that_lie;
mod credentials;
mod deciding_at_once;
mod digits;
mod doubt_sticks;
mod drilled;
mod durable_points;
mod erased;
mod forgotten;
mod hooks;
mod hostile_neighbours;
mod killed;
mod killed_in_each_state;
mod large_backlog;
mod late_commits;
mod long_outages;
mod lost_answers;
mod many_hosts;
mod measured;
mod moved;
mod natural;
mod overloaded;
mod packed_bodies;
mod pausing;
mod providers;
mod refusals;
mod refused_credentials;
mod relocated;
mod reused_connections;
mod scarce_room;
mod secrets_stay;
mod signed_by_hand;
mod signed_hooks;
mod slow_destinations;
mod slow_strangers;
mod stopped;
mod stopping;
mod told_to_wait;
mod tried_by_hand;
mod two_hosts;
mod unclear_ends;
mod upgrades;

/// The host as a process of its own.
const HOST: &str = env!("CARGO_BIN_EXE_host-under-test");

/// A contact in the CRM, which honours keys and can be asked.
const CRM: &str = r#"[[steps]]
id = "crm"
use = "crm.send"
[steps.with]
path = "/contacts"
body = { email = "{{ body.order.id }}@example.com" }
"#;

/// A message by the mailer, which honours keys and cannot be asked.
const MAIL: &str = r#"[[steps]]
id = "mail"
use = "mail.send"
[steps.with]
path = "/messages"
body = { to = "{{ body.order.id }}@example.com", subject = "Thanks" }
"#;

/// A message in the chat, which offers neither.
const CHAT: &str = r#"[[steps]]
id = "chat"
use = "chat.send"
[steps.with]
path = "/messages"
body = { text = "Order {{ body.order.id }}" }
"#;

/// Whatever the connection's settings tell the puppet.
const PUPPET: &str = "[[steps]]\nid = \"puppet\"\nuse = \"puppet.do\"\n";
