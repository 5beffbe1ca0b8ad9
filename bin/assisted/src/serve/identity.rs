//! The key that signs tokens, and how the first administrator comes in.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use assisted_auth::Signer;
use assisted_config::{Auth, AuthType};
use assisted_seal::{Keyring, SealedFile};
use assisted_store::Store;
use assisted_wire::secret::Secret;

/// Name of the key in the database, where none is set.
const KEY: &str = "token-key";
/// File in the data folder where earlier programs have kept it.
const KEY_FILE: &str = "token-key.pem";

const NO_KEY: &str = "AUTH_TYPE=local needs EC_PRIVATE_KEY_PEM, the P-256 key (PEM) that signs tokens: \
     `openssl ecparam -name prime256v1 -genkey -noout` makes one";

/// What signs tokens; `None`: nobody shows any. Where people log in, a key is made and kept unless one is set; the
/// key that verifies is taken from it unless that is set, too.
pub(super) async fn signer(
    settings: &mut Auth,
    data_dir: &Path,
    keys: &Keyring,
    store: &Store,
) -> Result<Option<Signer>> {
    match settings.auth_type {
        AuthType::Local => ensure!(!settings.ec_private_key_pem.is_empty(), NO_KEY),
        AuthType::Users if settings.ec_private_key_pem.is_empty() => {
            let kept = kept_key(store, &key_file(data_dir), keys).await;
            settings.ec_private_key_pem =
                kept.context("the key that signs tokens can't be used; set EC_PRIVATE_KEY_PEM to another")?;
        }
        AuthType::Users => {}
        _ => return Ok(None),
    }
    let signer = Signer::new(&settings.ec_private_key_pem)?;
    if settings.ec_public_key_pem.is_empty() {
        settings.ec_public_key_pem = signer.public_key()?;
    }
    Ok(Some(signer))
}

/// The file of that key, sealed like all other secrets.
pub(crate) fn key_file(data_dir: &Path) -> SealedFile {
    SealedFile::new(data_dir.join(KEY_FILE), KEY_FILE)
}

/// The key in the database, the same for all replicas. It is made if there is none; one in a file goes into the database.
async fn kept_key(store: &Store, file: &SealedFile, keys: &Keyring) -> Result<Secret> {
    // One that stays, since it differs, has to open after older keys are forgotten.
    file.reseal(keys)?;
    let left = file.read(keys)?;
    let kept = match store.service_secret(KEY).await? {
        Some(kept) => kept,
        None => {
            let key = match &left {
                Some(key) => key.as_str().into(),
                None => Signer::generate()?,
            };
            // A file may hold anything, and the database keeps it.
            Signer::new(&key).with_context(|| file.path().display().to_string())?;
            store.keep_service_secret(KEY, &key).await?;
            // Another replica may have been the first.
            store.service_secret(KEY).await?.context("it was deleted from the database")?
        }
    };
    match left {
        Some(left) if left.as_str() != kept.expose() => tracing::warn!(
            file = %file.path().display(),
            "this file has another key than the database, whose key signs tokens: hosts whose image was made with the one of the file are \
             refused; boot them from a new image, then delete the file"
        ),
        Some(_) => file.remove()?,
        None => {}
    }
    Ok(kept)
}

/// What whoever started the service reads when there is no administrator yet. It is printed, and stands in no log.
pub(super) fn invitation(code: &Secret, url: &str) -> String {
    format!(
        "there is no administrator yet; within 24 hours, once:\n  assisted --url {url} login --setup {} --name NAME",
        code.expose()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The public key of a replica with this data folder.
    async fn public_key(store: &Store, data: &Path, keys: &Keyring) -> Result<String> {
        let mut settings = Auth { auth_type: AuthType::Users, ..Auth::default() };
        signer(&mut settings, data, keys, store).await?;
        Ok(settings.ec_public_key_pem)
    }

    async fn store(data: &Path, keys: &Keyring) -> Store {
        let store = Store::open(&format!("sqlite:{}", data.join("assisted.db").display())).await.unwrap();
        store.unlock(keys).await.unwrap();
        store
    }

    #[tokio::test]
    async fn a_key_is_made_once_for_all_replicas() {
        let (shared, one, other) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let keys = Keyring::generate().unwrap();
        let store = store(shared.path(), &keys).await;
        let (first, second) =
            tokio::join!(public_key(&store, one.path(), &keys), public_key(&store, other.path(), &keys));
        let key = first.unwrap();
        assert_eq!(key, second.unwrap());
        assert_eq!(key, public_key(&store, one.path(), &keys).await.unwrap(), "it is kept");
        assert!(!key_file(one.path()).path().exists());
    }

    #[tokio::test]
    async fn the_key_of_an_earlier_program_goes_into_the_database() {
        let data = tempfile::tempdir().unwrap();
        let keys = Keyring::generate().unwrap();
        let store = store(data.path(), &keys).await;
        let file = key_file(data.path());
        std::fs::write(file.path(), "nonsense").unwrap();
        assert!(public_key(&store, data.path(), &keys).await.is_err());
        assert!(file.path().exists(), "nothing was changed");

        let key = Signer::generate().unwrap();
        let expected = Signer::new(&key).unwrap().public_key().unwrap();
        std::fs::write(file.path(), key.expose()).unwrap();
        for _ in 0..2 {
            assert_eq!(public_key(&store, data.path(), &keys).await.unwrap(), expected);
            assert!(!file.path().exists());
        }
        // A replica that had a key of its own until now.
        let other = tempfile::tempdir().unwrap();
        let own = key_file(other.path());
        std::fs::write(own.path(), Signer::generate().unwrap().expose()).unwrap();
        assert_eq!(public_key(&store, other.path(), &keys).await.unwrap(), expected);
        assert!(own.path().exists(), "nothing is lost");
    }
}
