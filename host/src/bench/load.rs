//! The load, in a process of its own: so many webhooks, so many at a time, each connection sending its next one as soon as
//! it has its answer. Requests are bytes made beforehand in which only the event's number changes, on one thread.

use super::framing::{Inbox, broken, status};
use super::records::Delivery;
use crate::clock::monotonic_ns;
use anyhow::Context;
use std::cell::Cell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::Range;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// What an event's id begins with; its number follows, in [`DIGITS`] digits.
pub const ID: &str = "bench-";
/// Digits of an event's number, with leading zeros: a request keeps its length.
pub const DIGITS: usize = 12;

/// What is sent.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the host listens.
    pub host: SocketAddr,
    /// The path below `/hooks/`.
    pub hook: String,
    /// The number of the first event.
    pub first: u64,
    /// How many events at most.
    pub events: u64,
    /// Connections, each with one request under way.
    pub concurrency: usize,
    /// No request is begun later than this after the first.
    pub ms_max: u64,
}

/// Sends the load and then writes what it saw to standard output, one line per webhook.
///
/// # Errors
/// A connection broke, or nobody reads the lines.
pub fn run(load: &Load) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let deliveries = runtime
        .block_on(deliver(load))
        .with_context(|| format!("sending webhooks to {} failed", load.host))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for delivery in deliveries {
        writeln!(out, "{delivery}")?;
    }
    Ok(out.flush()?)
}

async fn deliver(load: &Load) -> io::Result<Vec<Delivery>> {
    let mut streams = Vec::with_capacity(load.concurrency);
    for _ in 0..load.concurrency {
        let stream = TcpStream::connect(load.host).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let queue = Queue {
        next: Cell::new(load.first),
        end: load.first + load.events,
        until_ns: monotonic_ns() + load.ms_max * 1_000_000,
    };
    let connections = streams.into_iter().map(|stream| connection(load, &queue, stream));
    Ok(futures::future::try_join_all(connections).await?.concat())
}

/// The events that nobody has sent yet.
struct Queue {
    next: Cell<u64>,
    end: u64,
    until_ns: u64,
}

impl Queue {
    fn take(&self) -> Option<u64> {
        let event = self.next.get();
        self.next.set(event + 1);
        (event < self.end && monotonic_ns() < self.until_ns).then_some(event)
    }
}

async fn connection(load: &Load, queue: &Queue, mut stream: TcpStream) -> io::Result<Vec<Delivery>> {
    let mut request = Request::new(load);
    let (mut inbox, mut deliveries) = (Inbox::default(), Vec::new());
    while let Some(event) = queue.take() {
        let bytes = request.of(event);
        let sent_ns = monotonic_ns();
        stream.write_all(bytes).await?;
        let answer = inbox.next(&mut stream).await?;
        let answer = answer.ok_or_else(|| broken("the host closed a connection instead of answering"))?;
        deliveries.push(Delivery {
            event,
            sent_ns,
            answered_ns: monotonic_ns(),
            status: status(answer.head).ok_or_else(|| broken("an answer has no status"))?,
        });
    }
    Ok(deliveries)
}

/// A webhook as bytes.
struct Request {
    bytes: Vec<u8>,
    number: Range<usize>,
}

impl Request {
    fn new(load: &Load) -> Self {
        let body = format!(
            r#"{{"id":"{ID}{:0DIGITS$}","email":"ada@example.com","name":"Ada Example","phone":"+49 151 0000001"}}"#,
            0
        );
        let head = format!(
            "POST /hooks/{} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            load.hook,
            load.host,
            body.len()
        );
        let begins = head.len() + r#"{"id":""#.len() + ID.len();
        Self {
            bytes: (head + &body).into_bytes(),
            number: begins..begins + DIGITS,
        }
    }

    fn of(&mut self, event: u64) -> &[u8] {
        let mut rest = event;
        for digit in self.bytes[self.number.clone()].iter_mut().rev() {
            // A remainder of ten is a digit.
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_carries_the_number_of_its_event_and_its_own_length() {
        let load = Load {
            host: ([127, 0, 0, 1], 80).into(),
            hook: "bench-1".to_owned(),
            first: 0,
            events: 1,
            concurrency: 1,
            ms_max: 1,
        };
        let mut request = Request::new(&load);
        for (event, id) in [(7, "bench-000000000007"), (1_234_567, "bench-000001234567")] {
            let text = String::from_utf8(request.of(event).to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("POST /hooks/bench-1 HTTP/1.1\r\n"), "{head}");
            assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["id"], id);
        }
    }
}
