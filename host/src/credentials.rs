//! Secrets, read where the operator put them, at the moment they are needed. They never enter the ledger, a log or a
//! guest; this room must not know what they are for.

use std::fmt;
use std::path::{Component, Path, PathBuf};

pub use oncegate_domain::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN};

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
    /// Too short to be masked, or absurdly long.
    #[error("the secret {place} has {bytes} bytes; {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} are allowed")]
    Length {
        /// Where it is.
        place: String,
        /// Its length.
        bytes: usize,
    },
}

/// Reads a secret. A line end behind it (editors add one) is not part of it.
///
/// # Errors
/// See [`CredentialError`]; none of them holds the secret.
pub fn resolve(source: &SecretSource, secrets_dir: &Path) -> Result<Secret, CredentialError> {
    let (place, text) = match source {
        SecretSource::Env(name) if !name.starts_with(ENV_PREFIX) => {
            return Err(CredentialError::ForbiddenVariable(name.clone()));
        }
        SecretSource::Env(name) => (
            name.clone(),
            std::env::var(name).map_err(|_| CredentialError::NoVariable(name.clone()))?,
        ),
        SecretSource::File(path) => (path.display().to_string(), read_file(path, secrets_dir)?),
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&text.len()) {
        Ok(Secret(text.to_owned()))
    } else {
        Err(CredentialError::Length {
            place,
            bytes: text.len(),
        })
    }
}

/// A link inside the folder that leads out of it is outside as well, so the real places are compared.
fn read_file(path: &Path, secrets_dir: &Path) -> Result<String, CredentialError> {
    let outside = || CredentialError::Outside(path.to_owned());
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    let unreadable = |source| CredentialError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let folder = secrets_dir.canonicalize().map_err(unreadable)?;
    let real = folder.join(path).canonicalize().map_err(unreadable)?;
    if !real.starts_with(&folder) {
        return Err(outside());
    }
    std::fs::read_to_string(&real).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, write: impl FnOnce(&Path)) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let secrets = folder.path().join("secrets");
        std::fs::create_dir(&secrets).unwrap();
        write(&secrets);
        let source = SecretSource::File(name.into());
        resolve(&source, &secrets)
            .map(|secret| secret.expose().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_below_the_folder_is_read_without_its_line_end() {
        let read = check("crm", |secrets| {
            std::fs::write(secrets.join("crm"), "s3cret-token\r\n").unwrap()
        });
        assert_eq!(read.as_deref(), Ok("s3cret-token"));
    }

    #[test]
    fn nothing_outside_the_folder_can_be_read() {
        let outside = |secrets: &Path| std::fs::write(secrets.join("../other"), "s3cret-token").unwrap();
        assert!(check("../other", outside).unwrap_err().contains("not below"));
        assert!(check("/etc/hostname", |_| {}).unwrap_err().contains("not below"));
        let link = |secrets: &Path| {
            std::fs::write(secrets.join("../other"), "s3cret-token").unwrap();
            std::os::unix::fs::symlink("../other", secrets.join("link")).unwrap();
        };
        assert!(check("link", link).unwrap_err().contains("not below"));
    }

    #[test]
    fn a_secret_has_a_length_that_can_be_masked() {
        let of = |bytes: usize| {
            check("s", |secrets| {
                std::fs::write(secrets.join("s"), "x".repeat(bytes)).unwrap()
            })
        };
        assert!(of(SECRET_BYTES_MIN - 1).unwrap_err().contains("7 bytes"));
        assert!(of(SECRET_BYTES_MIN).is_ok());
        assert!(of(SECRET_BYTES_MAX).is_ok());
        assert!(of(SECRET_BYTES_MAX + 1).is_err());
    }

    #[test]
    fn only_variables_of_our_own_can_be_named() {
        let read = |name: &str| resolve(&SecretSource::Env(name.to_owned()), Path::new("."));
        assert!(matches!(read("PATH"), Err(CredentialError::ForbiddenVariable(_))));
        assert!(matches!(
            read("ONCEGATE_SECRET_NOT_SET"),
            Err(CredentialError::NoVariable(_))
        ));
    }

    #[test]
    fn a_secret_does_not_print_itself() {
        assert_eq!(format!("{:?}", Secret("s3cret-token".to_owned())), "Secret(hidden)");
    }
}
