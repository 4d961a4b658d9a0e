//! One open connection with the HTTP client on it. It is polled by whoever uses it and by nobody else, so that no byte moves
//! behind the back of an exchange.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::stream::{Counted, SharedWatch, Transport, close_politely, is_disturbed};

/// The HTTP client's own bound on one head; an exchange sets a tighter one.
const HEAD_BYTES_MAX: usize = 1 << 20;
/// Headers in one answer.
const HEADERS_MAX: usize = 256;

type Client = http1::Connection<TokioIo<Counted>, Full<Bytes>>;

/// Dropped, it is reset. `finish` closes it in the ordinary way.
pub(super) struct Connection {
    client: Client,
    sender: http1::SendRequest<Full<Bytes>>,
    finished: bool,
    tcp: Arc<TcpStream>,
    watch: SharedWatch,
    peer: SocketAddr,
    tls: bool,
}

impl Connection {
    pub async fn new(transport: Transport, peer: SocketAddr) -> hyper::Result<Self> {
        let watch = SharedWatch::default();
        let tcp = transport.handle();
        let tls = matches!(transport, Transport::Tls(_));
        let io = TokioIo::new(Counted::new(transport, watch.clone()));
        let (sender, client) = http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            .handshake(io)
            .await?;
        Ok(Self {
            client,
            sender,
            finished: false,
            tcp,
            watch,
            peer,
            tls,
        })
    }

    pub fn watch(&self) -> &SharedWatch {
        &self.watch
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub fn tls(&self) -> bool {
        self.tls
    }

    pub fn request(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<Answering>> + use<> {
        self.sender.send_request(request)
    }

    /// Runs the connection until `wanted` is there, or until the connection has ended without it (`None`).
    pub async fn drive<T>(&mut self, wanted: impl Future<Output = T>) -> Option<T> {
        let mut wanted = pin!(wanted);
        std::future::poll_fn(|cx| {
            self.poll(cx);
            match wanted.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(Some(value)),
                Poll::Pending if self.finished => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Whether it could carry another request, and nothing came meanwhile that nobody asked for.
    pub fn is_reusable(&mut self) -> bool {
        self.is_at_rest() && !is_disturbed(&self.tcp)
    }

    /// Whether the last answer was read to its end and nothing of it was left over.
    pub fn is_at_rest(&mut self) -> bool {
        // Twice: the first look may end the last exchange, the second sees what lies behind it.
        for _ in 0..2 {
            self.poll(&mut Context::from_waker(Waker::noop()));
        }
        !self.finished && self.sender.is_ready()
    }

    pub fn finish(self) {
        close_politely(&self.tcp);
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        // Without shutdown: the client would say goodbye to a connection that has to be reset.
        self.finished = self.finished || self.client.poll_without_shutdown(cx).is_ready();
    }
}

/// An answer whose head was read.
pub(super) type Answering = http::Response<hyper::body::Incoming>;
