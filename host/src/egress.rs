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
mod answer;
mod connect;
mod connection;
mod exchange;
mod mask;
mod outgoing;
mod place;
mod pool;
mod resolve;
mod stream;
mod tls;
mod watch;

use std::fmt;
use std::sync::Arc;

pub use address::{BadCidr, Cidr, forbidden};
pub use mask::{MASKED, Mask, SecretTooShort};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::limits::REQUEST_TIMEOUT_MS_DEFAULT;
pub use outgoing::{BadRequest, Credential, Outgoing, is_forbidden_header};
pub use place::{Origin, Place, PlaceError};
pub use resolve::Resolver;

use self::answer::presentable;
use self::connect::{Connector, SharedConnector};
use self::connection::Connection;
use self::exchange::{After, Fault, exchange};
use self::pool::Pool;
use self::watch::Gate;
use crate::clock::SharedClock;
use crate::ledger::Intent;

/// The door. Cheap to clone; all clones share the idle connections.
#[derive(Clone)]
pub struct Egress {
    clock: SharedClock,
    connector: SharedConnector,
    pool: Arc<Pool>,
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
    /// The request may change something. Only the ledger makes an intent, once it is durable, and it is used up here.
    Write(Intent),
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
            timeout_ms: REQUEST_TIMEOUT_MS_DEFAULT,
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
    #[error("{origin}: not connected: {why}")]
    Forbidden {
        /// Where the request should have gone.
        origin: String,
        /// Which address is closed, and why.
        why: String,
    },
    /// This host has no descriptor, port or memory for one more connection: nothing about the destination.
    #[error("{origin}: this host cannot open one more connection now: {why}; raise its limit of open files")]
    Shortage {
        /// Where the request should have gone.
        origin: String,
        /// What the system said.
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

/// A connection ready for one exchange. Dropped without `send`, it is reset.
pub struct Channel {
    place: Place,
    connection: Connection,
    pool: Option<String>,
    reused: bool,
}

impl Channel {
    /// Where it leads.
    pub fn origin(&self) -> &Origin {
        &self.place.origin
    }

    /// Whether it was used before.
    pub fn is_reused(&self) -> bool {
        self.reused
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({} at {})", self.place.origin, self.connection.peer())
    }
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
    /// A door with the resolver and the certificates of the machine. Reads certificate files.
    pub fn new(clock: SharedClock) -> Self {
        Self::resolving(clock, &Resolver::System)
    }

    /// The same with another resolver.
    pub fn resolving(clock: SharedClock, resolver: &Resolver) -> Self {
        Self::with_lookup(clock, resolver.lookup())
    }

    fn with_lookup(clock: SharedClock, lookup: resolve::Lookup) -> Self {
        let connector = Arc::new(Connector {
            lookup,
            tls: tls::Settings::new(),
        });
        Self {
            pool: Pool::new(clock.clone()),
            connector,
            clock,
        }
    }

    /// Opens a way to `place`: an idle connection where `reuse` allows one, else resolve, check, connect, TLS. Bounded in
    /// time; hands over no byte of any request.
    pub async fn connect(&self, place: &Place, reuse: Reuse<'_>) -> Result<Channel, NothingSent> {
        let pool = match reuse {
            Reuse::Never => None,
            Reuse::Pool(name) | Reuse::PoolJustUsed(name) => Some(name.to_owned()),
        };
        let idle = self.pool.take(place, reuse);
        let reused = idle.is_some();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connector.open(place).await?,
        };
        Ok(Channel {
            place: place.clone(),
            connection,
            pool,
            reused,
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
        let request = match out.assemble(&channel.place.origin, credential) {
            Ok(request) => request,
            Err(error) => return self.nothing_sent(mask.text(error.to_string())),
        };
        let Channel {
            place,
            mut connection,
            pool,
            ..
        } = channel;
        connection.watch().lock().begin(
            self.gate(&permit, limits),
            out.body.len() as u64,
            limits.header_bytes_max,
        );
        let result = exchange(&mut connection, request, matches!(permit, Permit::Read), limits).await;
        let bytes_handed = connection.watch().lock().handed();
        connection.watch().lock().end();
        let result = match result {
            Ok(raw) => {
                self.let_go(connection, raw.after, pool, place);
                presentable(raw, limits.body_bytes_max, mask)
            }
            Err(fault) => {
                // Reset before the clock is read: from `over_ms` on, nothing of this exchange can still leave.
                drop(connection);
                Err(fault)
            }
        };
        conclude(result, bytes_handed, self.clock.now_ms(), mask)
    }

    fn gate(&self, permit: &Permit, limits: &ExchangeLimits) -> Gate {
        let send_by = match permit {
            Permit::Read => None,
            Permit::Write(intent) => Some((intent.send_by_ms(), intent.send_by_boot_ms())),
        };
        let timeout_ms = i64::try_from(limits.timeout_ms).unwrap_or(i64::MAX);
        Gate {
            clock: self.clock.clone(),
            send_by,
            over_boot_ms: self.clock.boot_ms().saturating_add(timeout_ms),
        }
    }

    /// After a whole answer. A connection with anything left over, or in another protocol, is reset by dropping it.
    fn let_go(&self, mut connection: Connection, after: After, pool: Option<String>, place: Place) {
        match (after, pool) {
            (After::Reset, _) => {}
            (After::Close, _) | (After::Keep, None) => connection.finish(),
            // Whether anything came since then is asked when it is taken.
            (After::Keep, Some(_)) if !connection.is_at_rest() => {}
            (After::Keep, Some(name)) => self.pool.park(&name, place, connection),
        }
    }

    fn nothing_sent(&self, error: String) -> Exchange {
        let over_ms = self.clock.now_ms();
        Exchange {
            evidence: Evidence::NothingSent,
            answer: None,
            error: Some(error),
            over_ms,
            bytes_handed: 0,
        }
    }
}

/// Evidence by count: no byte handed over, or some, or a whole answer.
fn conclude(result: Result<Answer, Fault>, bytes_handed: u64, over_ms: i64, mask: &Mask) -> Exchange {
    let (evidence, answer, error) = match result {
        Ok(answer) => (Evidence::Answered(answer.status), Some(answer), None),
        Err(fault) => {
            let evidence = if bytes_handed == 0 {
                Evidence::NothingSent
            } else {
                Evidence::MaybeSent
            };
            (evidence, None, Some(mask.text(fault.to_string())))
        }
    };
    Exchange {
        evidence,
        answer,
        error,
        over_ms,
        bytes_handed,
    }
}

#[cfg(test)]
mod tests;
