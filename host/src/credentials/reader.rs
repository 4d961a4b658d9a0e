//! Reading secrets without being held up by them.
//!
//! A secret is read for every call, so that a rotated one counts at once. That costs a few microseconds on a local disk,
//! less than handing it to another thread, and so it is done where it is needed. A file system on the network, or one that
//! a program serves (FUSE), may answer never: what is read there is read by a thread of its own, one for each file at most,
//! and waited for only so long. Where a file is can only be told by asking its file system, so the first look at each file
//! is such a thread's as well.
//!
//! Not covered: a local disk that hangs (the ledger hangs with it), and a place that was local at the last look and hangs at
//! the next, because something else was mounted over it meanwhile.

use super::file::{self, Looked};
use super::{CredentialError, ENV_PREFIX, Secret, SecretSource, secret_of};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// How long a file of another file system than a local one may take.
const READ_WITHIN_MS: u64 = 2_000;

/// The secrets of one installation. Cheap to clone.
#[derive(Clone)]
pub struct Secrets(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    places: Mutex<HashMap<PathBuf, Arc<Place>>>,
}

/// What is known of a file's place.
struct Place {
    is_local: AtomicBool,
    /// Taken while a thread reads it; a thread that hangs never gives it back.
    turn: Arc<Semaphore>,
}

impl Secrets {
    /// Reads files below this folder, and variables of the environment.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Inner {
            folder,
            places: Mutex::default(),
        }))
    }

    /// Reads a secret. A line end behind it (editors add one) is not part of it.
    ///
    /// # Errors
    /// See [`CredentialError`]; none of them holds the secret.
    pub async fn read(&self, source: &SecretSource) -> Result<Secret, CredentialError> {
        match source {
            SecretSource::Env(name) => variable(name),
            SecretSource::File(path) => secret_of(self.text(path).await?, &path.display().to_string()),
        }
    }

    /// Reads a secret that is known by its name: the file of this name, else the variable [`ENV_PREFIX`] and the name.
    ///
    /// # Errors
    /// As of [`Secrets::read`].
    pub async fn named(&self, name: &str) -> Result<Secret, CredentialError> {
        match self.text(Path::new(name)).await {
            Ok(text) => secret_of(text, name),
            Err(CredentialError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
                variable(&format!("{ENV_PREFIX}{}", name.to_ascii_uppercase().replace('-', "_")))
            }
            Err(error) => Err(error),
        }
    }

    async fn text(&self, path: &Path) -> Result<String, CredentialError> {
        let place = self.place(path);
        let looked = if place.is_local.load(Ordering::Relaxed) {
            file::look(path, &self.0.folder)
        } else {
            self.look_aside(path, &place).await?
        };
        place.is_local.store(looked.is_local, Ordering::Relaxed);
        looked.text
    }

    async fn look_aside(&self, path: &Path, place: &Place) -> Result<Looked, CredentialError> {
        let (file, folder) = (path.to_owned(), self.0.folder.clone());
        self.aside(path, place, move || file::look(&file, &folder)).await
    }

    /// Not on the runtime's own threads for blocking work: their number is bounded, and a runtime that ends waits for them.
    async fn aside<L: Send + 'static>(
        &self,
        path: &Path,
        place: &Place,
        look: impl FnOnce() -> L + Send + 'static,
    ) -> Result<L, CredentialError> {
        let turn = Arc::clone(&place.turn);
        let looking = async move {
            let turn = turn.acquire_owned().await.ok()?;
            let (tell, told) = oneshot::channel();
            let thread = std::thread::Builder::new().name("secret".to_owned()).spawn(move || {
                let looked = look();
                drop(turn);
                // Nobody waits for it any more where it came too late.
                let _ = tell.send(looked);
            });
            thread.ok()?;
            told.await.ok()
        };
        let looked = tokio::time::timeout(Duration::from_millis(READ_WITHIN_MS), looking).await;
        looked.ok().flatten().ok_or_else(|| CredentialError::Silent {
            path: path.to_owned(),
            within_ms: READ_WITHIN_MS,
        })
    }

    fn place(&self, path: &Path) -> Arc<Place> {
        let mut places = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(path) {
            return Arc::clone(known);
        }
        let place = Arc::new(Place {
            is_local: AtomicBool::new(false),
            turn: Arc::new(Semaphore::new(1)),
        });
        places.insert(path.to_owned(), Arc::clone(&place));
        place
    }
}

fn variable(name: &str) -> Result<Secret, CredentialError> {
    if !name.starts_with(ENV_PREFIX) {
        return Err(CredentialError::ForbiddenVariable(name.to_owned()));
    }
    let text = std::env::var(name).map_err(|_| CredentialError::NoVariable(name.to_owned()))?;
    secret_of(text, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for a file system that does not answer: no folder of a test can be one.
    #[tokio::test]
    async fn a_file_that_is_never_read_costs_its_reader_a_while_and_the_host_one_thread() {
        let secrets = Secrets::new(PathBuf::from("/nowhere"));
        let path = Path::new("hung");
        let place = secrets.place(path);
        let (_never, end) = std::sync::mpsc::channel::<()>();
        let first = secrets.aside(path, &place, move || end.recv());
        let second = secrets.aside(path, &place, || panic!("a second thread for the same file"));
        let (first, second) = tokio::join!(first, second);
        for error in [first.unwrap_err(), second.unwrap_err()] {
            assert!(error.to_string().contains("does not answer"), "{error}");
        }
        let other = Path::new("other");
        let other = secrets.aside(other, &secrets.place(other), || "read").await;
        assert!(other.is_ok_and(|read| read == "read"));
    }
}
