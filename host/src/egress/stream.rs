//! The byte streams of a connection: the socket below TLS, and the counting stream above it.
//!
//! The counting stream is the only way by which bytes of a request leave. Must not know HTTP.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::watch::Watch;

/// A TCP connection that is reset, not closed, when it is dropped: of a request that was cut short, what still waits in the
/// kernel must not arrive later. Shared so that the owner of a connection reaches it below TLS and the HTTP client.
pub(super) struct Socket {
    tcp: Arc<TcpStream>,
    written: u64,
}

impl Socket {
    /// Sets the reset at once, so that it also holds when this process is killed.
    pub fn new(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_zero_linger()?;
        tcp.set_nodelay(true)?;
        Ok(Self {
            tcp: Arc::new(tcp),
            written: 0,
        })
    }

    pub fn handle(&self) -> Arc<TcpStream> {
        self.tcp.clone()
    }

    fn write_with(
        &mut self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(cx))?;
            match write(&self.tcp) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    self.written += *result.as_ref().unwrap_or(&0) as u64;
                    return Poll::Ready(result);
                }
            }
        }
    }
}

/// Ends a connection in the ordinary way. For exchanges that ended cleanly, where nothing can arrive late.
pub(super) fn close_politely(tcp: &TcpStream) {
    let socket = SockRef::from(tcp);
    // Where this fails the drop resets the connection, which harms nobody.
    let _ = socket.set_linger(None).and_then(|()| socket.shutdown(Shutdown::Write));
}

/// Whether an idle connection was closed by the other side, or holds bytes that nobody asked for. Asks the kernel itself: the
/// runtime hears of it only later.
pub(super) fn is_disturbed(tcp: &TcpStream) -> bool {
    let mut byte = [std::mem::MaybeUninit::uninit()];
    !matches!(SockRef::from(tcp).peek(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(cx))?;
            match self.tcp.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write_with(cx, |tcp| tcp.try_write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write_with(cx, |tcp| tcp.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.tcp).shutdown(Shutdown::Write))
    }
}

/// What the HTTP client writes to.
pub(super) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

impl Transport {
    pub fn handle(&self) -> Arc<TcpStream> {
        self.socket().handle()
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    fn as_write(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Plain(socket) => Pin::new(socket),
            Self::Tls(stream) => Pin::new(&mut **stream),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
        }
    }
}

/// The counts of a connection, shared between its stream and its owner; never contended.
#[derive(Clone, Default)]
pub(super) struct SharedWatch(Arc<Mutex<Watch>>);

impl SharedWatch {
    pub fn lock(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sits above TLS and counts plain bytes.
pub(super) struct Counted {
    transport: Transport,
    watch: SharedWatch,
}

impl Counted {
    pub fn new(transport: Transport, watch: SharedWatch) -> Self {
        Self { transport, watch }
    }

    fn write_counted(
        &mut self,
        parts: &[IoSlice<'_>],
        write: impl FnOnce(Pin<&mut (dyn AsyncWrite + Send + Unpin)>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let mut watch = self.watch.lock();
        watch.may_write().map_err(io::Error::other)?;
        let written_before = self.transport.socket().written;
        let result = write(self.transport.as_write());
        let taken = match &result {
            Poll::Ready(Ok(bytes)) => *bytes,
            // TLS may have sent a part of what it was given before it failed, and does not say how much. Whatever reached
            // the socket in this call counts as all of it.
            Poll::Ready(Err(_)) if self.transport.socket().written > written_before => usize::MAX,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        count(&mut watch, parts, taken);
        result
    }
}

fn count(watch: &mut Watch, parts: &[IoSlice<'_>], mut taken: usize) {
    for part in parts {
        let bytes = taken.min(part.len());
        watch.handed_over(&part[..bytes]);
        taken -= bytes;
    }
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let filled_before = buf.filled().len();
        ready!(self.transport.poll_read(cx, buf))?;
        let mut watch = self.watch.lock();
        watch.received(&buf.filled()[filled_before..]);
        // Here and not when the head is whole: the HTTP client reads an unfinished head anew with every piece of it.
        if watch.head_too_large() {
            Poll::Ready(Err(io::Error::other("head too large")))
        } else {
            Poll::Ready(Ok(()))
        }
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write_counted(&[IoSlice::new(bytes)], |stream| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write_counted(parts, |stream| stream.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.as_write().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.as_write().poll_shutdown(cx)
    }
}
