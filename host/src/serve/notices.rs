//! What an operator should know of a host before the first event finds out: said in the log when it comes up.

use super::Host;
use crate::catalog::Connection;
use crate::credentials;
use crate::flow::{HookLimit, Verify};
use crate::triggers::secret_errors;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

impl Host {
    /// One sentence for each thing that is likely not meant so; `address` is where it listens.
    pub fn notices(&self, address: SocketAddr) -> Vec<String> {
        let snapshot = self.catalog.snapshot();
        let broken = snapshot.broken().iter().map(|part| format!("cannot be used: {part}"));
        let mut notices: Vec<String> = broken.collect();
        for connection in snapshot.connections() {
            notices.extend(missing_secrets(connection, &self.secrets_dir));
        }
        for active in snapshot.flows() {
            let Some(hook) = active.flow.webhook() else { continue };
            let unusable = secret_errors(&hook.verify, &self.secrets_dir).into_iter();
            notices
                .extend(unusable.map(|error| format!("/hooks/{} cannot check deliveries with it: {error}", hook.path)));
            if hook.verify == Verify::None && hook.limit == HookLimit::default() {
                notices.push(format!(
                    "anybody may call /hooks/{} of the flow {:?}, as often as they like; set limit = {{ per_source = \
                     \"20/m\" }}",
                    hook.path,
                    active.flow.name()
                ));
            }
        }
        if !address.ip().is_loopback() {
            notices.push(format!(
                "{address} is reached from other machines, and nothing is encrypted on it; put a proxy with TLS before \
                 it"
            ));
        }
        notices
    }
}

/// The secrets of a connection that its calls would look for in vain. Their values are not kept.
fn missing_secrets(connection: &Connection, secrets_dir: &Path) -> BTreeSet<String> {
    let name = &connection.spec.name;
    let sources = connection.actions.values().flat_map(|action| action.secrets.values());
    sources
        .filter_map(|source| credentials::resolve(source, secrets_dir).err())
        .map(|error| format!("the connection {name:?} cannot be used yet: {error}"))
        .collect()
}
