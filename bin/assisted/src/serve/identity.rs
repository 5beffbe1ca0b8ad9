//! The key that signs tokens, and how the first administrator comes in.

use std::path::Path;

use anyhow::{Context, Result};
use assisted_auth::Signer;
use assisted_config::{Auth, AuthType};
use assisted_seal::{Keyring, SealedFile};
use assisted_wire::secret::Secret;

/// File in the data folder with the key, where none is set.
const KEY_FILE: &str = "token-key.pem";

/// What signs tokens; `None`: nobody shows any. Where people log in, a key is made and kept unless one is set: that is said where the
/// database may have other replicas.
pub(super) fn signer(
    settings: &mut Auth,
    data_dir: &Path,
    keys: &Keyring,
    has_replicas: bool,
) -> Result<Option<Signer>> {
    match settings.auth_type {
        AuthType::Local => Ok(Some(Signer::new(&settings.ec_private_key_pem)?)),
        AuthType::Users => {
            if settings.ec_private_key_pem.is_empty() {
                let file = key_file(data_dir);
                let kept = kept_key(&file, keys);
                settings.ec_private_key_pem = kept.with_context(|| {
                    format!(
                        "the key that signs tokens, {}, can't be used; set EC_PRIVATE_KEY_PEM to another",
                        file.path().display()
                    )
                })?;
                if has_replicas {
                    tracing::warn!(
                        file = %file.path().display(),
                        "the key that signs tokens is in this data folder alone: another replica refuses hosts that come with a token of \
                         this one, and they do not come again; set the same EC_PRIVATE_KEY_PEM for all"
                    );
                }
            }
            let signer = Signer::new(&settings.ec_private_key_pem)?;
            if settings.ec_public_key_pem.is_empty() {
                settings.ec_public_key_pem = signer.public_key()?;
            }
            Ok(Some(signer))
        }
        _ => Ok(None),
    }
}

/// The file of that key, sealed like all other secrets.
pub(crate) fn key_file(data_dir: &Path) -> SealedFile {
    SealedFile::new(data_dir.join(KEY_FILE), KEY_FILE)
}

/// The key in a file, which is made if there is none. Of several that start at once, all get the same.
fn kept_key(file: &SealedFile, keys: &Keyring) -> Result<Secret> {
    if file.read(keys)?.is_none() {
        file.create(keys, Signer::generate()?.expose())?;
    }
    file.reseal(keys)?;
    let kept = file.read(keys)?.context("it was deleted")?;
    Ok(kept.as_str().into())
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keyring::generate().unwrap();
        let key = || {
            let mut settings = Auth { auth_type: AuthType::Users, ..Auth::default() };
            signer(&mut settings, dir.path(), &keys, false).unwrap().unwrap();
            settings.ec_public_key_pem
        };
        assert_eq!(key(), key());
        let names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [KEY_FILE]);
        let mode = std::fs::metadata(dir.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let kept = std::fs::read_to_string(dir.path().join(KEY_FILE)).unwrap();
        assert!(!kept.contains("PRIVATE KEY"), "it is sealed");
        std::fs::write(dir.path().join(KEY_FILE), "nonsense").unwrap();
        let mut settings = Auth { auth_type: AuthType::Users, ..Auth::default() };
        assert!(signer(&mut settings, dir.path(), &keys, false).is_err());
    }
}
