//! The keys that a process has.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;

use crate::{Key, KeyFile, KeyFileError, KeyId, Keys, SealError};

/// How soon another content of the key file is seen.
const LOOK: Duration = Duration::from_secs(1);
/// How long it is left alone at most after it could not be read.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Keys, one of which seals. Cheap to clone; all clones have the same.
#[derive(Clone, Debug)]
pub struct Keyring(Arc<RwLock<Keys>>);

impl Keyring {
    /// How long a program waits that changes the key file, until those that follow it know the change.
    pub const SETTLED: Duration = LOOK.saturating_mul(5);

    /// Of these keys.
    pub fn new(keys: Keys) -> Self {
        Self(Arc::new(RwLock::new(keys)))
    }

    /// The keys of a file.
    ///
    /// # Errors
    /// When they can't be had.
    pub async fn read(file: &KeyFile) -> Result<Self, KeyFileError> {
        file.read().await.map(Self::new)
    }

    /// A ring with one new key, which no other process knows.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, SealError> {
        Key::generate().map(Keys::of).map(Self::new)
    }

    /// The key that seals.
    pub fn primary(&self) -> Key {
        self.0.read().seals.clone()
    }

    /// The keys that something may be sealed with from now on: the one that seals, and the one that is next.
    pub fn sealing(&self) -> Vec<Key> {
        let keys = self.0.read();
        [&keys.seals].into_iter().chain(&keys.next).cloned().collect()
    }

    /// The key of a name.
    pub fn key(&self, id: KeyId) -> Option<Key> {
        self.0.read().all().find(|key| key.id() == id).cloned()
    }

    /// The names of all keys, that of the one that seals first.
    pub fn ids(&self) -> Vec<KeyId> {
        self.0.read().all().map(Key::id).collect()
    }

    /// Takes other keys in the place of its own.
    pub fn replace(&self, keys: Keys) {
        *self.0.write() = keys;
    }

    /// Keeps in step with a key file, without end. What can't be read changes nothing, and is tried again.
    pub async fn follow(self, file: KeyFile) {
        // What was written before this began is read as well.
        let (mut seen, mut pause) = (None, LOOK);
        loop {
            tokio::time::sleep(pause).await;
            let now = Stamp::at(file.path());
            if now == seen {
                continue;
            }
            match file.read().await {
                Ok(keys) => {
                    (seen, pause) = (now, LOOK);
                    let before = self.ids();
                    self.replace(keys);
                    if self.ids() != before {
                        tracing::info!(primary = %self.primary().id(), "the keys of secrets at rest were read anew");
                    }
                }
                Err(error) => {
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "the key file can't be read: the keys of secrets at rest stay as they were"
                    );
                }
            }
        }
    }
}

/// What tells one content of a file from another without reading it.
#[derive(PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl Stamp {
    fn at(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok(), len: metadata.len(), inode: metadata.ino() })
    }
}
