//! What an author writes: one type per action.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Finding};

/// One action of a connector. The types of input, output and settings are where the schemas come from: doc comments on
/// their fields become the descriptions that a flow's designer reads.
pub trait Action: Sized + 'static {
    /// The action's name, as in `connector.toml`.
    const NAME: &'static str;

    /// The connection's settings, the same type in all actions of a connector; [`NoSettings`] where there are none.
    type Settings: DeserializeOwned + JsonSchema + 'static;

    /// What a step gives to the action.
    type Input: DeserializeOwned + JsonSchema;

    /// What later steps can use.
    type Output: Serialize + JsonSchema;

    /// Does the action: any number of reading requests and at most one other. Called again with the same input, key and
    /// settings it must build the same request.
    fn perform(call: &Call<Self>) -> Result<Self::Output, Failure>;

    /// Finds out whether an earlier `perform` of this same call took effect, by reading requests only. A failure counts
    /// as [`Finding::Unsure`], so that `?` is safe here.
    fn lookup(call: &Call<Self>, doubt: &Doubt) -> Result<Finding<Self::Output>, Failure> {
        let _ = (call, doubt);
        Ok(Finding::unsure("this action has no lookup"))
    }
}

/// What one call of an action works with.
#[derive(Clone, Debug)]
pub struct Call<A: Action> {
    /// The input, already checked against its schema.
    pub input: A::Input,
    /// The connection's settings, already checked against their schema.
    pub settings: A::Settings,
    /// The step key: the same in every attempt of this step. The host sends it in a header by itself; where it belongs in
    /// a body field, the connector puts it there, and the host checks that it did.
    pub key: String,
}

/// What is known about the attempt whose outcome is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// When the request was first allowed to leave, in milliseconds since 1970 (UTC).
    pub first_sent_ms: u64,
    /// The status that was answered, where there was an answer that settled nothing.
    pub status: Option<u16>,
}

/// The settings of a connector that has none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
