//! The key that signs tokens, and how the first administrator comes in.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_auth::Signer;
use assisted_config::{Auth, AuthType};
use assisted_wire::secret::Secret;

/// File in the data folder with the key, where none is set.
const KEY_FILE: &str = "token-key.pem";

/// What signs tokens; `None`: nobody shows any. Where people log in, a key is made and kept unless one is set.
pub(super) fn signer(settings: &mut Auth, data_dir: &Path) -> Result<Option<Signer>> {
    match settings.auth_type {
        AuthType::Local => Ok(Some(Signer::new(&settings.ec_private_key_pem)?)),
        AuthType::Users => {
            if settings.ec_private_key_pem.is_empty() {
                let path = data_dir.join(KEY_FILE);
                let kept = kept_key(&path);
                settings.ec_private_key_pem = kept.with_context(|| {
                    format!(
                        "the key that signs tokens, {}, can't be used; set EC_PRIVATE_KEY_PEM to another",
                        path.display()
                    )
                })?;
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

/// The key in a file, which is made if there is none. Of several that start at once, all get the same.
fn kept_key(path: &Path) -> Result<Secret> {
    let read = || -> std::io::Result<Secret> {
        let mut text = String::new();
        std::fs::File::open(path)?.take(1 << 16).read_to_string(&mut text)?;
        Ok(text.into())
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return Ok(found?),
    }
    // Whole before it has its name: nobody reads half of it.
    let own = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&own)?;
    file.write_all(Signer::generate()?.expose().as_bytes())?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&own, path);
    std::fs::remove_file(&own)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(read()?),
    }
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
        let key = || {
            let mut settings = Auth { auth_type: AuthType::Users, ..Auth::default() };
            signer(&mut settings, dir.path()).unwrap().unwrap();
            settings.ec_public_key_pem
        };
        assert_eq!(key(), key());
        let names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [KEY_FILE]);
        let mode = std::fs::metadata(dir.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(dir.path().join(KEY_FILE), "nonsense").unwrap();
        let mut settings = Auth { auth_type: AuthType::Users, ..Auth::default() };
        assert!(signer(&mut settings, dir.path()).is_err());
    }
}
