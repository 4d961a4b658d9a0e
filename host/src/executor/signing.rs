//! A connection's credentials for one call, read at the last moment so that a rotated secret counts at once, and the
//! mask that keeps them out of whatever a guest, a log or the ledger sees.

use crate::catalog::{Approved, Auth};
use crate::credentials::{CredentialError, Secret, SecretSource, Secrets};
use crate::egress::{BadRequest, Credential, Mask, SecretTooShort};
use futures::future::join_all;
use std::collections::HashMap;
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
    /// One holds what cannot be sent where it belongs.
    #[error(transparent)]
    Unsendable(#[from] BadRequest),
}

/// Reads the credentials of connections.
pub struct Signer {
    secrets: Secrets,
    /// By connection. Building a mask costs more than all the rest of a call; it is built anew where a secret has changed.
    masks: Mutex<HashMap<String, Masked>>,
}

struct Masked {
    secrets: Vec<Secret>,
    mask: Mask,
}

impl Signer {
    /// Takes secrets from here.
    pub fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            masks: Mutex::default(),
        }
    }

    /// Reads what the connection needs.
    ///
    /// # Errors
    /// A secret is missing, unreadable, too short to be masked, or cannot be sent where it belongs.
    pub async fn sign(&self, approved: &Approved) -> Result<Signing, SigningError> {
        let mut all = Vec::with_capacity(approved.secrets.len());
        for source in approved.secrets.values() {
            all.push((source, self.secrets.read(source).await?));
        }
        let auth = match &approved.auth {
            Auth::None => Resolved::None,
            Auth::Bearer { secret } => Resolved::Bearer(self.among(&all, secret).await?),
            Auth::Basic { user, secret } => Resolved::Basic {
                user: self.among(&all, user).await?,
                password: self.among(&all, secret).await?,
            },
            Auth::Header { name, secret } => Resolved::Header {
                name: name.clone(),
                secret: self.among(&all, secret).await?,
            },
            Auth::Query { name, secret } => Resolved::Query {
                name: name.clone(),
                secret: self.among(&all, secret).await?,
            },
        };
        let all = all.into_iter().map(|(_, secret)| secret).collect();
        let mask = self.mask(&approved.connection, all)?;
        let signing = Signing { auth, mask };
        // Else every step would find out for itself that nothing can be sent, and burn its attempts on it.
        signing.credential().check()?;
        Ok(signing)
    }

    /// What keeps the connection from being used as of now.
    pub async fn problems(&self, approved: &Approved) -> Vec<SigningError> {
        let read = join_all(approved.secrets.values().map(|source| self.secrets.read(source))).await;
        let missing: Vec<SigningError> = read.into_iter().filter_map(|read| Some(read.err()?.into())).collect();
        if missing.is_empty() {
            self.sign(approved).await.err().into_iter().collect()
        } else {
            missing
        }
    }

    /// A secret that was read already; those that signing needs are those that the connection lists.
    async fn among(&self, read: &[(&SecretSource, Secret)], wanted: &SecretSource) -> Result<Secret, CredentialError> {
        match read.iter().find(|(source, _)| *source == wanted) {
            Some((_, secret)) => Ok(secret.clone()),
            None => self.secrets.read(wanted).await,
        }
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

    #[tokio::test]
    async fn a_mask_follows_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let source: SecretSource = SecretSource::File("token".into());
        let signer = Signer::new(Secrets::new(folder.path().to_owned()));
        let masks = async |text: &str| {
            std::fs::write(&file, text).unwrap();
            let secret = signer.secrets.read(&source).await.unwrap();
            signer.mask("crm", vec![secret]).unwrap()
        };
        for _ in 0..2 {
            assert!(masks("first-secret").await.finds("a first-secret leaks"));
        }
        let second = masks("second-secret").await;
        assert!(second.finds("a second-secret leaks") && !second.finds("a first-secret leaks"));
    }
}
