//! Where a request may go: an origin that the operator wrote down, and the addresses opened for it.
//!
//! Must not resolve or connect.

use std::fmt;
use std::net::IpAddr;

use super::address::Cidr;

/// A destination as the operator approved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Scheme, host and port.
    pub origin: Origin,
    /// Ranges of addresses that are open for this place though they are closed by default.
    pub allow_addresses: Vec<Cidr>,
    /// One more root certificate (DER) that is trusted for this place, beside those of the machine.
    pub ca: Option<Vec<u8>>,
}

impl Place {
    /// A place from the texts of a connection. `plain_http` opens `http://`.
    pub fn new(origin: &str, plain_http: bool, allow_addresses: &[&str]) -> Result<Self, PlaceError> {
        let allow_addresses = allow_addresses
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            origin: Origin::parse(origin, plain_http)?,
            allow_addresses,
            ca: None,
        })
    }
}

/// Why a place cannot be used as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The origin cannot be read.
    #[error(
        "`{origin}` is no origin: {why}; write it like `https://api.example.com` or `https://api.example.com:8443`"
    )]
    Origin {
        /// As it was written.
        origin: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// `http://` without `plain_http`.
    #[error("`{0}` would send requests and credentials unencrypted; use https://, or set `plain_http = true` for it")]
    PlainHttp(String),
    /// A range of addresses cannot be read.
    #[error(transparent)]
    Cidr(#[from] super::address::BadCidr),
}

/// Scheme, host and port, in one normal form: two origins are the same destination if and only if they are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    tls: bool,
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Host {
    /// Lower case, international names in their ASCII form.
    Name(String),
    Address(IpAddr),
}

impl Origin {
    /// Reads `https://host[:port]`, or `http://…` where `plain_http` is set. Upper case and international names are
    /// brought to their normal form, the scheme's own port is dropped.
    pub fn parse(text: &str, plain_http: bool) -> Result<Self, PlaceError> {
        let wrong = |why| PlaceError::Origin {
            origin: text.to_owned(),
            why,
        };
        refuse_all_but_authority(text).map_err(wrong)?;
        let url = url::Url::parse(text).map_err(|_| wrong("its host or port cannot be read"))?;
        let tls = match url.scheme() {
            "https" => true,
            "http" if plain_http => false,
            "http" => return Err(PlaceError::PlainHttp(text.to_owned())),
            _ => return Err(wrong("it begins with neither https:// nor http://")),
        };
        let host = match url.host() {
            Some(url::Host::Domain(name)) if name.ends_with('.') => return Err(wrong("its host ends with a dot")),
            Some(url::Host::Domain(name)) => Host::Name(name.to_owned()),
            Some(url::Host::Ipv4(address)) => Host::Address(address.into()),
            Some(url::Host::Ipv6(address)) => Host::Address(address.into()),
            None => return Err(wrong("it has no host")),
        };
        match url.port_or_known_default() {
            Some(port @ 1..) => Ok(Self { tls, host, port }),
            Some(0) | None => Err(wrong("its port cannot be used")),
        }
    }

    /// Whether requests go through TLS.
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// The port, the scheme's own where none was written.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as it stands in a URL (IPv6 in brackets).
    pub fn host(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        }
    }

    /// What the `Host` header says.
    pub(super) fn authority(&self) -> String {
        let own_port = if self.tls { 443 } else { 80 };
        if self.port == own_port {
            self.host()
        } else {
            format!("{}:{}", self.host(), self.port)
        }
    }

    pub(super) fn named(&self) -> &Host {
        &self.host
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

/// A URL parser is lenient: it drops tabs, takes `\` for `/`, decodes `%2e` in hosts. What needs that is refused first, so
/// that an origin means to us what it meant to the person who wrote it.
fn refuse_all_but_authority(text: &str) -> Result<(), &'static str> {
    let Some((_, authority)) = text.split_once("://") else {
        return Err("it begins with neither https:// nor http://");
    };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    if authority.is_empty() {
        return Err("it has no host");
    }
    for c in text.chars() {
        match c {
            '@' => return Err("it holds a user name; credentials belong in [secrets]"),
            '?' | '#' => return Err("it holds a query or fragment"),
            '%' | '\\' => return Err("its host is written with escapes"),
            c if c.is_whitespace() || c.is_control() => return Err("it holds a blank or control character"),
            _ => {}
        }
    }
    if authority.contains('/') {
        Err("it holds a path")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
