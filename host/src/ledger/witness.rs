//! What is known of the ledger outside of it: a small file in the data directory, which a ledger that was set back does not
//! take back with it. It may lag behind the ledger and is never ahead of what is durable there, so a ledger that does not
//! know what the file says has forgotten it (docs/decisions/0019).

use oncegate_domain::id::Id;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "witness";
const BYTES_MAX: u64 = 64 << 10;

/// What a host has seen of its ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Witness {
    pub installation: Id,
    pub incarnation: i64,
    /// This start of the host.
    pub epoch: i64,
    /// Tells it from another start that got the same number from a ledger that had forgotten the first.
    pub started_ms: i64,
    /// How many commits it had made.
    pub position: i64,
    /// It ended in order, and the position is that of its last commit.
    pub in_order: bool,
    /// Where the ledger is on a server.
    pub server: Option<Server>,
}

/// A database server, as far as it tells who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Server {
    /// Made when the server was, and kept by its copies.
    pub system: Option<String>,
    /// Counts up whenever a copy became the server.
    pub timeline: Option<i64>,
}

impl Server {
    /// It is another one, or became it, as far as both tell.
    pub(super) fn is_other_than(&self, before: &Server) -> bool {
        fn differ<T: PartialEq>(now: Option<&T>, before: Option<&T>) -> bool {
            matches!((now, before), (Some(now), Some(before)) if now != before)
        }
        differ(self.system.as_ref(), before.system.as_ref()) || differ(self.timeline.as_ref(), before.timeline.as_ref())
    }
}

/// What the ledger knows of the same.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub installation: Id,
    pub incarnation: i64,
    /// The incarnation of the witness is one of its own.
    pub incarnation_is_known: bool,
    /// The position of the witness's start; `None`: there was no such start.
    pub position: Option<i64>,
    pub server: Option<Server>,
}

/// What follows from comparing the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Everything that was seen is there.
    Remembers,
    /// It is not, and why.
    Forgot(&'static str),
    /// It is the ledger of another installation.
    Another,
}

/// Pure.
pub(super) fn judge(seen: &Witness, known: &Known) -> Judged {
    if seen.installation != known.installation {
        return Judged::Another;
    }
    if !known.incarnation_is_known {
        return Judged::Forgot("it was set back to before an earlier time that it was set back");
    }
    if seen.incarnation != known.incarnation {
        // Somebody has noticed already, and the ledger remembers that: what was lost then was lost to this host as well.
        return Judged::Remembers;
    }
    match known.position {
        None => {
            return Judged::Forgot("it does not know the last start of this host: it was set back to an older state");
        }
        Some(position) if position < seen.position => {
            return Judged::Forgot("it does not know what this host did last: it was set back to an older state");
        }
        Some(_) => {}
    }
    let is_other = matches!((&known.server, &seen.server), (Some(now), Some(before)) if now.is_other_than(before));
    if is_other && !seen.in_order {
        return Judged::Forgot(
            "another server holds it than when this host was stopped without notice, and may lack the last of what it did",
        );
    }
    Judged::Remembers
}

impl Witness {
    /// What was seen last; `None`: this host has seen no ledger yet.
    ///
    /// # Errors
    /// The file says nothing that could be compared.
    pub(super) fn read(dir: &Path) -> Result<Option<Witness>, String> {
        let path = dir.join(FILE);
        let unreadable = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", path.display());
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&error)),
        }
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| unreadable(&error))
    }

    /// Written whole or not at all. That the new name is durable is not waited for: the file may lag.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let part = dir.join(FILE).with_extension("part");
        let text = serde_json::to_vec(self)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(&text)?;
        file.sync_data()?;
        std::fs::rename(&part, dir.join(FILE))
    }
}

#[cfg(test)]
mod tests;
