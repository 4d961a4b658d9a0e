//! As much of HTTP/1.1 as the load and the destination need: where a message on a kept connection ends, and a header of it.
//! Both ends are known to send a `content-length`. Every microsecond spent here is one less for the host, on the same cores.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A message of the bench is far smaller.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// What a connection has received.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// The message that was given out last; it goes with the next one.
    given: usize,
}

/// A whole message.
pub struct Message<'a> {
    /// First line and headers.
    pub head: &'a [u8],
    /// What follows them.
    pub body: &'a [u8],
}

impl Inbox {
    /// The next message; `None`: the other side closed the connection between two.
    pub async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Message<'_>>> {
        self.bytes.drain(..self.given);
        self.given = 0;
        let (head, whole) = loop {
            if let Some(found) = ends(&self.bytes)? {
                break found;
            }
            if self.bytes.len() > MESSAGE_BYTES_MAX {
                return Err(broken("a message is longer than any of the bench"));
            }
            if stream.read_buf(&mut self.bytes).await? == 0 {
                return match self.bytes.is_empty() {
                    true => Ok(None),
                    false => Err(broken("the connection was closed in the middle of a message")),
                };
            }
        };
        self.given = whole;
        let (head, body) = self.bytes[..whole].split_at(head);
        Ok(Some(Message { head, body }))
    }
}

/// Where the head and the whole message end, once all of it is there.
fn ends(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    const BLANK_LINE: &[u8] = b"\r\n\r\n";
    let blank = bytes.windows(BLANK_LINE.len()).position(|window| window == BLANK_LINE);
    let Some(head) = blank.map(|at| at + BLANK_LINE.len()) else {
        return Ok(None);
    };
    let length = header(&bytes[..head], "content-length").and_then(number);
    let length = length.ok_or_else(|| broken("a message does not say how long it is"))?;
    let whole = head.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
    Ok((bytes.len() >= whole).then_some((head, whole)))
}

/// The value of a header.
pub fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.find_map(|line| {
        let (named, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        named.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
    })
}

/// The status of an answer.
pub fn status(head: &[u8]) -> Option<u16> {
    let status = number(head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?)?;
    u16::try_from(status).ok()
}

/// Decimal digits and nothing else.
pub fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What is wrong with a message.
pub fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(mut wire: &[u8]) -> io::Result<Vec<(Option<u16>, String)>> {
        let (mut inbox, mut all) = (Inbox::default(), Vec::new());
        while let Some(message) = inbox.next(&mut wire).await? {
            all.push((status(message.head), String::from_utf8_lossy(message.body).into_owned()));
        }
        Ok(all)
    }

    #[tokio::test]
    async fn messages_that_come_together_are_told_apart() {
        let wire = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 429 No\r\ncontent-length:0\r\n\r\n";
        let expected = vec![(Some(202), "ok".to_owned()), (Some(429), String::new())];
        assert_eq!(all(wire).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn half_a_message_and_one_of_unknown_length_are_no_messages() {
        for wire in [
            "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\no",
            "HTTP/1.1 202 A\r\n\r\n",
        ] {
            assert!(all(wire.as_bytes()).await.is_err(), "{wire}");
        }
    }

    #[test]
    fn a_header_is_found_by_its_whole_name() {
        let head = b"POST / HTTP/1.1\r\nx-content-length: 7\r\nContent-Length:  12 \r\n\r\n";
        assert_eq!(header(head, "content-length"), Some(b"12".as_slice()));
        assert_eq!(header(head, "content"), None);
        assert_eq!(number(b"1x"), None);
    }
}
