//! What an operator should know of a host before the first event finds out: said in the log when it comes up.

use super::Host;
use crate::flow::{HookLimit, Verify};
use crate::triggers::secret_errors;
use futures::future::join_all;
use std::net::SocketAddr;

impl Host {
    /// One sentence for each thing that is likely not meant so; `address` is where it listens.
    pub async fn notices(&self, address: SocketAddr) -> Vec<String> {
        let snapshot = self.catalog.snapshot();
        let broken = snapshot.broken().iter().map(|part| format!("cannot be used: {part}"));
        let mut notices: Vec<String> = broken.collect();
        notices.extend(self.ledger.memory().notice());
        notices.extend(self.executor.unusable().await);
        let hooks = || {
            snapshot
                .flows()
                .filter_map(|active| Some((active, active.flow.webhook()?)))
        };
        let unusable = join_all(hooks().map(|(_, hook)| secret_errors(&hook.verify, &self.secrets))).await;
        for ((active, hook), unusable) in hooks().zip(unusable) {
            let unusable = unusable.into_iter();
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
