//! Which addresses the egress never connects to. A connector names endpoints and an operator names origins, but what a
//! name resolves to is decided by whoever owns its DNS: without this table a public name could lead into the private
//! network, to a cloud's metadata service or to this host itself.
//!
//! Knows addresses only; must not know names, sockets or requests.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::LazyLock;

use ipnet::IpNet;

/// A range of addresses that an operator opens (`allow_addresses`), such as `10.0.5.0/24`, `127.0.0.1/32` or `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr(IpNet);

/// A range of addresses that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range of addresses; write it like `10.0.5.0/24`, `127.0.0.1/32` or `fd12:3456::/32`")]
pub struct BadCidr(String);

impl Cidr {
    /// Whether the range is nothing but a metadata service of a cloud.
    pub fn is_metadata(&self) -> bool {
        METADATA.iter().any(|address| IpNet::from(*address) == self.0)
    }

    /// Whether `address` lies in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for Cidr {
    type Err = BadCidr;

    fn from_str(text: &str) -> Result<Self, BadCidr> {
        let single = |_| text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>()
            .or_else(single)
            .map(|net| Self(net.trunc()))
            .map_err(|_| BadCidr(text.to_owned()))
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why the addresses of metadata services are closed, whatever a connection says.
pub(super) const METADATA_SERVICE: &str = "metadata service";

/// Why `address` is not connected to, or `None` where it may be. `allow` opens what is closed by default, except the
/// metadata services of clouds, which hand credentials of the whole machine to whoever asks.
pub fn forbidden(address: IpAddr, allow: &[Cidr]) -> Option<&'static str> {
    if is_metadata(address) {
        return Some(METADATA_SERVICE);
    }
    if allow.iter().any(|range| range.contains(address)) {
        return None;
    }
    if let Some((_, why)) = CLOSED.iter().find(|(range, _)| range.contains(&address)) {
        return Some(why);
    }
    match address {
        IpAddr::V4(_) => None,
        // Only 2000::/3 is given out as global unicast; everything else is reserved.
        IpAddr::V6(v6) => (v6.segments()[0] & 0xe000 != 0x2000).then_some("reserved"),
    }
}

/// Metadata services, also where their IPv4 address is wrapped in an IPv6 form.
fn is_metadata(address: IpAddr) -> bool {
    METADATA.contains(&address)
        || match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(v6) => wrapped(v6)
                .into_iter()
                .flatten()
                .any(|v4| METADATA.contains(&IpAddr::V4(v4))),
        }
}

/// The IPv4 addresses that an IPv6 address may stand for: in its last 32 bits (mapped, compatible, NAT64) or in the 32
/// after `2002:` (6to4).
fn wrapped(v6: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let bytes = v6.octets();
    let tail = [bytes[12], bytes[13], bytes[14], bytes[15]];
    let six_to_four = [bytes[2], bytes[3], bytes[4], bytes[5]];
    let wraps_tail = WRAPPING.iter().any(|range| range.contains(&IpAddr::V6(v6)));
    [
        wraps_tail.then(|| tail.into()),
        (bytes[..2] == [0x20, 0x02]).then(|| six_to_four.into()),
    ]
}

static METADATA: LazyLock<Vec<IpAddr>> = LazyLock::new(|| {
    const ADDRESSES: [&str; 10] = [
        "169.254.169.254", // most clouds
        "169.254.170.2",   // AWS, tasks
        "169.254.170.23",  // AWS, pods
        "100.100.100.200", // Alibaba
        "168.63.129.16",   // Azure, a public address
        "192.0.0.192",     // Oracle
        "fd00:ec2::254",   // AWS
        "fd00:ec2::23",    // AWS, pods
        "fd20:ce::254",    // Google
        "fe80::a9fe:a9fe", // OpenStack
    ];
    ADDRESSES
        .iter()
        .map(|text| text.parse().expect("the table holds addresses"))
        .collect()
});

static WRAPPING: LazyLock<Vec<IpNet>> =
    LazyLock::new(|| nets(&["::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/32"]));

static CLOSED: LazyLock<Vec<(IpNet, &'static str)>> = LazyLock::new(|| {
    CLOSED_RANGES
        .iter()
        .map(|(range, why)| (range.parse().expect("the table holds ranges"), *why))
        .collect()
});

fn nets(ranges: &[&str]) -> Vec<IpNet> {
    ranges
        .iter()
        .map(|range| range.parse().expect("the table holds ranges"))
        .collect()
}

/// From the IANA special-purpose address registries; the narrower range stands first where the reason differs.
const CLOSED_RANGES: [(&str, &str); 35] = [
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared address space of a carrier"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discarded"),
    ("2001::/32", "Teredo"),
    ("2001:2::/48", "benchmarking"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
];

#[cfg(test)]
mod tests;
