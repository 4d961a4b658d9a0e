//! Writes an answer, or as much of it as a behaviour lets through.

use super::script::{Answer, Behaviour, Cut, End, Framing};
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// An answer before it is cut.
struct Bytes {
    head: Vec<u8>,
    body: Vec<u8>,
}

/// Writes what the behaviour says, `usual` being what a well-behaved service would say. Returns whether the exchange ended
/// so that the connection can carry another one.
///
/// # Errors
/// Where the client is gone.
pub(super) async fn write(
    stream: &mut TcpStream,
    behaviour: &Behaviour,
    usual: (u16, &str),
    keep_alive: bool,
) -> io::Result<bool> {
    let keep = behaviour.end != End::Keep || keep_alive;
    let bytes = match &behaviour.answer {
        Answer::Silence => return Ok(false),
        Answer::Raw(text) => {
            stream.write_all(text.as_bytes()).await?;
            return Ok(false);
        }
        Answer::Usual => framed(usual.0, &[], usual.1, behaviour.framing, keep),
        Answer::Own { status, headers, body } => framed(*status, headers, body, behaviour.framing, keep),
    };
    let body = match behaviour.cut {
        Cut::AfterHead => &[],
        Cut::HalfBody => &bytes.body[..bytes.body.len() / 2],
        Cut::Whole => &bytes.body[..],
    };
    if behaviour.pace_ms == 0 {
        stream.write_all(&[&bytes.head, body].concat()).await?;
    } else {
        stream.write_all(&bytes.head).await?;
        for byte in body {
            tokio::time::sleep(Duration::from_millis(behaviour.pace_ms)).await;
            stream.write_all(&[*byte]).await?;
        }
    }
    let whole = behaviour.cut == Cut::Whole && behaviour.framing != Framing::UntilClose;
    Ok(whole && keep_alive)
}

fn framed(status: u16, headers: &[(String, String)], body: &str, framing: Framing, keep: bool) -> Bytes {
    // RFC 9110 section 8.6: these carry neither a body nor its length.
    let bodiless = matches!(status, 100..=199 | 204 | 304);
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    let has_type = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let mut line = |name: &str, value: &str| {
        head.push_str(&format!("{name}: {value}\r\n"));
    };
    headers.iter().for_each(|(name, value)| line(name, value));
    if !has_type && !bodiless {
        line("content-type", "application/json");
    }
    let body = match (bodiless, framing) {
        (true, _) => Vec::new(),
        (false, Framing::Length) => {
            line("content-length", &body.len().to_string());
            body.as_bytes().to_vec()
        }
        (false, Framing::Chunked) => {
            line("transfer-encoding", "chunked");
            chunked(body)
        }
        (false, Framing::UntilClose) => body.as_bytes().to_vec(),
    };
    if !keep {
        line("connection", "close");
    }
    head.push_str("\r\n");
    Bytes {
        head: head.into_bytes(),
        body,
    }
}

fn chunked(body: &str) -> Vec<u8> {
    // Two chunks, so that a reader which takes one for all is found out.
    let (first, second) = body.as_bytes().split_at(body.len() / 2);
    let mut bytes = Vec::new();
    for chunk in [first, second].into_iter().filter(|chunk| !chunk.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn reason(status: u16) -> &'static str {
    match status {
        100..=199 => "Going On",
        200 => "OK",
        201 => "Created",
        202..=299 => "Done",
        300..=399 => "Elsewhere",
        400..=499 => "Refused",
        _ => "Failed",
    }
}
