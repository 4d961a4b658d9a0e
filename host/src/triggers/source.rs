//! Who is calling: the peer's address, or what a trusted proxy says about it.

use axum::http::HeaderMap;
use std::net::{IpAddr, Ipv6Addr};

/// The caller's address. `X-Forwarded-For` is believed from its end, as long as the one who said it is a trusted proxy:
/// what stands further left was written by somebody we do not know.
pub fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[IpAddr]) -> IpAddr {
    let mut address = peer.to_canonical();
    let hops: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    for hop in hops.iter().rev() {
        if !trusted.contains(&address) {
            break;
        }
        match hop.trim().parse::<IpAddr>() {
            Ok(before) => address = before.to_canonical(),
            Err(_) => break,
        }
    }
    address
}

/// Whom an address counts as. Whoever has one address of IPv6 has the whole network of 64 bits around it, and would else be
/// as many sources as they like.
pub fn group(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_source() {
        let group = |text: &str| super::group(text.parse().unwrap()).to_string();
        assert_eq!(group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(group("2001:db8:1:2::1"), group("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(group("2001:db8:1:2::1"), group("2001:db8:1:3::1"));
        assert_eq!(group("192.0.2.1"), "192.0.2.1");
    }

    fn check(peer: &str, forwarded: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", forwarded.parse().unwrap());
        of(
            peer.parse().unwrap(),
            &headers,
            &["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()],
        )
        .to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        assert_eq!(check("203.0.113.9", "192.0.2.1"), "203.0.113.9");
        assert_eq!(check("10.0.0.1", "192.0.2.1"), "192.0.2.1");
        assert_eq!(check("::ffff:10.0.0.1", "192.0.2.1"), "192.0.2.1");
    }

    #[test]
    fn what_a_stranger_wrote_before_the_proxy_is_not_believed() {
        assert_eq!(check("10.0.0.1", "198.51.100.1, 192.0.2.1, 10.0.0.2"), "192.0.2.1");
        assert_eq!(check("10.0.0.1", "nonsense"), "10.0.0.1");
    }
}
