//! Reads requests byte by byte, as far as it is told and no further. Not a general HTTP server: `Content-Length` is the only
//! framing of a request that it takes, because it is the only one that the egress sends.

use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const HEAD_BYTES_MAX: usize = 64 * 1024;
pub(super) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;

/// The head of a request.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body_bytes: usize,
    pub keep_alive: bool,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    }
}

/// What came where a head was wanted.
pub(super) enum Came {
    Head(Head),
    /// The connection ended before a first byte.
    Nothing,
    /// The connection ended within the head, or the head makes no sense to us; why.
    Broken(&'static str),
}

/// A connection, and what was read from it beyond the last request.
pub(super) struct Reader {
    pub stream: TcpStream,
    ahead: Vec<u8>,
    /// Bytes that were read for the request under way.
    pub request_bytes: u64,
}

impl Reader {
    pub fn new(stream: TcpStream) -> Reader {
        Reader {
            stream,
            ahead: Vec::new(),
            request_bytes: 0,
        }
    }

    /// Waits for the first byte of the next request; `false`: there is none.
    pub async fn begins(&mut self) -> bool {
        self.request_bytes = self.ahead.len() as u64;
        !self.ahead.is_empty() || matches!(self.more().await, Ok(count) if count > 0)
    }

    /// Reads up to the empty line.
    pub async fn head(&mut self) -> Came {
        loop {
            if let Some(end) = find(&self.ahead, b"\r\n\r\n") {
                let rest = self.ahead.split_off(end + 4);
                let head = std::mem::replace(&mut self.ahead, rest);
                return parse(&head[..end]).map_or_else(Came::Broken, Came::Head);
            }
            if self.ahead.len() > HEAD_BYTES_MAX {
                return Came::Broken("the head is too large");
            }
            match self.more().await {
                Ok(count) if count > 0 => {}
                _ if self.ahead.is_empty() => return Came::Nothing,
                _ => return Came::Broken("the connection ended within the head"),
            }
        }
    }

    /// Reads so many bytes of the body, or as many as come.
    pub async fn body(&mut self, wanted: usize) -> Vec<u8> {
        while self.ahead.len() < wanted {
            match self.more().await {
                Ok(count) if count > 0 => {}
                _ => break,
            }
        }
        let rest = self.ahead.split_off(wanted.min(self.ahead.len()));
        // What came beyond this request belongs to the next one, and is counted there.
        self.request_bytes -= rest.len() as u64;
        std::mem::replace(&mut self.ahead, rest)
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.ahead.reserve(READ_BYTES);
        let count = self.stream.read_buf(&mut self.ahead).await?;
        self.request_bytes += count as u64;
        Ok(count)
    }
}

fn parse(head: &[u8]) -> Result<Head, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "the head is not UTF-8")?;
    let mut lines = head.split("\r\n");
    let mut request_line = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1"), None) = (
        request_line.next(),
        request_line.next(),
        request_line.next(),
        request_line.next(),
    ) else {
        return Err("the request line is not `METHOD target HTTP/1.1`");
    };
    let headers = lines.map(header).collect::<Result<Vec<_>, _>>()?;
    let named = |name: &'static str| {
        headers
            .iter()
            .filter(move |(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    };
    if named("transfer-encoding").next().is_some() {
        return Err("only `Content-Length` is understood here");
    }
    let lengths: Vec<&str> = named("content-length").collect();
    let body_bytes = match lengths[..] {
        [] => 0,
        [length] => length.parse().map_err(|_| "`Content-Length` is not a number")?,
        _ => return Err("there are several `Content-Length`"),
    };
    if body_bytes > BODY_BYTES_MAX {
        return Err("the body is too large");
    }
    let keep_alive = !named("connection").any(|value| value.eq_ignore_ascii_case("close"));
    Ok(Head {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body_bytes,
        keep_alive,
    })
}

fn header(line: &str) -> Result<(String, String), &'static str> {
    let (name, value) = line.split_once(':').ok_or("a header line has no colon")?;
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}
