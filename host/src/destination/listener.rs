//! The port of a service: takes connections, or refuses them for a while without giving the port away.

use super::connection::Connection;
use super::service::Service;
use super::shared::Shared;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Connections that a service serves at a time; more wait in the kernel.
const CONNECTIONS_MAX: usize = 1_024;
const BACKLOG: u32 = 1_024;

/// A handle to open and close a port with.
pub(super) struct Door(mpsc::Sender<Turn>);

struct Turn {
    open: bool,
    done: oneshot::Sender<bool>,
}

impl Door {
    pub fn new() -> (Door, Turns) {
        let (send, receive) = mpsc::channel(8);
        (Door(send), Turns(receive))
    }

    /// Returns once it is so; `false`: it could not be done.
    pub async fn set_open(&self, open: bool) -> bool {
        let (done, when_done) = oneshot::channel();
        self.0.send(Turn { open, done }).await.is_ok() && when_done.await.unwrap_or(false)
    }
}

/// The listener's side of a [`Door`].
pub(super) struct Turns(mpsc::Receiver<Turn>);

enum Port {
    Open(TcpListener),
    /// Bound, so that nobody else gets it, and not listening, so that connections are refused.
    Refusing(TcpSocket),
}

/// A listener on loopback; port 0: any free one.
///
/// # Errors
/// Where the port cannot be had.
pub(super) async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// A bound socket that does not listen: connecting to its address is refused as long as it is kept.
///
/// # Errors
/// Where the port cannot be had.
pub(super) fn refusing(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Serves until dropped, and takes its connections with it.
pub(super) async fn run(shared: Arc<Shared>, service: Service, listener: TcpListener, mut turns: Turns) {
    let Ok(address) = listener.local_addr() else { return };
    let open = watch::Sender::new(true);
    let mut connections = JoinSet::new();
    let mut port = Port::Open(listener);
    loop {
        while connections.try_join_next().is_some() {}
        tokio::select! {
            Some(turn) = turns.0.recv() => {
                port = match turned(port, address, turn.open) {
                    Ok(port) => port,
                    // The port is lost; nothing would ever be served here again, and the sender learns it.
                    Err(_) => return,
                };
                open.send_replace(turn.open);
                let _ = turn.done.send(true);
            }
            Some(stream) = accept(&port), if connections.len() < CONNECTIONS_MAX => {
                let number = shared.next_connection();
                let (shared, service) = (Arc::clone(&shared), service.clone());
                let connection = Connection { shared, service, number, open: open.subscribe() };
                connections.spawn(connection.serve(stream));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            else => return,
        }
    }
}

async fn accept(port: &Port) -> Option<TcpStream> {
    match port {
        Port::Open(listener) => loop {
            // A connection that is gone before it was taken is no reason to stop.
            if let Ok((stream, _)) = listener.accept().await {
                return Some(stream);
            }
        },
        Port::Refusing(_) => std::future::pending().await,
    }
}

fn turned(port: Port, address: SocketAddr, open: bool) -> io::Result<Port> {
    match (port, open) {
        (Port::Open(listener), false) => {
            drop(listener);
            refusing(address).map(Port::Refusing)
        }
        (Port::Refusing(socket), true) => socket.listen(BACKLOG).map(Port::Open),
        (port @ Port::Open(_), true) | (port @ Port::Refusing(_), false) => Ok(port),
    }
}
