//! The webhook trigger of a flow, as the ingress needs it.

/// A checked `[trigger.webhook]`.
#[derive(Debug)]
pub struct Webhook {
    /// Below `/hooks/`.
    pub path: String,
    /// How a delivery proves where it comes from.
    pub verify: Verify,
    /// How many deliveries are taken.
    pub limit: HookLimit,
    /// What the caller waits for.
    pub respond: Respond,
    /// What tells one delivery under a key from another.
    pub fingerprint: Fingerprint,
}

/// How a delivery proves where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Not at all: the hook is open, and says so everywhere.
    None,
    /// `Authorization: Bearer …` must carry the secret of this name.
    Bearer {
        /// Name of a secret that the operator set.
        secret: String,
    },
    /// Signed as Standard Webhooks 1.0.0 says (<https://www.standardwebhooks.com>), with a secret that both sides have.
    StandardWebhooks {
        /// Names of secrets that the operator set: one, or two while they are rotated. A signature by either counts.
        secrets: Vec<String>,
        /// How far the sender's time may be from ours, either way, in seconds.
        tolerance_s: u64,
    },
}

impl Verify {
    /// The scheme as flows name it; kept with every event.
    pub fn word(&self) -> &'static str {
        match self {
            Verify::None => "none",
            Verify::Bearer { .. } => "bearer",
            Verify::StandardWebhooks { .. } => "standard-webhooks",
        }
    }

    /// The names of the secrets that it needs.
    pub fn secrets(&self) -> &[String] {
        match self {
            Verify::None => &[],
            Verify::Bearer { secret } => std::slice::from_ref(secret),
            Verify::StandardWebhooks { secrets, .. } => secrets,
        }
    }
}

/// How many deliveries are taken; more are answered 429.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookLimit {
    /// From one source address.
    pub per_source: Option<Rate>,
    /// From all together.
    pub total: Option<Rate>,
}

/// So many in so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In how many milliseconds.
    pub per_ms: u64,
}

/// What the caller of a hook waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Respond {
    /// 202 as soon as the event is durable.
    Accepted,
    /// The result, up to a wait, then 202.
    Result,
}

/// What a fingerprint is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fingerprint {
    /// The parsed body.
    Body,
    /// Values that the flow names.
    Fields,
    /// Nothing: the same key is the same event, whatever it carries.
    Nothing,
}
