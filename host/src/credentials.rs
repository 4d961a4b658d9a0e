//! Secrets, read where the operator put them, at the moment they are needed. They never enter the ledger, a log or a
//! guest; this room must not know what they are for.

mod file;
mod reader;

use std::fmt;
use std::path::PathBuf;

pub use oncegate_domain::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN};
pub use reader::Secrets;

/// Only variables with this prefix can be named: a connection must not be able to read the rest of the environment.
pub const ENV_PREFIX: &str = "ONCEGATE_SECRET_";

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of the host; its name begins with [`ENV_PREFIX`].
    Env(String),
    /// A file, named relative to the secrets folder.
    File(PathBuf),
}

/// A secret's text. Printing it shows nothing, and it is overwritten when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself: for the egress, and for comparing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Or the compiler leaves the writing out, since nobody reads it any more.
        std::hint::black_box(&bytes);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The variable may not be named.
    #[error("a secret cannot be read from the variable {0}: only names that begin with {ENV_PREFIX} are allowed")]
    ForbiddenVariable(String),
    /// The variable is not set, or not text.
    #[error("the variable {0} is not set (or not text); set it in the environment of the host and try again")]
    NoVariable(String),
    /// The file lies elsewhere.
    #[error("the secret file {} is not below the secrets folder; name it relative to that folder, without `..`", .0.display())]
    Outside(PathBuf),
    /// The file cannot be read.
    #[error("the secret file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something else than a file: reading it could wait for ever, or never end.
    #[error("the secret file {} is {kind}; put a regular file there", path.display())]
    NoFile {
        /// Where it is.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Its file system does not answer.
    #[error("the secret file {} was not read within {within_ms} ms: its file system does not answer", path.display())]
    Silent {
        /// The file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        within_ms: u64,
    },
    /// Too short to be masked, or absurdly long.
    #[error("the secret {place} has {bytes} bytes; {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} are allowed")]
    Length {
        /// Where it is.
        place: String,
        /// Its length.
        bytes: u64,
    },
}

/// A secret of this text. A line end behind it (editors add one) is not part of it.
fn secret_of(mut text: String, place: &str) -> Result<Secret, CredentialError> {
    for end in ['\n', '\r'] {
        if text.ends_with(end) {
            text.pop();
        }
    }
    // Made first, so that a text that is none is overwritten as well.
    let secret = Secret(text);
    let bytes = secret.0.len();
    if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes) {
        Ok(secret)
    } else {
        Err(CredentialError::Length {
            place: place.to_owned(),
            bytes: bytes as u64,
        })
    }
}

#[cfg(test)]
mod tests;
