//! Is this delivery from whom it says?

use crate::credentials::{self, CredentialError, SecretSource};
use crate::flow::Verify;
use axum::http::{HeaderMap, header};
use std::path::Path;
use subtle::ConstantTimeEq;

/// Why a delivery is not believed.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// There is nothing to check, or it is wrong.
    #[error("this hook wants `Authorization: Bearer …` with its secret; it is missing or wrong")]
    Wrong,
    /// The host has no secret to check against: the operator must set it.
    #[error("the secret of this hook is not set: {0}")]
    NoSecret(#[from] CredentialError),
}

/// Checks a delivery; the word that is stored with the event.
pub fn check(verify: &Verify, headers: &HeaderMap, secrets_dir: &Path) -> Result<&'static str, NotVerified> {
    match verify {
        Verify::None => Ok("none"),
        Verify::Bearer { secret } => {
            let secret = credentials::resolve(&source(secret, secrets_dir), secrets_dir)?;
            let given = headers
                .get(header::AUTHORIZATION)
                .map(|value| value.as_bytes())
                .unwrap_or_default();
            let (scheme, token) = given.split_at_checked(7).unwrap_or((given, &[]));
            let same = token.ct_eq(secret.expose().as_bytes());
            if scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(same) {
                Ok("bearer")
            } else {
                Err(NotVerified::Wrong)
            }
        }
    }
}

/// Where the secret of a hook is: a file of its name in the secrets folder, else `ONCEGATE_SECRET_` and its name.
fn source(name: &str, secrets_dir: &Path) -> SecretSource {
    let file = secrets_dir.join(name);
    if file.is_file() {
        SecretSource::File(name.into())
    } else {
        SecretSource::Env(format!(
            "ONCEGATE_SECRET_{}",
            name.to_ascii_uppercase().replace('-', "_")
        ))
    }
}
