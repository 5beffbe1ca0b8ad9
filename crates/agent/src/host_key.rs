//! The key by which the service tells this host's agent from those of other machines, which have the same token.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tracing::warn;

/// Random bytes of a key.
const BYTES: usize = 32;

/// The key that is in a file, or a new one that is put there. Where it can't be kept, an agent that is started again has to wait until the
/// service has missed this one.
pub(crate) fn kept_in(path: &Path) -> Secret {
    let kept = fs::read_to_string(path).unwrap_or_default();
    if BASE64_URL_SAFE_NO_PAD.decode(&kept).is_ok_and(|bytes| bytes.len() == BYTES) {
        return Secret::from(kept);
    }
    let key = Secret::from(BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; BYTES]>()));
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(key.expose().as_bytes())) {
        warn!(%error, path = %path.display(), "the key of this host is not kept");
    }
    key
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_kept_and_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = kept_in(&path);
        assert_eq!(kept_in(&path), key);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "nonsense").unwrap();
        let other = kept_in(&path);
        assert_ne!(other, key);
        assert_eq!(kept_in(&path), other);
        let nowhere = dir.path().join("none/key");
        assert_ne!(kept_in(&nowhere), kept_in(&nowhere));
    }
}
