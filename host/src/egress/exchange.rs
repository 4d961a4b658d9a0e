//! One request and its answer on one connection, bounded in every direction. Says what came back or why nothing whole did;
//! what that proves is decided by counts, one floor up.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Version, header};
use http_body_util::{BodyExt, Full};
use tokio::time::sleep;

use super::ExchangeLimits;
use super::connection::{Answering, Connection};
use super::stream::SharedWatch;

/// An answer read to the end of its framing.
pub(super) struct Raw {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub after: After,
}

/// What becomes of the connection after a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// It may carry another request.
    Keep,
    /// One side wants no more on it.
    Close,
    /// It no longer speaks HTTP, or it is unclear where the answer ended.
    Reset,
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("no whole answer within {0} ms")]
    Timeout(u64),
    #[error("the answer came too slowly: less than {bytes} bytes in {ms} ms")]
    Slow { bytes: u64, ms: u64 },
    #[error("the connection ended before the answer was whole: {0}")]
    Broken(String),
    #[error("it was answered {0} before the request was whole")]
    Early(StatusCode),
    #[error("the headers of the answer are larger than {0} bytes")]
    HeadTooLarge(usize),
    #[error("the body of the answer is larger than {0} bytes; ask for less, or raise the limit of the connection")]
    BodyTooLarge(usize),
    #[error(
        "the answer ({0}) has neither Content-Length nor chunked framing: its end cannot be told from a broken connection"
    )]
    Unframed(StatusCode),
    #[error("the body of the answer cannot be decoded: {0}")]
    Encoding(String),
    #[error("{0}")]
    Closed(#[from] super::watch::Closed),
}

/// Sends `request` and reads its answer. `unframed` answers (ended by the end of the connection) are taken only from reads
/// over TLS, where the end itself is authenticated.
pub(super) async fn exchange(
    connection: &mut Connection,
    request: Request<Full<Bytes>>,
    unframed: bool,
    limits: &ExchangeLimits,
) -> Result<Raw, Fault> {
    let watch = connection.watch().clone();
    let unframed = unframed && connection.tls();
    let result = tokio::select! {
        biased;
        result = send_and_read(connection, request, unframed, limits) => result,
        slow = too_slow(&watch, limits) => Err(slow),
        () = pass(limits.timeout_ms) => Err(Fault::Timeout(limits.timeout_ms)),
    };
    let watch = watch.lock();
    match (result, watch.refused()) {
        (Err(_), Some(closed)) => Err(closed.into()),
        (Err(_), None) if watch.head_too_large() => Err(Fault::HeadTooLarge(limits.header_bytes_max)),
        (result, _) => result,
    }
}

async fn send_and_read(
    connection: &mut Connection,
    request: Request<Full<Bytes>>,
    unframed: bool,
    limits: &ExchangeLimits,
) -> Result<Raw, Fault> {
    let method = request.method().clone();
    let answering = connection.request(request);
    let answer = connection.drive(answering).await.ok_or_else(ended)?.map_err(broken)?;
    let status = answer.status();
    if connection.watch().lock().is_answered_early() {
        return Err(Fault::Early(status));
    }
    let framing = framing(&method, &answer);
    if framing == Framing::UntilClose && !unframed {
        return Err(Fault::Unframed(status));
    }
    let after = after(&answer, framing);
    let (head, body) = answer.into_parts();
    let body = read_body(connection, body, limits).await?;
    Ok(Raw {
        status,
        headers: head.headers,
        body,
        after,
    })
}

async fn read_body(
    connection: &mut Connection,
    mut body: hyper::body::Incoming,
    limits: &ExchangeLimits,
) -> Result<Vec<u8>, Fault> {
    let too_large = || Fault::BodyTooLarge(limits.body_bytes_max);
    if hyper::body::Body::size_hint(&body).lower() > limits.body_bytes_max as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = connection.drive(body.frame()).await.ok_or_else(ended)? {
        // Trailers are dropped: nothing in the contract of a connector speaks of them.
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > limits.body_bytes_max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Ends when an answer that has begun brings less than it must. Before the answer begins only the timeout counts: a
/// destination may think.
async fn too_slow(watch: &SharedWatch, limits: &ExchangeLimits) -> Fault {
    let mut before = 0;
    loop {
        pass(limits.progress_ms.max(1)).await;
        let now = watch.lock().answer_bytes();
        if before > 0 && now - before < limits.progress_bytes_min {
            return Fault::Slow {
                bytes: limits.progress_bytes_min,
                ms: limits.progress_ms,
            };
        }
        before = now;
    }
}

/// Lets so much time pass. The last moment of it begins only when all else is over: a process that was stopped in between sees
/// first that its time is over, and then that an answer has been there for long. It counts.
async fn pass(ms: u64) {
    const LAST: Duration = Duration::from_millis(20);
    let time = Duration::from_millis(ms);
    let last = time.min(LAST);
    sleep(time - last).await;
    sleep(last).await;
}

/// How the end of a body is known (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// There is no body.
    None,
    /// By length or chunks.
    Clear,
    /// By chunks, with a length beside them: read, but somebody on the way may have read it otherwise.
    Doubtful,
    /// By the end of the connection.
    UntilClose,
}

fn framing(method: &Method, answer: &Answering) -> Framing {
    let headers = answer.headers();
    let status = answer.status();
    if method == Method::HEAD || status.is_informational() || matches!(status.as_u16(), 204 | 304) {
        return Framing::None;
    }
    let codings = headers.get_all(header::TRANSFER_ENCODING).iter().next_back();
    let chunked = codings.map(|value| {
        let last = value.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
        last.trim_ascii().eq_ignore_ascii_case(b"chunked")
    });
    match (chunked, headers.contains_key(header::CONTENT_LENGTH)) {
        (Some(true), false) | (None, true) => Framing::Clear,
        (Some(true), true) => Framing::Doubtful,
        (Some(false), _) | (None, false) => Framing::UntilClose,
    }
}

fn after(answer: &Answering, framing: Framing) -> After {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS || framing == Framing::Doubtful {
        return After::Reset;
    }
    let closing = answer.headers().get_all(header::CONNECTION).iter().any(|value| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"close"))
    });
    let lasting = answer.version() == Version::HTTP_11 && framing != Framing::UntilClose && !closing;
    if lasting { After::Keep } else { After::Close }
}

fn ended() -> Fault {
    Fault::Broken("closed by the destination".into())
}

fn broken(error: hyper::Error) -> Fault {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    Fault::Broken(format!("{error}{}", cause.unwrap_or_default()))
}
