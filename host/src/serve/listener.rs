//! The open port: so many connections at the same time, and none that says nothing; one more is told so at once. Behind it
//! every request belongs to axum.
//!
//! `axum::serve` bounds neither: strangers who open connections and send half a head would take every file descriptor of
//! the process, and the destinations could not be reached for want of one.

mod turned_away;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;
use turned_away::TurnedAway;

/// A whole head must have come within this time; also how long a kept connection may be idle.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// What of a request is read ahead, and its longest head. What is not taken on yet waits in the system's buffers: read ahead
/// for every open connection it would be much.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// When the system has no descriptor for one more connection, how long to wait before the next try.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Serves until `stop`, then lets the requests under way end.
pub async fn run(listener: TcpListener, app: Router, connections_max: usize, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(connections_max));
    let mut turned_away = TurnedAway::default();
    let connections = TaskTracker::new();
    while let Some((stream, peer)) = next(&listener, &stop).await {
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => drop(connections.spawn(serve(stream, peer, app.clone(), stop.clone(), place))),
            Err(_) => turned_away.next(stream, connections_max),
        }
    }
    connections.close();
    connections.wait().await;
}

/// The next connection.
async fn next(listener: &TcpListener, stop: &CancellationToken) -> Option<(TcpStream, SocketAddr)> {
    let accepted = async {
        loop {
            match listener.accept().await {
                Ok(accepted) => return Some(accepted),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    };
    tokio::select! {
        accepted = accepted => accepted,
        () = stop.cancelled() => None,
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    // A short answer must not wait for the next one.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}
