//! The one writer: takes all commands that wait, writes them in one transaction, and wakes their senders after the
//! COMMIT. One flush serves all of them; a lone command waits for nobody.

use super::command::{Command, Done};
use super::database::{DbError, WriterConnection};
use super::lease::Lease;
use super::rounds::{Round, rounds};
use super::store::Store;
use super::vouch::Telling;
use super::{LedgerError, Result, WriterCounts, accept, finish, intend};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Commands that may wait; more senders wait for room.
pub(super) const COMMANDS_WAITING_MAX: usize = 4_096;
/// Commands of one transaction: bounds how long the first of them waits.
const COMMANDS_PER_COMMIT_MAX: usize = 256;
/// How often, and how long each time, the writer waits while it knows that others are about to send.
const LINGERS_MAX: usize = 8;
const LINGER: Duration = Duration::from_micros(50);

/// How often a group is written again while others are in its way, and after which pause, the first time.
const TRIES_IN_THE_WAY_MAX: u32 = 4;
const PAUSE_IN_THE_WAY: Duration = Duration::from_millis(4);

/// What the writer did, for the outside.
#[derive(Debug, Default)]
pub(super) struct Counters {
    commands: AtomicU64,
    commits: AtomicU64,
    rollbacks: AtomicU64,
    moves: AtomicU64,
}

impl Counters {
    /// How many commits there were.
    pub(super) fn position(&self) -> i64 {
        i64::try_from(self.commits.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
    }

    pub(super) fn read(&self) -> WriterCounts {
        WriterCounts {
            commands: self.commands.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
            rollbacks: self.rollbacks.load(Ordering::Relaxed),
            moves: self.moves.load(Ordering::Relaxed),
        }
    }
}

/// The writer, at home in [`super::home`].
pub(super) struct Writer {
    pub connection: WriterConnection,
    pub queue: mpsc::Receiver<Command>,
    pub lease: Arc<Lease>,
    pub counters: Arc<Counters>,
    pub store: Store,
    pub telling: Telling,
    /// Told why, once, when the ledger can no longer be trusted in this process.
    pub failed: watch::Sender<Option<String>>,
    /// Held until the last commit is done.
    pub lock: File,
}

impl Writer {
    /// Runs until closed, until every handle is gone, or until the ledger can no longer be trusted.
    pub(super) async fn run(mut self) {
        let mut group_before = 1;
        let mut closers = Vec::new();
        loop {
            let first = match self.next().await {
                Ok(Some(first)) => first,
                Ok(None) => break,
                Err(why) => return self.fail(why),
            };
            let mut group = gather(&mut self.queue, first, group_before / 2);
            group_before = group.len();
            closers.extend(group.extract_if(.., |command| matches!(command, Command::Close(_))));
            if let Err(why) = self.commit(group).await {
                self.fail(why);
                return;
            }
            self.counters.moves.store(self.connection.move_log(), Ordering::Relaxed);
            if !closers.is_empty() {
                // Nothing new comes in; what is in the queue is still carried out.
                self.queue.close();
            }
        }
        let Writer { connection, lock, .. } = self;
        if let Err(error) = connection.close().await {
            tracing::warn!(
                ?error,
                "closing the ledger failed; nothing is lost, the next start recovers it"
            );
        }
        drop(lock);
        closers.into_iter().for_each(|closer| closer.wake(Ok(Done::Rare)));
    }

    /// The next command. While there is none, a lost database is looked for: those who would send something are told that it
    /// is away, and wait for the word that it is back. The error is fatal.
    async fn next(&mut self) -> std::result::Result<Option<Command>, String> {
        loop {
            let Some(pause) = self.connection.lost() else {
                return Ok(self.queue.recv().await);
            };
            match tokio::time::timeout(pause, self.queue.recv()).await {
                Ok(command) => return Ok(command),
                Err(_) => self.connection.look_for().await?,
            }
        }
    }

    /// Commits a group and wakes its senders. The error is fatal; those who wait have been told.
    async fn commit(&mut self, mut group: Vec<Command>) -> std::result::Result<(), String> {
        if group.is_empty() {
            return Ok(());
        }
        self.counters.commands.fetch_add(group.len() as u64, Ordering::Relaxed);
        let mut written = self.write_until_free(&mut group).await;
        if let Err(error @ LedgerError::Unwritable(_)) = &written
            && self.store.give_up_reserve()
        {
            // The room that this makes is for the outcomes of work begun: what would begin more is refused.
            let events = group.extract_if(.., |command| matches!(command, Command::Accept(..)));
            events.for_each(|event| event.wake(Err(error.clone())));
            written = self.write(&mut group).await;
        }
        match written {
            Ok(verdicts) => {
                group
                    .into_iter()
                    .zip(verdicts)
                    .for_each(|(command, verdict)| command.wake(verdict));
                Ok(())
            }
            Err(LedgerError::Fatal(why)) => {
                group
                    .into_iter()
                    .for_each(|command| command.wake(Err(LedgerError::Fatal(why.clone()))));
                Err(why)
            }
            Err(error) => self.one_by_one(group, error).await,
        }
    }

    /// After a rollback: each command alone, so that only the one that fails gets its error.
    async fn one_by_one(&mut self, group: Vec<Command>, error: LedgerError) -> std::result::Result<(), String> {
        self.counters.rollbacks.fetch_add(1, Ordering::Relaxed);
        if let [_] = group.as_slice() {
            group.into_iter().for_each(|command| command.wake(Err(error.clone())));
            return Ok(());
        }
        let mut fatal = None;
        for command in group {
            if let Some(why) = &fatal {
                command.wake(Err(LedgerError::Fatal(String::clone(why))));
                continue;
            }
            let mut alone = vec![command];
            let verdict = self
                .write_until_free(&mut alone)
                .await
                .and_then(|mut verdicts| match verdicts.pop() {
                    Some(verdict) => verdict,
                    None => Err(LedgerError::Database("a command got no verdict".into())),
                });
            if let Err(LedgerError::Fatal(why)) = &verdict {
                fatal = Some(why.clone());
            }
            if let Some(command) = alone.pop() {
                command.wake(verdict);
            }
        }
        fatal.map_or(Ok(()), Err)
    }

    /// Writes a group, again and again while others are in the way (a deadlock, a key that is taken at this moment): they are
    /// gone in a moment, and only then is it told what the rows say now.
    async fn write_until_free(&mut self, group: &mut [Command]) -> Result<Vec<Result<Done>>> {
        let is_shared = self.connection.conn().is_postgres();
        for tries in 1..=TRIES_IN_THE_WAY_MAX {
            match self.write(group).await {
                Err(error) if is_shared && error.may_pass() => {
                    tracing::debug!(%error, tries, "others were in the way of a group; it is written again");
                    // Not together with the one that was in the way.
                    let pause = PAUSE_IN_THE_WAY.mul_f64(f64::from(tries) * rand::random_range(0.5..=1.5));
                    tokio::time::sleep(pause).await;
                }
                written => return written,
            }
        }
        self.write(group).await
    }

    /// Writes a group in one transaction. `Err`: nothing of it was stored, unless it is fatal.
    async fn write(&mut self, group: &mut [Command]) -> Result<Vec<Result<Done>>> {
        let is_shared = self.connection.conn().is_postgres();
        let told = self.telling.says(self.counters.position() + 1, is_shared);
        self.connection.begin(told).await?;
        let written = match self.write_rounds(group).await {
            Ok(verdicts) => match self.connection.commit(told).await {
                Ok(()) => {
                    self.counters.commits.fetch_add(1, Ordering::Relaxed);
                    if let Some(told) = told {
                        self.telling.arrived(told);
                    }
                    return Ok(verdicts);
                }
                // Disk full, read-only and busy are found before the frame that would make the transaction count is
                // written. Every other error of a COMMIT leaves its fate unclear.
                Err(DbError::Unwritable(why)) => LedgerError::Unwritable(why),
                // A database behind a connection was asked, and said that it stored nothing.
                Err(DbError::Lost(why)) => LedgerError::Away(why),
                Err(DbError::InTheWay(why)) => LedgerError::InTheWay(why),
                Err(DbError::Other(why)) if why.contains("locked") => LedgerError::Database(why),
                Err(error) => LedgerError::Fatal(format!("a COMMIT ended in {error:?}: its fate is unclear")),
            },
            Err(error) => error,
        };
        if matches!(written, LedgerError::Fatal(_)) {
            return Err(written);
        }
        match self.connection.rollback().await {
            Ok(()) => Err(written),
            Err(error) => Err(LedgerError::Fatal(format!(
                "after {written}, the ROLLBACK ended in {error:?}"
            ))),
        }
    }

    async fn write_rounds(&mut self, group: &mut [Command]) -> Result<Vec<Result<Done>>> {
        let mut verdicts: Vec<Option<Result<Done>>> = group.iter().map(|_| None).collect();
        for round in rounds(group) {
            match round {
                Round::Rare(place) => verdicts[place] = Some(self.write_rare(&mut group[place]).await?),
                Round::Hot(places) => self.write_hot(group, &places, &mut verdicts).await?,
            }
        }
        let missing = || Err(LedgerError::Database("a command was not carried out".into()));
        let verdicts = verdicts.into_iter();
        Ok(verdicts.map(|verdict| verdict.unwrap_or_else(missing)).collect())
    }

    /// Commands with nothing in common, each kind with one series of statements.
    async fn write_hot(
        &mut self,
        group: &mut [Command],
        places: &[usize],
        verdicts: &mut [Option<Result<Done>>],
    ) -> Result<()> {
        let (mut accepts, mut intents, mut finishes) = (Vec::new(), Vec::new(), Vec::new());
        for place in places {
            match &group[*place] {
                Command::Accept(accept, _) => accepts.push((*place, accept.as_ref())),
                Command::Intend(intent, _) => intents.push((*place, intent.as_ref())),
                Command::Finish(finish, _) => finishes.push((*place, finish.as_ref())),
                Command::Rare(_) | Command::Close(_) => {}
            }
        }
        let mut conn = self.connection.conn();
        if conn.is_postgres() {
            // All hosts touch rows in one order, so that they wait for each other and none for itself.
            accepts.sort_by_key(|(_, accept)| (accept.event.flow_id, accept.event.key_hash));
            finishes.sort_by_key(|(_, finish)| finish.run);
        }
        let (at, accepts): (Vec<_>, Vec<_>) = accepts.into_iter().unzip();
        let done = accept::apply(&mut conn, self.lease.epoch(), &accepts).await?;
        at.iter()
            .zip(done)
            .for_each(|(at, done)| verdicts[*at] = Some(Ok(Done::Accepted(done))));
        let (at, intents): (Vec<_>, Vec<_>) = intents.into_iter().unzip();
        let done = intend::apply(&mut conn, &intents).await?;
        at.iter()
            .zip(done)
            .for_each(|(at, done)| verdicts[*at] = Some(done.map(|()| Done::Intended)));
        let (at, finishes): (Vec<_>, Vec<_>) = finishes.into_iter().unzip();
        let done = finish::apply(&mut conn, &finishes).await?;
        at.iter()
            .zip(done)
            .for_each(|(at, done)| verdicts[*at] = Some(done.map(Done::Finished)));
        Ok(())
    }

    /// One rare command in a savepoint of its own: when it refuses, what it wrote before is undone, and the others stay.
    async fn write_rare(&mut self, command: &mut Command) -> Result<Result<Done>> {
        let Command::Rare(rare) = command else {
            return Ok(Err(LedgerError::Database("a command was taken for a rare one".into())));
        };
        let connection = &mut self.connection;
        connection.conn().query("SAVEPOINT rare", Vec::new()).await?;
        let verdict = rare.run(connection.conn()).await;
        match verdict {
            Ok(()) => {}
            Err(error) if error.is_refusal() => {
                connection
                    .conn()
                    .query("ROLLBACK TO SAVEPOINT rare", Vec::new())
                    .await?;
                connection.conn().query("RELEASE SAVEPOINT rare", Vec::new()).await?;
                return Ok(Err(error));
            }
            Err(error) => return Err(error),
        }
        connection.conn().query("RELEASE SAVEPOINT rare", Vec::new()).await?;
        Ok(Ok(Done::Rare))
    }

    /// Tells everybody that this process must end.
    fn fail(mut self, why: String) {
        tracing::error!(%why, "the ledger can no longer be trusted in this process; it must end");
        self.failed.send_replace(Some(why.clone()));
        self.queue.close();
        while let Ok(command) = self.queue.try_recv() {
            command.wake(Err(LedgerError::Fatal(why.clone())));
        }
    }
}

/// The first command and all that wait behind it. Where the group before was larger, its senders were just woken and are
/// about to send what follows: a commit costs as much as a dozen commands, so they get a fraction of a millisecond to share
/// it. A lone command waits for nobody.
fn gather<T>(queue: &mut mpsc::Receiver<T>, first: T, expected: usize) -> Vec<T> {
    let mut group = vec![first];
    for _ in 0..LINGERS_MAX {
        while group.len() < COMMANDS_PER_COMMIT_MAX {
            let Ok(command) = queue.try_recv() else { break };
            group.push(command);
        }
        if group.len() >= expected {
            break;
        }
        std::thread::sleep(LINGER);
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_takes_all_that_wait_up_to_its_bound() {
        for (waiting, taken, left) in [(255, 256, 0), (256, 256, 1)] {
            let (sender, mut queue) = mpsc::channel(COMMANDS_WAITING_MAX);
            (0..waiting).for_each(|number| sender.try_send(number).unwrap());
            let group = gather(&mut queue, waiting, 0);
            assert_eq!((group.len(), queue.len()), (taken, left), "{waiting} behind the first");
        }
    }
}
