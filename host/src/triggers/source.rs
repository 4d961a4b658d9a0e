//! Who is calling: the peer's address, or what a trusted proxy says about it.

use axum::http::HeaderMap;
use std::net::IpAddr;

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

#[cfg(test)]
mod tests {
    use super::*;

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
