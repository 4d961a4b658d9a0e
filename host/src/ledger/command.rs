//! Commands on their way to the writer, each with the sender that waits for its verdict.

use super::accept::Accept;
use super::database::Conn;
use super::{Accepted, Finish, Finished, Intent, NewIntent};
use super::{LedgerError, Result};
use futures::future::BoxFuture;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Where a verdict goes.
pub(super) type Reply<T> = oneshot::Sender<Result<T>>;

/// One command.
pub(super) enum Command {
    Accept(Box<Accept>, Reply<Accepted>),
    Intend(Box<NewIntent>, Reply<Intent>),
    /// Shared with its sender, who offers it again where the ledger could not store it.
    Finish(Arc<Finish>, Reply<Finished>),
    /// Everything that is not on the hot path: carried out alone, between the others.
    Rare(Box<dyn Rare>),
    /// Carry out what was sent before, then end.
    Close(oneshot::Sender<()>),
}

/// What became of a command, before its sender may know.
pub(super) enum Done {
    Accepted(Accepted),
    Intended,
    Finished(Finished),
    Rare,
}

impl Command {
    /// What the command touches: of two commands with a scope in common, the later one is written after the earlier one.
    /// Hashes: a collision costs a round, no more. `None`: it is ordered against everything.
    pub(super) fn scopes(&self) -> Option<[u64; 2]> {
        match self {
            Command::Accept(accept, _) => {
                let event = &accept.event;
                let key = scope(&(0, event.flow_id, event.key_hash));
                Some([
                    key,
                    event
                        .signed_digest
                        .map_or(key, |digest| scope(&(1, event.flow_id, digest))),
                ])
            }
            Command::Intend(intent, _) => Some([scope(&(2, intent.run)); 2]),
            Command::Finish(finish, _) => Some([scope(&(2, finish.run)); 2]),
            Command::Rare(_) | Command::Close(_) => None,
        }
    }

    /// Tells the sender. One that went away misses nothing: the row is there.
    pub(super) fn wake(self, verdict: Result<Done>) {
        match (self, verdict) {
            (Command::Accept(_, reply), Ok(Done::Accepted(done))) => drop(reply.send(Ok(done))),
            (Command::Intend(intent, reply), Ok(Done::Intended)) => drop(reply.send(Ok(Intent::new(&intent)))),
            (Command::Finish(_, reply), Ok(Done::Finished(done))) => drop(reply.send(Ok(done))),
            (Command::Rare(rare), verdict) => rare.wake(verdict.map(drop)),
            (Command::Accept(_, reply), verdict) => drop(reply.send(Err(unfit(verdict)))),
            (Command::Intend(_, reply), verdict) => drop(reply.send(Err(unfit(verdict)))),
            (Command::Finish(_, reply), verdict) => drop(reply.send(Err(unfit(verdict)))),
            (Command::Close(reply), _) => drop(reply.send(())),
        }
    }
}

fn unfit(verdict: Result<Done>) -> LedgerError {
    verdict
        .err()
        .unwrap_or_else(|| LedgerError::Database("a command got the verdict of another kind".into()))
}

fn scope(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A command of its own kind. It may run more than once: what it wrote before was rolled back.
pub(super) trait Rare: Send {
    fn run<'a>(&'a mut self, conn: Conn<'a>) -> BoxFuture<'a, Result<()>>;
    fn wake(self: Box<Self>, verdict: Result<()>);
}

/// A [`Rare`] command made of a function.
pub(super) struct RareCommand<T, F> {
    pub write: F,
    pub done: Option<T>,
    pub reply: Reply<T>,
}

impl<T, F> Rare for RareCommand<T, F>
where
    T: Send,
    F: for<'a> Fn(Conn<'a>) -> BoxFuture<'a, Result<T>> + Send,
{
    fn run<'a>(&'a mut self, conn: Conn<'a>) -> BoxFuture<'a, Result<()>> {
        let written = (self.write)(conn);
        let done = &mut self.done;
        Box::pin(async move {
            *done = Some(written.await?);
            Ok(())
        })
    }

    fn wake(self: Box<Self>, verdict: Result<()>) {
        let done = match (verdict, self.done) {
            (Ok(()), Some(done)) => Ok(done),
            (Ok(()), None) => Err(LedgerError::Database("a command was not carried out".into())),
            (Err(error), _) => Err(error),
        };
        drop(self.reply.send(done));
    }
}
