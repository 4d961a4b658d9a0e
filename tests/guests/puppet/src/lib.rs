//! The hostile guest: it does what its input tells it, so that no test needs a guest of its own. `README.md` lists what it
//! can be told. It must not grow a will of its own: everything it does stands in the input.

mod harm;
mod script;
mod wasi;
#[cfg(target_family = "wasm")]
mod wasi_bindings;

use oncegate_sdk::raw::{RawCall, RawConnector};
use oncegate_sdk::{Doubt, Failure, Finding};

/// The puppet. It uses the raw side of the SDK: the typed one would not let it lie.
#[derive(Debug)]
pub struct Puppet;

impl RawConnector for Puppet {
    fn perform(call: RawCall) -> Result<String, Failure> {
        script::perform(&call)
    }

    fn lookup(call: RawCall, doubt: Doubt) -> Finding<String> {
        script::lookup(&call, doubt)
    }

    fn describe() -> String {
        // `strict` is `do` with a schema that outputs can break.
        let input = r#"{"type":"object","properties":{"script":{"type":"array"},"lookup":{"type":"array"}}}"#;
        let strict = r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#;
        format!(
            r#"{{"actions":{{"do":{{"input":{input},"output":true}},"look":{{"input":{input},"output":true}},"strict":{{"input":{input},"output":{strict}}}}},"settings":{{"type":"object"}}}}"#
        )
    }
}

oncegate_sdk::export_raw!(Puppet);
