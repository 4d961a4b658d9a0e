//! A connection's credentials for one call, read at the last moment so that a rotated secret counts at once, and the
//! mask that keeps them out of whatever a guest, a log or the ledger sees.

use crate::catalog::{Approved, Auth};
use crate::credentials::{self, CredentialError, Secret, SecretSource};
use crate::egress::{Credential, Mask, SecretTooShort};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The credentials of one call.
pub struct Signing {
    auth: Resolved,
    /// Masks every secret of the connection.
    pub mask: Mask,
}

#[derive(PartialEq)]
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

/// Reads the credentials of connections.
pub struct Signer {
    secrets_dir: PathBuf,
    /// By connection. Building a mask costs more than all the rest of a call; it is built anew where a secret has changed.
    masks: Mutex<HashMap<String, Masked>>,
}

struct Masked {
    secrets: Vec<Secret>,
    mask: Mask,
}

impl Signer {
    /// Reads files from this folder.
    pub fn new(secrets_dir: PathBuf) -> Self {
        Self {
            secrets_dir,
            masks: Mutex::default(),
        }
    }

    /// Reads what the connection needs.
    ///
    /// # Errors
    /// A secret is missing, unreadable or too short to be masked.
    pub fn sign(&self, approved: &Approved) -> Result<Signing, SigningError> {
        let read = |source: &SecretSource| credentials::resolve(source, &self.secrets_dir);
        let all = approved.secrets.values().map(read).collect::<Result<Vec<_>, _>>()?;
        let mask = self.mask(&approved.connection, all)?;
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
        Ok(Signing { auth, mask })
    }

    fn mask(&self, connection: &str, secrets: Vec<Secret>) -> Result<Mask, SecretTooShort> {
        let mut masks = self.masks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = masks.get(connection)
            && known.secrets == secrets
        {
            return Ok(known.mask.clone());
        }
        let mask = Mask::new(secrets.iter().map(Secret::expose))?;
        let masked = Masked {
            secrets,
            mask: mask.clone(),
        };
        masks.insert(connection.to_owned(), masked);
        Ok(mask)
    }
}

impl Signing {
    /// Whether a request would carry the same credentials.
    pub fn signs_like(&self, other: &Signing) -> bool {
        self.auth == other.auth
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_follows_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let source: SecretSource = SecretSource::File("token".into());
        let signer = Signer::new(folder.path().to_owned());
        let masks = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let secret = credentials::resolve(&source, folder.path()).unwrap();
            signer.mask("crm", vec![secret]).unwrap()
        };
        for _ in 0..2 {
            assert!(masks("first-secret").finds("a first-secret leaks"));
        }
        let second = masks("second-secret");
        assert!(second.finds("a second-secret leaks") && !second.finds("a first-secret leaks"));
    }
}
