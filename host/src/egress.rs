//! The only door to the world: one request, on one connection, to one approved place, and what was seen of it on the wire.
//!
//! `connect` resolves, refuses forbidden addresses, connects to *that* address and does TLS. Between it and `send` the
//! executor makes the intent durable. `send` adds credentials, looks at `send_by` on both clocks right before the first
//! byte, counts every byte that it hands over, reads a bounded answer and hides the secrets in it.
//!
//! Nothing in here tries twice: no retry, no redirect, no proxy from the environment, no `Expect`, no pooled client. What
//! `send` reports is counted, never guessed from the kind of an error.
//!
//! Must not know WebAssembly, flows, or why a request is made.

mod address;
mod mask;
mod outgoing;
mod place;

pub use address::{BadCidr, Cidr, forbidden};
pub use mask::{MASKED, Mask, SECRET_BYTES_MIN, SecretTooShort};
use oncegate_domain::evidence::Evidence;
pub use outgoing::{BadRequest, Credential, Outgoing, is_forbidden_header};
pub use place::{Origin, Place, PlaceError};

use crate::clock::SharedClock;

/// The door. Cheap to clone; all clones share the idle connections.
#[derive(Clone)]
pub struct Egress {
    clock: SharedClock,
}

/// Whether a connection left over from an earlier exchange may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse<'a> {
    /// A fresh one, and closed afterwards.
    Never,
    /// For reads, and for writes whose doubt a key or a lookup could settle. The text names the pool: one per connection
    /// (and account), never shared.
    Pool(&'a str),
    /// For writes without key or lookup: only one that was in use less than 2 s ago, so that it is hardly ever one which
    /// the destination is closing at this moment.
    PoolJustUsed(&'a str),
}

/// Leave to send.
#[derive(Debug)]
pub enum Permit {
    /// The request only reads.
    Read,
    /// The request may change something; its intent is durable.
    Write {
        /// Nothing is sent after this instant on the wall clock.
        send_by_ms: i64,
        /// The same on the clock that counts suspended time.
        send_by_boot_ms: i64,
    },
}

/// What one exchange may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// From the first byte of the request to the last of the answer.
    pub timeout_ms: u64,
    /// Status line and headers of the answer.
    pub header_bytes_max: usize,
    /// The body of the answer, as sent and expanded.
    pub body_bytes_max: usize,
    /// How much of the answer must come, once it has begun, …
    pub progress_bytes_min: u64,
    /// … in every span of this length.
    pub progress_ms: u64,
}

impl Default for ExchangeLimits {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            header_bytes_max: 64 << 10,
            body_bytes_max: 4 << 20,
            progress_bytes_min: 64,
            progress_ms: 5_000,
        }
    }
}

/// Not one byte of a request was handed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingSent {
    /// The host's name leads nowhere.
    #[error("{origin}: its name could not be resolved: {why}")]
    Resolve {
        /// Where the request should have gone.
        origin: String,
        /// What the resolver said.
        why: String,
    },
    /// All addresses are closed.
    #[error("{origin}: not connected: {why}; `allow_addresses` in the connection opens an address on purpose")]
    Forbidden {
        /// Where the request should have gone.
        origin: String,
        /// Which address is closed, and why.
        why: String,
    },
    /// No connection.
    #[error("{origin}: no connection: {why}")]
    Connect {
        /// Where the request should have gone.
        origin: String,
        /// What the system said, for each address.
        why: String,
    },
    /// No TLS.
    #[error("{origin}: no TLS: {why}")]
    Tls {
        /// Where the request should have gone.
        origin: String,
        /// What failed in the handshake.
        why: String,
    },
}

/// A connection ready for one exchange.
#[derive(Debug)]
pub struct Channel {
    origin: Origin,
}

/// How an exchange ended.
#[derive(Debug)]
pub struct Exchange {
    /// `NothingSent`, `MaybeSent` or `Answered`.
    pub evidence: Evidence,
    /// The answer; present exactly when `evidence` is `Answered`.
    pub answer: Option<Answer>,
    /// Why there is no answer, for people; secrets masked.
    pub error: Option<String>,
    /// The instant, on the wall clock, at which the exchange was over: answered, or aborted with a reset. Nothing of it
    /// leaves the host afterwards.
    pub over_ms: i64,
    /// Bytes of the request handed to the transport.
    pub bytes_handed: u64,
}

/// A whole answer, with the secrets masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The final status.
    pub status: u16,
    /// Headers, names in lower case; without `set-cookie`.
    pub headers: Vec<(String, String)>,
    /// The body, decoded where it came encoded.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Egress {
    /// A door with the certificates of the machine.
    pub fn new(clock: SharedClock) -> Self {
        Self { clock }
    }

    /// Opens a way to `place`: an idle connection where `reuse` allows one, else resolve, check, connect, TLS. Bounded in
    /// time; hands over no byte of any request.
    pub async fn connect(&self, place: &Place, reuse: Reuse<'_>) -> Result<Channel, NothingSent> {
        let _ = reuse;
        Err(NothingSent::Connect {
            origin: place.origin.to_string(),
            why: "not built yet".into(),
        })
    }

    /// Sends one request and waits for its answer, at most `limits.timeout_ms`. To be run to its end: where the future is
    /// dropped, the connection is reset and the caller must take it as *maybe sent*.
    pub async fn send(
        &self,
        channel: Channel,
        out: &Outgoing,
        credential: Credential<'_>,
        permit: Permit,
        limits: &ExchangeLimits,
        mask: &Mask,
    ) -> Exchange {
        let _ = (out.assemble(&channel.origin, credential), permit, limits, mask);
        let over_ms = self.clock.now_ms();
        Exchange {
            evidence: Evidence::NothingSent,
            answer: None,
            error: None,
            over_ms,
            bytes_handed: 0,
        }
    }
}
