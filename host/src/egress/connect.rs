//! From a place to an open connection: resolve, refuse, connect to that address, TLS. Every part is bounded in time, and no
//! byte of any request leaves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::NothingSent;
use super::address::{METADATA_SERVICE, forbidden};
use super::connection::Connection;
use super::place::{Host, Place};
use super::resolve::Lookup;
use super::stream::{Socket, Transport};
use super::tls::{Settings, server_name};

const RESOLVE_MS: u64 = 5_000;
/// For all addresses of a name together; each of several gets half of it.
const CONNECT_MS: u64 = 5_000;
const TLS_MS: u64 = 5_000;
/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Opens connections.
pub(super) struct Connector {
    pub lookup: Lookup,
    pub tls: Settings,
}

impl Connector {
    pub async fn open(&self, place: &Place) -> Result<Connection, NothingSent> {
        let origin = place.origin.to_string();
        let addresses = permitted(place, self.resolve(place).await?)?;
        let (tcp, peer) = first_open(&origin, &addresses).await?;
        let no_connection = |why: String| NothingSent::Connect {
            origin: origin.clone(),
            why,
        };
        let socket = Socket::new(tcp).map_err(|error| no_connection(error.to_string()))?;
        let transport = if place.origin.tls() {
            self.secure(place, socket).await?
        } else {
            Transport::Plain(socket)
        };
        Connection::new(transport, peer)
            .await
            .map_err(|error| no_connection(error.to_string()))
    }

    async fn resolve(&self, place: &Place) -> Result<Vec<SocketAddr>, NothingSent> {
        let name = match place.origin.named() {
            Host::Address(address) => return Ok(vec![SocketAddr::new(*address, place.origin.port())]),
            Host::Name(name) => name.clone(),
        };
        let failed = |why: String| NothingSent::Resolve {
            origin: place.origin.to_string(),
            why,
        };
        match timeout(ms(RESOLVE_MS), (self.lookup)(name, place.origin.port())).await {
            Err(_) => Err(failed(format!("no answer within {RESOLVE_MS} ms"))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok(addresses)) if addresses.is_empty() => Err(failed("it has no address".into())),
            Ok(Ok(addresses)) => Ok(addresses),
        }
    }

    async fn secure(&self, place: &Place, socket: Socket) -> Result<Transport, NothingSent> {
        let failed = |why: String| NothingSent::Tls {
            origin: place.origin.to_string(),
            why,
        };
        let config = self.tls.for_place(place).map_err(failed)?;
        let name = server_name(place.origin.named()).map_err(failed)?;
        match timeout(ms(TLS_MS), TlsConnector::from(config).connect(name, socket)).await {
            Err(_) => Err(failed(format!("the handshake was not done within {TLS_MS} ms"))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok(stream)) => Ok(Transport::Tls(Box::new(stream))),
        }
    }
}

/// The addresses that may be connected to; an error where none may.
fn permitted(place: &Place, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, NothingSent> {
    let mut refused = Vec::new();
    let open = addresses
        .into_iter()
        .filter(|address| match forbidden(address.ip(), &place.allow_addresses) {
            None => true,
            Some(why) => {
                refused.push(match why {
                    METADATA_SERVICE => format!("{} is never reached ({why})", address.ip()),
                    why => format!(
                        "{} is closed ({why}); `allow_addresses` in the connection opens it on purpose",
                        address.ip()
                    ),
                });
                false
            }
        });
    let open: Vec<_> = open.take(ADDRESSES_MAX).collect();
    if open.is_empty() {
        return Err(NothingSent::Forbidden {
            origin: place.origin.to_string(),
            why: refused.join(", "),
        });
    }
    Ok(open)
}

async fn first_open(origin: &str, addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), NothingSent> {
    let mut failures = Vec::new();
    let mut shortage = false;
    let each_ms = if addresses.len() > 1 {
        CONNECT_MS / 2
    } else {
        CONNECT_MS
    };
    let try_all = async {
        for address in addresses {
            match timeout(ms(each_ms), TcpStream::connect(address)).await {
                Ok(Ok(tcp)) => return Some((tcp, *address)),
                Ok(Err(error)) => {
                    shortage |= is_shortage(&error);
                    failures.push(format!("{address}: {error}"));
                }
                Err(_) => failures.push(format!("{address}: no answer within {each_ms} ms")),
            }
        }
        None
    };
    let opened = timeout(ms(CONNECT_MS), try_all).await.unwrap_or_default();
    let (origin, why) = (origin.to_owned(), failures.join(", "));
    opened.ok_or(match shortage {
        true => NothingSent::Shortage { origin, why },
        false => NothingSent::Connect { origin, why },
    })
}

/// Whether it was us who had no room: descriptors, local ports, memory.
fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let ours = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::ADDRNOTAVAIL,
        Errno::AGAIN,
    ];
    Errno::from_io_error(error).is_some_and(|errno| ours.contains(&errno))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Shared by all clones of the egress.
pub(super) type SharedConnector = Arc<Connector>;
