//! The one way out of a guest. What stands behind it (request list, intent, egress) is not this room's business.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

/// A request as the guest asked for it: nothing of it was checked yet, save its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method, as the guest wrote it.
    pub method: String,
    /// The name of an endpoint from the manifest; its origin is the connection's.
    pub endpoint: String,
    /// Percent-encoded, should begin with `/`.
    pub path: String,
    /// Name and value, unencoded.
    pub query: Vec<(String, String)>,
    /// Name and value, as the guest wrote them.
    pub headers: Vec<(String, String)>,
    /// Empty where there is none.
    pub body: Vec<u8>,
    /// Whether there is a body at all: a present body of no bytes is not the same as none.
    pub has_body: bool,
}

/// An answer as the guest may see it: read within the limits and masked by whoever is behind the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Name and value.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Why a guest gets no answer. It carries a sentence for the guest's author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The host does not allow this request; nothing left.
    Denied(String),
    /// It could not be sent: no byte of it left.
    NothingSent(String),
    /// It may have been carried out, and no whole answer came.
    MaybeSent(String),
}

/// How much a line of the guest's log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the connector's author.
    Debug,
    /// The normal course; the guest's standard output also comes here.
    Info,
    /// Something to look at; the guest's standard error also comes here.
    Warn,
    /// Something went wrong.
    Error,
}

/// What a guest reaches the world through. It is moved into the call and given back by it, also when the guest was
/// stopped: what it kept as evidence is never lost with the guest.
pub trait Door: Send + 'static {
    /// Awaited inside the guest's `http.send`. Dropped in the middle when the wall clock of the call runs out.
    fn send(&mut self, request: Request) -> impl Future<Output = Result<Response, SendError>> + Send;

    /// A line of the guest's log, bounded in size and number by [`super::RuntimeLimits`]. Text from outside: escape it
    /// for the place where it is shown.
    fn log(&mut self, level: LogLevel, message: String, fields: Vec<(String, String)>);
}

/// A boxed [`Door::send`].
pub(super) type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response, SendError>> + Send + 'a>>;

/// A door whose type is forgotten, so that one linker and one pre-instance serve every kind of door.
pub(super) trait AnyDoor: Send {
    fn send(&mut self, request: Request) -> Sending<'_>;
    fn log(&mut self, level: LogLevel, message: String, fields: Vec<(String, String)>);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<D: Door> AnyDoor for D {
    fn send(&mut self, request: Request) -> Sending<'_> {
        Box::pin(Door::send(self, request))
    }

    fn log(&mut self, level: LogLevel, message: String, fields: Vec<(String, String)>) {
        Door::log(self, level, message, fields);
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
