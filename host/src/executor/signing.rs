//! A connection's credentials for one call, read at the last moment so that a rotated secret counts at once, and the
//! mask that keeps them out of whatever a guest, a log or the ledger sees.

use crate::catalog::{Approved, Auth};
use crate::credentials::{self, CredentialError, Secret, SecretSource};
use crate::egress::{Credential, Mask, SecretTooShort};
use std::path::Path;

/// The credentials of one call.
pub struct Signing {
    auth: Resolved,
    /// Masks every secret of the connection.
    pub mask: Mask,
}

enum Resolved {
    None,
    Bearer(Secret),
    Basic { user: Secret, password: Secret },
    Header { name: String, secret: Secret },
    Query { name: String, secret: Secret },
}

/// Why the credentials cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// One cannot be read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// One could not be masked.
    #[error(transparent)]
    TooShort(#[from] SecretTooShort),
}

impl Signing {
    /// Reads what the connection needs.
    ///
    /// # Errors
    /// A secret is missing, unreadable or too short to be masked.
    pub fn resolve(approved: &Approved, secrets_dir: &Path) -> Result<Self, SigningError> {
        let read = |source: &SecretSource| credentials::resolve(source, secrets_dir);
        let all = approved.secrets.values().map(read).collect::<Result<Vec<_>, _>>()?;
        let mask = Mask::new(all.iter().map(Secret::expose))?;
        let auth = match &approved.auth {
            Auth::None => Resolved::None,
            Auth::Bearer { secret } => Resolved::Bearer(read(secret)?),
            Auth::Basic { user, secret } => Resolved::Basic {
                user: read(user)?,
                password: read(secret)?,
            },
            Auth::Header { name, secret } => Resolved::Header {
                name: name.clone(),
                secret: read(secret)?,
            },
            Auth::Query { name, secret } => Resolved::Query {
                name: name.clone(),
                secret: read(secret)?,
            },
        };
        Ok(Self { auth, mask })
    }

    /// What the egress puts in.
    pub fn credential(&self) -> Credential<'_> {
        match &self.auth {
            Resolved::None => Credential::None,
            Resolved::Bearer(secret) => Credential::Bearer(secret.expose()),
            Resolved::Basic { user, password } => Credential::Basic {
                user: user.expose(),
                password: password.expose(),
            },
            Resolved::Header { name, secret } => Credential::Header {
                name,
                secret: secret.expose(),
            },
            Resolved::Query { name, secret } => Credential::Query {
                name,
                secret: secret.expose(),
            },
        }
    }
}
