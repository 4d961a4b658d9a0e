use super::*;

fn why(address: &str) -> Option<&'static str> {
    forbidden(address.parse().unwrap(), &[])
}

#[test]
fn every_closed_range_is_closed_to_its_last_address_and_not_beyond() {
    // Range, the address before its first, the one after its last: `None` where that is closed by another row.
    let rows: [(&str, Option<&str>, Option<&str>); 25] = [
        ("0.0.0.0/8", None, Some("1.0.0.0")),
        ("10.0.0.0/8", Some("9.255.255.255"), Some("11.0.0.0")),
        ("100.64.0.0/10", Some("100.63.255.255"), Some("100.128.0.0")),
        ("127.0.0.0/8", Some("126.255.255.255"), Some("128.0.0.0")),
        ("169.254.0.0/16", Some("169.253.255.255"), Some("169.255.0.0")),
        ("172.16.0.0/12", Some("172.15.255.255"), Some("172.32.0.0")),
        ("192.0.0.0/24", Some("191.255.255.255"), Some("192.0.1.0")),
        ("192.0.2.0/24", Some("192.0.1.255"), Some("192.0.3.0")),
        ("192.88.99.0/24", Some("192.88.98.255"), Some("192.88.100.0")),
        ("192.168.0.0/16", Some("192.167.255.255"), Some("192.169.0.0")),
        ("198.18.0.0/15", Some("198.17.255.255"), Some("198.20.0.0")),
        ("198.51.100.0/24", Some("198.51.99.255"), Some("198.51.101.0")),
        ("203.0.113.0/24", Some("203.0.112.255"), Some("203.0.114.0")),
        ("224.0.0.0/4", Some("223.255.255.255"), None),
        ("240.0.0.0/4", None, None),
        ("::/3", None, Some("2000::")),
        (
            "2001::/23",
            Some("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            Some("2001:200::"),
        ),
        (
            "2001:db8::/32",
            Some("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"),
            Some("2001:db9::"),
        ),
        (
            "2002::/16",
            Some("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            Some("2003::"),
        ),
        (
            "3fff::/20",
            Some("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            Some("3fff:1000::"),
        ),
        ("4000::/2", Some("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), None),
        ("8000::/1", None, None),
        ("fc00::/7", None, None),
        ("fe80::/10", None, None),
        ("ff00::/8", None, None),
    ];
    for (range, before, after) in rows {
        let net: IpNet = range.parse().unwrap();
        for inside in [net.network(), net.broadcast()] {
            assert!(forbidden(inside, &[]).is_some(), "{inside} of {range} is open");
        }
        for outside in [before, after].into_iter().flatten() {
            assert_eq!(why(outside), None, "{outside} beside {range}");
        }
    }
}

#[test]
fn the_reason_is_the_one_a_person_would_give() {
    for (address, reason) in [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("10.1.2.3", "private"),
        ("169.254.1.1", "link-local"),
        ("100.64.0.1", "shared address space of a carrier"),
        ("239.1.1.1", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("250.1.1.1", "reserved"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("64:ff9b::8.8.8.8", "NAT64"),
        ("64:ff9b:1::a00:1", "NAT64"),
        ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"),
        ("64:ff9b:2::", "reserved"),
        ("2002:808:808::1", "6to4"),
        ("2001:0:4136:e378::1", "Teredo"),
        ("fd12:3456::1", "unique local"),
        ("fe80::1", "link-local"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("169.254.169.254", "metadata service"),
    ] {
        assert_eq!(why(address), Some(reason), "{address}");
    }
}

#[test]
fn public_addresses_are_open() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80f::200e",
    ] {
        assert_eq!(why(address), None, "{address}");
    }
}

#[test]
fn the_operator_opens_a_range_and_nothing_beside_it() {
    let allow = ["127.0.0.1/32", "10.0.5.0/24", "fd12:3456::/32"].map(|range| range.parse::<Cidr>().unwrap());
    for (address, open) in [
        ("127.0.0.1", true),
        ("127.0.0.2", false),
        ("::1", false),
        ("::ffff:127.0.0.1", false),
        ("10.0.5.0", true),
        ("10.0.5.255", true),
        ("10.0.6.0", false),
        ("10.0.4.255", false),
        ("fd12:3456:ffff::1", true),
        ("fd12:3457::1", false),
        ("::a00:501", false),
        ("64:ff9b::a00:501", false),
        ("2002:a00:501::", false),
    ] {
        assert_eq!(forbidden(address.parse().unwrap(), &allow).is_none(), open, "{address}");
    }
}

#[test]
fn metadata_services_stay_closed_in_every_form() {
    let everything = ["0.0.0.0/0", "::/0"].map(|range| range.parse::<Cidr>().unwrap());
    for address in [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::169.254.169.254",
        "2002:a9fe:a9fe::1",
    ] {
        assert_eq!(
            forbidden(address.parse().unwrap(), &everything),
            Some("metadata service"),
            "{address}"
        );
    }
    assert_eq!(forbidden("127.0.0.1".parse().unwrap(), &everything), None);
}

#[test]
fn ranges_are_read_in_the_ways_people_write_them() {
    for (text, shown) in [
        ("127.0.0.1", "127.0.0.1/32"),
        ("10.0.5.7/24", "10.0.5.0/24"),
        ("::1", "::1/128"),
        ("FD12::/16", "fd12::/16"),
    ] {
        assert_eq!(text.parse::<Cidr>().unwrap().to_string(), shown);
    }
    for text in [
        "",
        "10.0.0.0/33",
        "10.0.0/8",
        "localhost",
        "10.0.0.0/-1",
        "::1/129",
        "10.0.0.0/8 ",
    ] {
        let error = text.parse::<Cidr>().unwrap_err();
        assert!(error.to_string().contains("write it like"), "{error}");
    }
}
