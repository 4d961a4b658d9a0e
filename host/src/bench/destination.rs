//! The destination, in a process of its own, and the judge: it counts the requests under each idempotency key and answers
//! each at once. Leaner than the scripted one, which misbehaves as told and keeps every request: here its CPU time would be
//! taken from the host's.
//!
//! It says where it listens on standard output and then answers the words on standard input: `count` with the number of
//! requests so far, `take` with the number of keys and a line for each, which it then forgets. It ends with its input.

use super::framing::{Inbox, broken, header, number};
use super::load::{DIGITS, ID};
use super::records::Effect;
use crate::clock::monotonic_ns;
use anyhow::bail;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// Where it takes effects; the step's number follows.
pub const PATH: &str = "/effects/";

const ANSWER: &[u8] =
    b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{\"id\":\"effect-4711\"}";

/// Everything that happened here.
#[derive(Default)]
struct Tally {
    requests: u64,
    effects: HashMap<Box<[u8]>, Effect>,
}

type Shared = Arc<Mutex<Tally>>;

/// Serves until standard input ends.
///
/// # Errors
/// No port can be had, or nobody reads what it says.
pub fn run() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    let tally = Shared::default();
    let served = Arc::clone(&tally);
    // Never joined: it ends with the process.
    std::thread::spawn(move || runtime.block_on(serve(&listener, served)));
    for line in io::stdin().lines() {
        match line?.as_str() {
            "count" => writeln!(out, "{}", lock(&tally).requests)?,
            "take" => {
                let effects = std::mem::take(&mut lock(&tally).effects);
                writeln!(out, "{}", effects.len())?;
                for effect in effects.values() {
                    writeln!(out, "{effect}")?;
                }
            }
            other => bail!("the destination knows `count` and `take`, and not {other:?}"),
        }
        out.flush()?;
    }
    Ok(())
}

fn lock(tally: &Shared) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: &TcpListener, tally: Shared) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let tally = Arc::clone(&tally);
                tokio::spawn(async move {
                    match connection(stream, &tally).await {
                        Ok(()) => {}
                        // How the host closes a connection that it keeps no longer. What is missing by it is counted as lost.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                        Err(error) => eprintln!("oncegate: the bench's destination: {error}"),
                    }
                });
            }
            Err(error) => eprintln!("oncegate: the bench's destination: {error}"),
        }
    }
}

async fn connection(mut stream: TcpStream, tally: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut inbox = Inbox::default();
    while let Some(message) = inbox.next(&mut stream).await? {
        let at_ns = monotonic_ns();
        let (key, effect) = effect_of(message.head, message.body, at_ns)
            .ok_or_else(|| broken("a request is not one of the bench's flows"))?;
        lock(tally).note(key, effect);
        stream.write_all(ANSWER).await?;
    }
    Ok(())
}

impl Tally {
    fn note(&mut self, key: &[u8], effect: Effect) {
        self.requests += 1;
        match self.effects.get_mut(key) {
            Some(known) => known.times += 1,
            None => drop(self.effects.insert(key.into(), effect)),
        }
    }
}

/// The key of a request, and which step of which event it is about.
fn effect_of<'a>(head: &'a [u8], body: &[u8], at_ns: u64) -> Option<(&'a [u8], Effect)> {
    let path = head.strip_prefix(b"POST ")?.strip_prefix(PATH.as_bytes())?;
    let step = number(path.split(|byte| *byte == b' ').next()?)?;
    let id = body.windows(ID.len()).position(|window| window == ID.as_bytes())? + ID.len();
    let effect = Effect {
        event: number(body.get(id..id + DIGITS)?)?,
        step,
        at_ns,
        times: 1,
    };
    Some((header(head, "idempotency-key")?, effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"POST /effects/2 HTTP/1.1\r\nIdempotency-Key: og1_a\r\ncontent-length: 27\r\n\r\n";

    #[test]
    fn a_key_that_comes_twice_is_one_effect_that_happened_twice() {
        let mut tally = Tally::default();
        for (key, at_ns) in [("a", 1), ("b", 2), ("a", 3)] {
            let (_, effect) = effect_of(HEAD, br#"{"id":"bench-000000000012"}"#, at_ns).unwrap();
            tally.note(key.as_bytes(), effect);
        }
        let of = |key: &str| tally.effects[key.as_bytes()];
        assert_eq!((tally.requests, of("a").times, of("b").times), (3, 2, 1));
        assert_eq!((of("a").event, of("a").step, of("a").at_ns), (12, 2, 1));
    }

    #[test]
    fn a_request_without_key_or_event_is_not_one_of_ours() {
        assert_eq!(
            effect_of(HEAD, br#"{"id":"bench-000000000012"}"#, 0).map(|(key, _)| key),
            Some(b"og1_a".as_slice())
        );
        assert_eq!(effect_of(HEAD, br#"{"id":"other"}"#, 0), None);
        let keyless = b"POST /effects/2 HTTP/1.1\r\n\r\n";
        assert_eq!(effect_of(keyless, br#"{"id":"bench-000000000012"}"#, 0), None);
    }

    #[tokio::test]
    async fn the_answer_is_framed_rightly() {
        let (mut inbox, mut wire) = (Inbox::default(), ANSWER);
        let answer = inbox.next(&mut wire).await.unwrap().unwrap();
        assert_eq!(answer.body, br#"{"id":"effect-4711"}"#);
        assert!(inbox.next(&mut wire).await.unwrap().is_none());
    }
}
