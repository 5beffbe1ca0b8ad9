//! Secrets at rest: their keys, made at the first start, and the sealing of what is not sealed yet.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assisted_blob::Blob;
use assisted_config::Seal;
use assisted_seal::{Hook, KeyFile, Keyring};
use assisted_store::Store;

/// Name of the key file in the data folder, where no other is set.
const KEY_FILE: &str = "seal-keys";

/// The keys, and where they come from.
pub(crate) struct Secrets {
    pub(crate) keys: Keyring,
    file: KeyFile,
}

/// The file that is set.
pub(crate) fn key_file(settings: &Seal, data_dir: &Path) -> KeyFile {
    let set = |text: &str| Some(text).filter(|text| !text.is_empty()).map(PathBuf::from);
    let path = set(&settings.key_file).unwrap_or_else(|| data_dir.join(KEY_FILE));
    KeyFile::new(path, set(&settings.key_program).map(Hook::new))
}

impl Secrets {
    /// Reads the keys and gives them to the database. They are made when there are none, and the database needs none yet.
    pub(crate) async fn open(settings: &Seal, data_dir: &Path, store: &Store) -> Result<Self> {
        let file = key_file(settings, data_dir);
        let needed = store.seal_keys().await.context("the database can't be read")?;
        let path = file.path().display();
        if !file.exists() {
            if let Some(key) = needed.first() {
                anyhow::bail!(
                    "secrets in the database are sealed with the key {key}, and there is no key file {path}: put it back, or set \
                     SEAL_KEY_FILE; nothing is lost, and nothing was changed"
                );
            }
            file.make()
                .await
                .context("the keys of secrets at rest can't be made; choose their file with SEAL_KEY_FILE")?;
            tracing::info!(file = %path, "a key was made that secrets are sealed with: keep a copy of it, apart from the database");
        }
        let keys = Keyring::read(&file).await.context("the keys of secrets at rest can't be had")?;
        store.unlock(&keys).await?;
        Ok(Self { keys, file })
    }

    /// Seals what an older program has left unsealed, or an older key has sealed.
    pub(crate) async fn seal(&self, store: &Store, blob: &Blob) -> Result<()> {
        if store.is_sealing_done().await? {
            return Ok(());
        }
        let rows = store.seal_rows().await.context("secrets in the database can't be sealed")?;
        let files = blob.seal_files().await.context("files can't be sealed")?;
        // Also where nothing was sealed: an earlier start may have ended between the two.
        store.clear_remains().await.context("the database can't be cleared of what was not sealed")?;
        store.sealing_done().await?;
        if rows + files > 0 {
            tracing::info!(rows, files, key = %self.keys.primary().id(), "secrets were sealed");
        }
        Ok(())
    }

    /// Keeps the keys in step with their file.
    pub(crate) fn follow(&self) -> impl Future<Output = ()> + Send + use<> {
        self.keys.clone().follow(self.file.clone())
    }
}
