//! What can go wrong in the ledger, told apart where a caller acts on it.

use oncegate_domain::id::Id;

/// What a rule of the schema refused.
pub(in crate::ledger) const A_ROW: &str = "a row";

/// A run of which something else has changed than what was read.
pub(in crate::ledger) const A_RUN: &str = "run";

/// Why the ledger did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LedgerError {
    /// The lease epoch of the caller is not the one stored: another owner has taken over, and nothing was changed.
    #[error("step {step} now belongs to another owner (its lease epoch is not {epoch}); nothing was changed")]
    LeaseLost {
        /// The step that was to change.
        step: Id,
        /// The epoch the caller held.
        epoch: i64,
    },
    /// What the caller saw has changed since: nothing was done. Load it again and decide anew.
    #[error("{what} {id} has changed since it was read (version {version}); nothing was done, read it again")]
    Stale {
        /// `step`, `run` or `review item`.
        what: &'static str,
        /// Which one.
        id: Id,
        /// The version the caller named.
        version: i64,
    },
    /// A later intent of this connection and action carries the same natural key: the resend was not recorded.
    #[error("step {step} was overtaken: a later request changed the same thing; nothing was recorded, do not send")]
    Overtaken {
        /// The step that was to be sent again.
        step: Id,
    },
    /// There is no such row.
    #[error("there is no {what} {id}")]
    NotFound {
        /// The kind of row.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// What was asked for contradicts the ledger's rules; a fault of the caller.
    #[error("the ledger refused {what}: {why}")]
    Invalid {
        /// What was asked for.
        what: &'static str,
        /// Which rule it broke.
        why: String,
    },
    /// Disk full, quota reached or read-only: nothing was stored, and nothing of it may be acted upon. Ingress answers 503.
    #[error("the ledger cannot store ({0}); free space or make it writable: it goes on by itself")]
    Unwritable(String),
    /// The database cannot be reached, or went away before it stored anything. Ingress answers 503.
    #[error("the ledger's database is away ({0}); nothing was stored, and it is looked for: all goes on by itself")]
    Away(String),
    /// The disk is short of room: new events are refused, so that the outcomes of work begun find some. Ingress answers 503.
    #[error(
        "the disk of the ledger has {free_mib} MiB free, and new events are taken in from {wanted_mib} MiB on; free space: it \
         goes on by itself"
    )]
    NoRoom {
        /// What is free.
        free_mib: u64,
        /// What there should be.
        wanted_mib: u64,
    },
    /// The lease of this host ends too soon for anything to be sent under it: the database cannot be reached, or the host was
    /// stopped. Nothing was recorded.
    #[error("the lease of this host ends too soon to send anything; nothing was recorded, and it is tried again")]
    LeaseEnds,
    /// Others were in the way, again and again (a deadlock, a serialization failure): the command was rolled back.
    #[error("others were in the way in the database ({0}); nothing was stored, it can be tried again")]
    InTheWay(String),
    /// A statement failed for another reason; the command was rolled back.
    #[error("the ledger failed: {0}")]
    Database(String),
    /// A stored row does not decode. It is never guessed at.
    #[error("row {id} of {table} is corrupt: {why}; restore it from a backup or ask for help, it is not guessed at")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row's id.
        id: String,
        /// What does not decode.
        why: String,
    },
    /// The fate of a commit is unclear, or the disk failed: the process must end, and recovery reads what is there.
    #[error("the ledger can no longer be trusted in this process ({0}); the host ends and recovers at the next start")]
    Fatal(String),
    /// The ledger was closed.
    #[error("the ledger is closed: the host is shutting down")]
    Closed,
    /// The ledger could not be opened.
    #[error("cannot open the ledger in {place}: {why}")]
    Open {
        /// The data directory, or host and name of the database.
        place: String,
        /// Why, and what to do now.
        why: String,
    },
}

impl LedgerError {
    /// The command was understood and refused: only its own writes are undone, the others of its group stay.
    pub(in crate::ledger) fn is_refusal(&self) -> bool {
        match self {
            Self::LeaseLost { .. }
            | Self::Stale { .. }
            | Self::Overtaken { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Corrupt { .. } => true,
            Self::Unwritable(_)
            | Self::Away(_)
            | Self::NoRoom { .. }
            | Self::LeaseEnds
            | Self::InTheWay(_)
            | Self::Database(_)
            | Self::Fatal(_)
            | Self::Closed
            | Self::Open { .. } => false,
        }
    }

    /// Somebody else may have been in the way of a group, at this moment: a lock, or a unique value that another host took after
    /// the group had looked for it.
    pub(in crate::ledger) fn may_pass(&self) -> bool {
        matches!(self, Self::InTheWay(_) | Self::Invalid { what: A_ROW, .. })
    }

    /// Another step of the run was changed since it was read.
    pub fn is_about_another_step(&self) -> bool {
        matches!(self, Self::Stale { what: A_RUN, .. })
    }

    /// Nothing was stored, and an outcome is offered again until it is.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unwritable(_) | Self::Away(_) | Self::Database(_) | Self::InTheWay(_)
        )
    }

    /// Nothing was stored, and trying again later may work: ingress answers 503 with `Retry-After`.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Unwritable(_)
                | Self::Away(_)
                | Self::NoRoom { .. }
                | Self::LeaseEnds
                | Self::InTheWay(_)
                | Self::Database(_)
                | Self::Fatal(_)
                | Self::Closed
        )
    }
}
