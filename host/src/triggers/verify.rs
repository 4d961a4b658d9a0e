//! Is this delivery from whom it says?

mod standard_webhooks;

use crate::credentials::{CredentialError, Secret, Secrets};
use crate::flow::Verify;
use axum::http::{HeaderMap, HeaderValue, header};
use standard_webhooks::{BadSecret, Fault, Key};
use subtle::ConstantTimeEq;

/// What a delivery proves itself with.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'d> {
    /// All headers as they came.
    pub headers: &'d HeaderMap,
    /// The body as sent, before anything is unpacked or parsed.
    pub raw: &'d [u8],
    /// Our time.
    pub now_ms: i64,
}

/// A delivery that is from whom it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The scheme; stored with the event.
    pub by: &'static str,
    /// SHA-256 of the bytes that the sender signed, where it signed any.
    pub signed_digest: Option<[u8; 32]>,
}

/// Why a delivery is not believed. The text is for the caller, so it never says what exactly was wrong: whoever tries to
/// forge a delivery would learn how far they have come.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// No token, or another one.
    #[error("this hook wants `Authorization: Bearer …` with its secret; it is missing or wrong")]
    Token,
    /// The signature does not hold.
    #[error(
        "this hook wants deliveries signed by Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature over \
         the body as sent, made a moment ago with the hook's secret; something of that is missing, wrong or too old"
    )]
    Signature(Fault),
    /// The host has no secret to check against: the operator must set it.
    #[error("the secret of this hook cannot be used: {0}")]
    NoSecret(#[from] SecretError),
}

/// Why the host cannot check a delivery. For the operator.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It is not there.
    #[error(transparent)]
    Missing(#[from] CredentialError),
    /// It is there and not of the scheme's kind.
    #[error("the secret {name:?} {why}")]
    Bad {
        /// Its name.
        name: String,
        /// Why.
        why: BadSecret,
    },
    /// It is there, and no sender could present it.
    #[error("the secret {0:?} holds a character that no header can carry, so nobody could present it; mend it")]
    Unsendable(String),
}

/// What the head of a delivery proves; `None`: nothing yet, it is the body's turn. Whatever the head alone can refuse is
/// refused here, for a stranger's body costs room and time.
pub async fn by_head(
    verify: &Verify,
    headers: &HeaderMap,
    now_ms: i64,
    secrets: &Secrets,
) -> Result<Option<Verified>, NotVerified> {
    match verify {
        Verify::None => Ok(None),
        Verify::Bearer { .. } => {
            let raw = &[];
            check(verify, Evidence { headers, raw, now_ms }, secrets)
                .await
                .map(Some)
        }
        Verify::StandardWebhooks { tolerance_s, .. } => standard_webhooks::head(headers, now_ms, *tolerance_s)
            .map(|_| None)
            .map_err(NotVerified::Signature),
    }
}

/// Checks a delivery.
pub async fn check(verify: &Verify, evidence: Evidence<'_>, secrets: &Secrets) -> Result<Verified, NotVerified> {
    let signed_digest = match verify {
        Verify::None => None,
        Verify::Bearer { secret } => {
            bearer(evidence.headers, &token(secret, secrets).await?)?;
            None
        }
        Verify::StandardWebhooks {
            secrets: names,
            tolerance_s,
        } => Some(signed(evidence, names, *tolerance_s, secrets).await?),
    };
    Ok(Verified {
        by: verify.word(),
        signed_digest,
    })
}

/// What keeps a hook from checking its deliveries, as of now: said before the first one comes.
pub async fn secret_errors(verify: &Verify, secrets: &Secrets) -> Vec<SecretError> {
    let mut errors = Vec::new();
    for name in verify.secrets() {
        let usable = match verify {
            Verify::None | Verify::Bearer { .. } => token(name, secrets).await.map(drop),
            Verify::StandardWebhooks { .. } => key(name, secrets).await.map(drop),
        };
        errors.extend(usable.err());
    }
    errors
}

fn bearer(headers: &HeaderMap, secret: &Secret) -> Result<(), NotVerified> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    // Of two nobody could say which one counts.
    let (Some(given), None) = (given.next(), given.next()) else {
        return Err(NotVerified::Token);
    };
    let given = given.as_bytes();
    let (scheme, token) = given.split_at_checked(7).unwrap_or((given, &[]));
    let same = token.ct_eq(secret.expose().as_bytes());
    if scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(same) {
        Ok(())
    } else {
        Err(NotVerified::Token)
    }
}

/// While secrets are rotated one of the two may not be there yet, or not any more. That matters only to a delivery which
/// the other one does not prove.
async fn signed(
    evidence: Evidence<'_>,
    names: &[String],
    tolerance_s: u64,
    secrets: &Secrets,
) -> Result<[u8; 32], NotVerified> {
    let mut keys = Vec::new();
    let mut unusable = None;
    for name in names {
        match key(name, secrets).await {
            Ok(key) => keys.push(key),
            Err(error) => unusable = unusable.or(Some(error)),
        }
    }
    standard_webhooks::check(evidence, &keys, tolerance_s).map_err(|fault| match unusable {
        Some(error) if fault == Fault::NoMatch => NotVerified::NoSecret(error),
        Some(_) | None => NotVerified::Signature(fault),
    })
}

async fn key(name: &str, secrets: &Secrets) -> Result<Key, SecretError> {
    let secret = secrets.named(name).await?;
    Key::of(secret.expose()).map_err(|why| SecretError::Bad {
        name: name.to_owned(),
        why,
    })
}

async fn token(name: &str, secrets: &Secrets) -> Result<Secret, SecretError> {
    let secret = secrets.named(name).await?;
    match HeaderValue::from_str(secret.expose()) {
        Ok(_) => Ok(secret),
        Err(_) => Err(SecretError::Unsendable(name.to_owned())),
    }
}

#[cfg(test)]
mod tests;
