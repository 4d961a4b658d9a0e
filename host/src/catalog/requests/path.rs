//! Path hygiene: what two servers could read in two ways never leaves (CONNECTORS.md, *Egress*).

/// Longest path in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 4096;

/// Checks a path as it goes over the wire. The error says what is wrong with it.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    if !path.starts_with('/') {
        return Err("a path begins with /".into());
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(format!(
            "the path has {} bytes, at most {PATH_BYTES_MAX} leave",
            path.len()
        ));
    }
    if let Some(c) = path.chars().find(|c| !is_path_char(*c)) {
        return Err(match c {
            '?' | '#' => format!("the path has {c} in it; queries go into `query`, fragments nowhere"),
            '\\' => "the path has a backslash in it".into(),
            c if c.is_control() => "the path has a control character in it".into(),
            c if !c.is_ascii() => "the path is not ASCII; percent-encode it".into(),
            c => format!("the path has {c:?} in it; percent-encode it"),
        });
    }
    if path.contains("//") {
        return Err("the path has an empty segment (//)".into());
    }
    path.split('/').skip(1).try_for_each(check_segment)
}

/// RFC 3986, section 3.3: pchar and the slash.
fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@%/".contains(c)
}

fn check_segment(segment: &str) -> Result<(), String> {
    let decoded = decode(segment)?;
    // Once more, for servers that decode twice; what is then no valid escape stays as it is.
    let twice = decode_lossy(&decoded);
    for bytes in [&decoded, &twice] {
        if bytes.contains(&b'/') || bytes.contains(&b'\\') {
            return Err("the path has an encoded slash or backslash in it".into());
        }
        if bytes.iter().any(u8::is_ascii_control) {
            return Err("the path has an encoded control character in it".into());
        }
        // `..;x` is `..` to servers that cut off parameters.
        let name = bytes.split(|byte| *byte == b';').next().unwrap_or_default();
        if name == b"." || name == b".." {
            return Err("the path has a . or .. segment in it".into());
        }
    }
    Ok(())
}

/// Decodes percent escapes, which must be whole.
fn decode(segment: &str) -> Result<Vec<u8>, String> {
    let bytes = segment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            decoded.push(bytes[at]);
            at += 1;
            continue;
        }
        let Some(byte) = escape(bytes.get(at + 1..at + 3)) else {
            return Err("the path has a % without two hexadecimal digits".into());
        };
        decoded.push(byte);
        at += 3;
    }
    Ok(decoded)
}

fn decode_lossy(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], escape(bytes.get(at + 1..at + 3))) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

fn escape(digits: Option<&[u8]>) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    digits
        .bytes()
        .all(|b| b.is_ascii_hexdigit())
        .then(|| u8::from_str_radix(digits, 16).ok())?
}
