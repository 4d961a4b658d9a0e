//! Connections for which there is no place. Whatever they ask for, the answer is 503: their senders come again, and whoever
//! would only wait could not tell a busy host from one that is away.

use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// So many are being answered at the same time; more are closed without a word.
const AT_ONCE_MAX: usize = 64;
/// How long one of them may take to begin to ask. A client that is answered before takes that for a fault of the connection.
const ASKS_WITHIN: Duration = Duration::from_secs(1);
/// And how long to go. Closed at once, what it still sends would be met with a reset, and the reset would
/// overtake the answer.
const GONE_WITHIN: Duration = Duration::from_secs(1);
/// And how much it may send meanwhile.
const BYTES_MAX: u64 = 1 << 20;
/// How often the log says that it happens.
const SAY_EVERY: Duration = Duration::from_secs(10);

const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
content-type: application/problem+json\r\ncontent-length: 91\r\n\r\n\
{\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many connections; send it again\"}";

/// Who was turned away.
pub struct TurnedAway {
    at_once: Arc<Semaphore>,
    since_said: u64,
    said: Option<Instant>,
}

impl Default for TurnedAway {
    fn default() -> Self {
        Self {
            at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
            since_said: 0,
            said: None,
        }
    }
}

impl TurnedAway {
    /// One more.
    pub fn next(&mut self, stream: TcpStream, connections_max: usize) {
        self.since_said += 1;
        if self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            let turned_away = std::mem::take(&mut self.since_said);
            self.said = Some(Instant::now());
            tracing::warn!(
                connections_max,
                turned_away,
                "all connections are taken; more are answered 503"
            );
        }
        let Ok(place) = Arc::clone(&self.at_once).try_acquire_owned() else {
            return;
        };
        tokio::spawn(async move {
            // However it ends, there is nobody to tell.
            let _ = answer(stream).await;
            drop(place);
        });
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    // Who says nothing is told all the same.
    if let Ok(asked) = timeout(ASKS_WITHIN, stream.read_u8()).await {
        asked?;
    }
    let gone = timeout(GONE_WITHIN, async {
        stream.write_all(ANSWER).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(BYTES_MAX), &mut tokio::io::sink()).await
    });
    gone.await?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_whole() {
        let text = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["status"], 503);
    }
}
