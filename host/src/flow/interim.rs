//! tmp
pub use oncegate_domain::key::{EventKey, KeyError, Role};
