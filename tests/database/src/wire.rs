//! A wire to a database that tests can cut: between hosts and the server, byte for byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use std::str::FromStr;

/// What the wire does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It carries everything.
    None,
    /// It is cut: connections end, and new ones are closed at once.
    Cut,
    /// The next COMMIT reaches the server, and its answer is lost with the connection; then it carries again.
    LoseAnswerToCommit,
    /// The next COMMIT is lost with the connection; then it carries again.
    LoseCommit,
}

/// See the module's words.
pub struct Wire {
    address: String,
    state: Arc<Mutex<State>>,
}

struct State {
    fault: Fault,
    open: Vec<TcpStream>,
}

/// The server's end.
enum Server {
    Socket(PathBuf),
    Address(String),
}

impl Wire {
    /// A wire to the database that `url` names.
    ///
    /// # Panics
    /// There is no free port.
    pub fn to(url: &str) -> Wire {
        let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let server = match options.get_socket() {
            Some(folder) => Server::Socket(folder.join(format!(".s.PGSQL.{}", options.get_port()))),
            None => Server::Address(format!("{}:{}", options.get_host(), options.get_port())),
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
        let port = listener.local_addr().map_or(0, |address| address.port());
        let state = Arc::new(Mutex::new(State {
            fault: Fault::None,
            open: Vec::new(),
        }));
        let carrying = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                carry(client, &server, &carrying);
            }
        });
        // Only where it leads is another: user, password and database stay.
        let (head, tail) = url.split_once("://").unwrap_or(("postgres", url));
        let (user, path) = match tail.split_once('@') {
            Some((user, path)) => (format!("{user}@"), path),
            None => (String::new(), tail),
        };
        let database = path.split_once('/').map_or("", |(_, database)| database);
        Wire {
            address: format!("{head}://{user}127.0.0.1:{port}/{database}"),
            state,
        }
    }

    /// The database at this end of the wire.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Begins a fault, or ends it.
    pub fn set(&self, fault: Fault) {
        let mut state = lock(&self.state);
        state.fault = fault;
        if fault == Fault::Cut {
            state.open.drain(..).for_each(|client| end(&client));
        }
    }

    /// What the wire does now.
    pub fn fault(&self) -> Fault {
        lock(&self.state).fault
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that is gone already is as closed as it can be.
fn end(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

fn carry(client: TcpStream, server: &Server, state: &Arc<Mutex<State>>) {
    let mut locked = lock(state);
    if locked.fault == Fault::Cut {
        return end(&client);
    }
    let Ok(copy) = client.try_clone() else { return };
    locked.open.push(copy);
    drop(locked);
    match server {
        Server::Socket(path) => {
            if let Ok(stream) = UnixStream::connect(path)
                && let Ok(copy) = stream.try_clone()
            {
                both_ways(client, (stream, copy), state);
            }
        }
        Server::Address(address) => {
            if let Ok(stream) = TcpStream::connect(address)
                && let Ok(copy) = stream.try_clone()
            {
                both_ways(client, (stream, copy), state);
            }
        }
    }
}

/// A connection to the server.
trait ToServer: Read + Write + Send + 'static {
    /// Lets the server know that nobody is there any more.
    fn end(&self);
}

impl ToServer for UnixStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl ToServer for TcpStream {
    fn end(&self) {
        end(self);
    }
}

/// `server` twice: one end for each direction.
fn both_ways<S: ToServer>(client: TcpStream, server: (S, S), state: &Arc<Mutex<State>>) {
    let (mut to_server, mut from_server) = server;
    let Ok(mut answers) = client.try_clone() else { return };
    std::thread::spawn(move || {
        // Either end may go at any time: that is what the wire is for.
        let _ = std::io::copy(&mut from_server, &mut answers);
        end(&answers);
    });
    let state = Arc::clone(state);
    let mut client = client;
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        let mut is_cut = false;
        while let Ok(length @ 1..) = client.read(&mut bytes) {
            let sent = &bytes[..length];
            let mut locked = lock(&state);
            let fault = match sent.windows(6).any(|word| word == b"COMMIT") {
                true => std::mem::replace(&mut locked.fault, Fault::None),
                false => Fault::None,
            };
            drop(locked);
            if fault == Fault::LoseAnswerToCommit {
                // Cut first, so that no answer gets through; the server still gets the command.
                end(&client);
            }
            if fault != Fault::LoseCommit && to_server.write_all(sent).is_err() {
                break;
            }
            if fault != Fault::None {
                is_cut = true;
                // The server has time to carry it out before it notices that nobody listens.
                std::thread::sleep(Duration::from_millis(50));
                break;
            }
        }
        end(&client);
        // Of a wire that was cut the server learns nothing, and keeps what it has for the session.
        if lock(&state).fault != Fault::Cut && !is_cut {
            to_server.end();
        }
    });
}
