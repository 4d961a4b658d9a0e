//! What an operator should know of a host before the first event finds out: said in the log when it comes up.

use super::Host;
use crate::flow::{HookLimit, Verify};
use crate::triggers::secret_errors;
use std::net::SocketAddr;

impl Host {
    /// One sentence for each thing that is likely not meant so; `address` is where it listens.
    pub fn notices(&self, address: SocketAddr) -> Vec<String> {
        let snapshot = self.catalog.snapshot();
        let broken = snapshot.broken().iter().map(|part| format!("cannot be used: {part}"));
        let mut notices: Vec<String> = broken.collect();
        notices.extend(snapshot.missing_secrets(&self.secrets_dir));
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
