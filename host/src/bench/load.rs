//! The load, in a process of its own: so many webhooks, so many at a time, each connection sending its next one as soon as
//! it has its answer; or so many a second, each as soon as it is due and a connection is free. Requests are bytes made beforehand in which only the event's number changes, on one thread.

use super::framing::{Inbox, broken, status};
use super::records::Delivery;
use crate::clock::monotonic_ns;
use anyhow::Context;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// What an event's id begins with; its number follows, in [`DIGITS`] digits.
pub const ID: &str = "bench-";
/// Digits of an event's number, with leading zeros: a request keeps its length.
pub const DIGITS: usize = 12;

/// What is sent.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the hosts listen; connections are spread over them.
    pub hosts: Vec<SocketAddr>,
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
    /// Webhooks due each second; 0: as many as there are answers.
    pub per_s: u64,
}

/// How often a load with a pace, which may last for hours, writes down what it saw. Any other waits for its end: what it
/// writes is time that it does not send.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Sends the load and writes what it saw to standard output, one line per webhook.
///
/// # Errors
/// A connection broke, or nobody reads the lines.
pub fn run(load: &Load) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime
        .block_on(deliver(load))
        .with_context(|| format!("sending webhooks to {:?} failed", load.hosts))
}

async fn deliver(load: &Load) -> io::Result<()> {
    let mut streams = Vec::with_capacity(load.concurrency);
    for host in load.hosts.iter().cycle().take(load.concurrency) {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        streams.push((Request::new(load, *host), stream));
    }
    let queue = Queue::new(load, monotonic_ns());
    let connections = streams
        .into_iter()
        .map(|(request, stream)| connection(request, &queue, stream));
    let all = futures::future::try_join_all(connections);
    tokio::pin!(all);
    loop {
        let ended = match load.per_s {
            0 => Some(all.as_mut().await),
            _ => tokio::time::timeout(TELL_EVERY, all.as_mut()).await.ok(),
        };
        queue.tell()?;
        if let Some(ended) = ended {
            return ended.map(drop);
        }
    }
}

/// The events that nobody has sent yet, and what became of the others.
struct Queue {
    first: u64,
    next: Cell<u64>,
    end: u64,
    begun_ns: u64,
    until_ns: u64,
    per_s: u64,
    seen: RefCell<Vec<Delivery>>,
}

impl Queue {
    fn new(load: &Load, now_ns: u64) -> Self {
        Self {
            first: load.first,
            next: Cell::new(load.first),
            end: load.first + load.events,
            begun_ns: now_ns,
            until_ns: now_ns + load.ms_max * 1_000_000,
            per_s: load.per_s,
            seen: RefCell::default(),
        }
    }

    /// The next event, and since when it waits for its answer. With a pace that is the moment at which it was due: where all
    /// connections still wait for the host, the wait for one of them is the host's as well.
    async fn take(&self) -> Option<(u64, u64)> {
        let event = self.next.get();
        self.next.set(event + 1);
        let now_ns = monotonic_ns();
        let due_ns = match self.per_s {
            0 => now_ns,
            per_s => self.begun_ns + (event - self.first).saturating_mul(1_000_000_000) / per_s,
        };
        if event >= self.end || due_ns >= self.until_ns {
            return None;
        }
        if due_ns <= now_ns {
            return Some((event, due_ns));
        }
        tokio::time::sleep(Duration::from_nanos(due_ns - now_ns)).await;
        // How exact this process's timer is must not count.
        Some((event, monotonic_ns()))
    }

    /// Writes down what was seen since the last time.
    fn tell(&self) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for delivery in self.seen.take() {
            writeln!(out, "{delivery}")?;
        }
        out.flush()
    }
}

async fn connection(mut request: Request, queue: &Queue, mut stream: TcpStream) -> io::Result<()> {
    let mut inbox = Inbox::default();
    while let Some((event, sent_ns)) = queue.take().await {
        stream.write_all(request.of(event)).await?;
        let answer = inbox.next(&mut stream).await?;
        let answer = answer.ok_or_else(|| broken("the host closed a connection instead of answering"))?;
        let status = status(answer.head).ok_or_else(|| broken("an answer has no status"))?;
        queue.seen.borrow_mut().push(Delivery {
            event,
            sent_ns,
            answered_ns: monotonic_ns(),
            status,
        });
    }
    Ok(())
}

/// The body of an event's webhook.
pub fn body(event: u64) -> String {
    format!(
        r#"{{"id":"{ID}{event:0DIGITS$}","email":"ada@example.com","name":"Ada Example","phone":"+49 151 0000001"}}"#
    )
}

/// A webhook as bytes.
struct Request {
    bytes: Vec<u8>,
    number: Range<usize>,
}

impl Request {
    fn new(load: &Load, host: SocketAddr) -> Self {
        let body = body(0);
        let head = format!(
            "POST /hooks/{} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            load.hook,
            host,
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

    fn load() -> Load {
        Load {
            hosts: vec![([127, 0, 0, 1], 80).into()],
            hook: "bench-1".to_owned(),
            first: 5,
            events: 3,
            concurrency: 1,
            ms_max: 1_000,
            per_s: 0,
        }
    }

    #[tokio::test]
    async fn events_go_out_at_the_pace_asked_for_and_no_later_than_the_end() {
        let begun_ns = monotonic_ns();
        let paced = Load { per_s: 20, ..load() };
        let queue = Queue::new(&paced, begun_ns);
        let mut due = Vec::new();
        while let Some((event, since_ns)) = queue.take().await {
            assert!(since_ns >= begun_ns + (event - 5) * 50_000_000, "not before it is due");
            due.push(event);
        }
        assert_eq!(due, [5, 6, 7], "so many events");
        let late = Queue::new(&paced, begun_ns - 70_000_000);
        assert_eq!(
            late.take().await,
            Some((5, begun_ns - 70_000_000)),
            "its wait has begun"
        );
        let over = Load { per_s: 1, ..load() };
        let over = Queue::new(&over, begun_ns - 900_000_000);
        assert_eq!(over.take().await.map(|(event, _)| event), Some(5));
        assert_eq!(over.take().await, None, "its time is over before the next is due");
    }

    #[test]
    fn a_request_carries_the_number_of_its_event_and_its_own_length() {
        let load = load();
        let mut request = Request::new(&load, load.hosts[0]);
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
