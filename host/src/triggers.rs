//! Where events come in. A delivery is answered 2xx only after its run is durable.

mod arriving;
mod body;
mod hushed;
mod rate;
mod refusals;
mod source;
mod verify;
mod webhook;

pub use verify::{SecretError, secret_errors};
pub use webhook::{Hooks, HooksLimits, router};
