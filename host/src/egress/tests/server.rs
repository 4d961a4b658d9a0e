//! A server that does what a test tells it, byte by byte, and counts what it really received.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Server {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

/// Bytes that a connection brought.
type Seen = Arc<Mutex<Vec<u8>>>;

/// One connection as the server sees it.
pub struct Peer {
    pub stream: Box<dyn Stream>,
    seen: Seen,
    reset: Option<Arc<dyn Fn() + Send + Sync>>,
}

pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Server {
    /// Runs `script` for every connection. What arrives after its end is counted as well, and thrown away.
    pub async fn start<F, R>(script: F) -> Self
    where
        F: Fn(Peer) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<Option<Peer>>> + Send + 'static,
    {
        Self::start_over(script, |tcp| async { Ok(Box::new(tcp) as Box<dyn Stream>) }).await
    }

    /// The same above another layer, such as TLS.
    pub async fn start_over<F, R, L, M>(script: F, layer: L) -> Self
    where
        F: Fn(Peer) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<Option<Peer>>> + Send + 'static,
        L: Fn(TcpStream) -> M + Send + Sync + 'static,
        M: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let (all, script, layer) = (connections.clone(), Arc::new(script), Arc::new(layer));
        let task = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let seen = Seen::default();
                all.lock().unwrap().push(seen.clone());
                let (script, layer) = (script.clone(), layer.clone());
                tokio::spawn(async move {
                    let socket = Arc::new(socket2::SockRef::from(&tcp).try_clone().unwrap());
                    let linger = move || socket.set_linger(Some(Duration::ZERO)).unwrap();
                    let Ok(stream) = layer(tcp).await else { return };
                    let peer = Peer {
                        stream,
                        seen,
                        reset: Some(Arc::new(linger)),
                    };
                    if let Ok(Some(mut peer)) = script(peer).await {
                        peer.drain().await;
                    }
                });
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What each connection brought so far.
    pub fn seen(&self) -> Vec<Vec<u8>> {
        self.connections
            .lock()
            .unwrap()
            .iter()
            .map(|seen| seen.lock().unwrap().clone())
            .collect()
    }

    /// What all connections brought, once nothing more comes.
    pub async fn bytes(&self) -> u64 {
        tokio::time::sleep(Duration::from_millis(30)).await;
        self.seen().iter().map(|seen| seen.len() as u64).sum()
    }

    pub fn text(&self) -> String {
        self.seen()
            .iter()
            .map(|seen| String::from_utf8_lossy(seen).into_owned())
            .collect()
    }

    pub fn requests(&self) -> usize {
        self.text().matches(" HTTP/1.1\r\n").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Peer {
    /// Reads until `bytes` more have come; fewer where the other side ends.
    pub async fn read(&mut self, bytes: usize) -> io::Result<usize> {
        let mut left = bytes;
        let mut buffer = vec![0; 16 << 10];
        while left > 0 {
            let most = left.min(buffer.len());
            let count = self.stream.read(&mut buffer[..most]).await?;
            if count == 0 {
                break;
            }
            self.seen.lock().unwrap().extend_from_slice(&buffer[..count]);
            left -= count;
        }
        Ok(bytes - left)
    }

    /// Reads a head, byte by byte so that nothing of the body is taken; an empty text where the other side ended.
    pub async fn head(&mut self) -> io::Result<String> {
        let from = self.seen.lock().unwrap().len();
        loop {
            if self.read(1).await? == 0 {
                return Ok(String::new());
            }
            let seen = self.seen.lock().unwrap();
            if seen[from..].ends_with(b"\r\n\r\n") {
                return Ok(String::from_utf8_lossy(&seen[from..]).into_owned());
            }
        }
    }

    /// Reads a whole request with a Content-Length, or none.
    pub async fn request(&mut self) -> io::Result<String> {
        let head = self.head().await?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        self.read(length.unwrap_or(0)).await?;
        Ok(head)
    }

    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Ends with a reset.
    pub fn reset(mut self) -> io::Result<Option<Peer>> {
        (self.reset.take().unwrap())();
        Ok(None)
    }

    /// Ends in the ordinary way.
    pub async fn close(mut self) -> io::Result<Option<Peer>> {
        self.stream.shutdown().await?;
        Ok(None)
    }

    /// Goes on counting.
    pub fn stay(self) -> io::Result<Option<Peer>> {
        Ok(Some(self))
    }

    async fn drain(&mut self) {
        while let Ok(1..) = self.read(usize::MAX).await {}
    }
}
