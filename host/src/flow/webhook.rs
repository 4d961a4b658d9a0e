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
