//! A client that writes bytes and says what came back and how the connection ended.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How the other side left a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Closed in order.
    Closed,
    /// Torn down.
    Reset,
    /// Still there when the client stopped waiting.
    Open,
}

pub struct Raw(TcpStream);

impl Raw {
    pub async fn connect(address: SocketAddr) -> Raw {
        Raw(TcpStream::connect(address).await.unwrap())
    }

    /// Writes all, and says whether the kernel took it: the other side may be gone already.
    pub async fn write(&mut self, bytes: &str) -> bool {
        self.0.write_all(bytes.as_bytes()).await.is_ok()
    }

    /// Reads until the other side leaves, or for so long.
    pub async fn read(&mut self, ms: u64) -> (String, Left) {
        let mut bytes = Vec::new();
        let read = timeout(Duration::from_millis(ms), self.0.read_to_end(&mut bytes)).await;
        let left = match read {
            Ok(Ok(_)) => Left::Closed,
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => Left::Reset,
            Ok(Err(error)) => panic!("neither closed nor reset: {error}"),
            Err(_) => Left::Open,
        };
        (String::from_utf8(bytes).unwrap(), left)
    }

    /// Reads one answer that is framed by its length (or has no body), and keeps the connection.
    pub async fn answer(&mut self) -> String {
        let mut bytes = Vec::new();
        loop {
            let mut byte = [0];
            self.0.read_exact(&mut byte).await.unwrap();
            bytes.push(byte[0]);
            if bytes.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let head = String::from_utf8(bytes).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        head + &String::from_utf8(body).unwrap()
    }
}

/// A POST with a key (none: the empty text).
pub fn post(path: &str, key: &str, body: &str) -> String {
    let key = if key.is_empty() {
        String::new()
    } else {
        format!("Idempotency-Key: {key}\r\n")
    };
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\n{key}Content-Length: {length}\r\n\r\n{body}")
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// One request on a connection of its own; waits for so long at most.
pub async fn once(address: SocketAddr, request: &str, ms: u64) -> (String, Left) {
    let mut raw = Raw::connect(address).await;
    raw.write(request).await;
    raw.read(ms).await
}

/// One request on a connection of its own, and its whole answer.
pub async fn ask(address: SocketAddr, request: &str) -> String {
    let mut raw = Raw::connect(address).await;
    raw.write(request).await;
    raw.answer().await
}

pub fn body_of(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}
