//! A body that came packed: what it may expand to, and what is made of it.

use super::super::{BodyError, BodyLimits, ContentEncoding, RawBody};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn body(bytes: Vec<u8>, encoding: ContentEncoding) -> RawBody {
    RawBody {
        bytes,
        encoding,
        content_type: "application/json".to_owned(),
    }
}

#[test]
fn a_body_is_bounded_by_what_it_expands_to() {
    let limits = BodyLimits {
        bytes_max: 100,
        ..BodyLimits::default()
    };
    let too_large = || Err(BodyError::TooLarge { bytes_max: 100 });
    let plain = |bytes: Vec<u8>, encoding| body(bytes, encoding).plain(&limits).map(|plain| plain.into_owned());
    for encoding in [ContentEncoding::Identity, ContentEncoding::Gzip] {
        let sent = |bytes: &[u8]| match encoding {
            ContentEncoding::Identity => bytes.to_vec(),
            ContentEncoding::Gzip => gzip(bytes),
        };
        assert_eq!(plain(sent(&[b'x'; 100]), encoding), Ok(vec![b'x'; 100]));
        assert_eq!(plain(sent(&[b'x'; 101]), encoding), too_large());
    }
    assert_eq!(plain(gzip(&vec![b'x'; 1 << 24]), ContentEncoding::Gzip), too_large());
}

#[test]
fn what_is_not_packed_as_it_says_is_refused_and_not_guessed_at() {
    let limits = BodyLimits::default();
    let whole = gzip(b"{\"a\":1}");
    for bytes in [b"{\"a\":1}".to_vec(), Vec::new(), whole[..whole.len() - 1].to_vec()] {
        let read = body(bytes, ContentEncoding::Gzip).parse(&limits);
        assert_eq!(read, Err(BodyError::NotPacked));
    }
    let members = [gzip(b"{\"a\""), gzip(b":1}")].concat();
    let read = body(members, ContentEncoding::Gzip).parse(&limits);
    assert_eq!(read, Ok(json!({ "a": 1 })));
    let read = body(whole, ContentEncoding::Identity).parse(&limits);
    assert!(matches!(read, Err(BodyError::Content(_))), "{read:?}");
}

#[test]
fn the_header_says_how_a_body_is_packed() {
    let known = [
        ("", Some(ContentEncoding::Identity)),
        ("identity", Some(ContentEncoding::Identity)),
        (" GZip", Some(ContentEncoding::Gzip)),
        ("br", None),
        ("gzip, gzip", None),
    ];
    for (header, encoding) in known {
        assert_eq!(ContentEncoding::of_header(header), encoding, "{header:?}");
    }
}
