//! Key files, and programs that wrap keys.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assisted_seal::{Hook, Key, KeyFile, KeyFileError, Keyring, Keys};

/// A program that "wraps" by turning letters around; it notes what it is asked.
fn program(dir: &Path) -> Hook {
    let path = dir.join("wrap");
    let text = "#!/bin/sh\ntouch \"$0.$1\"\nprintf %s \"$KEY\" | tr 'A-Za-z' 'N-ZA-Mn-za-m'\n";
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Hook::new(path)
}

#[tokio::test]
async fn a_file_is_made_once_and_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let file = KeyFile::new(dir.path().join("keys"), None);
    assert!(matches!(file.read().await, Err(KeyFileError::Io { .. })));
    let (one, other) = tokio::join!(file.make(), file.make());
    one.unwrap();
    other.unwrap();
    let first = Keyring::read(&file).await.unwrap().ids();
    file.make().await.unwrap();
    assert_eq!(Keyring::read(&file).await.unwrap().ids(), first);
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left behind");
}

#[tokio::test]
async fn what_is_no_key_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = KeyFile::new(dir.path().join("keys"), None);
    let (key, other) = (Key::generate().unwrap(), Key::generate().unwrap());
    for (text, expected) in [
        ("# nothing\n\n".to_owned(), "must have one key that seals"),
        (
            format!("seals {0} plain {1}\nseals {0} plain {1}\n", key.id(), &*key.text()),
            "must have one key that seals",
        ),
        ("seals\n".to_owned(), "line 1 of"),
        (format!("seals {} plain short\n", key.id()), "line 1 of"),
        (format!("\nopens {} plain {}\n", other.id(), &*key.text()), "holds another key than"),
        (format!("seals {} wrapped x\n", key.id()), "SEAL_KEY_PROGRAM names no program"),
    ] {
        fs::write(file.path(), &text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = file.read().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains(&*key.text()));
    }
}

#[tokio::test]
async fn a_file_that_others_may_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = KeyFile::new(dir.path().join("keys"), None);
    file.make().await.unwrap();
    for mode in [0o644, 0o604, 0o602, 0o601] {
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = file.read().await.unwrap_err().to_string();
        assert!(error.contains("open to others") && error.contains("chmod 600"), "{error}");
    }
    // Such as Kubernetes gives to the files of volumes.
    for mode in [0o400, 0o440, 0o660] {
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        file.read().await.unwrap();
    }
    assert!(matches!(KeyFile::new(dir.path(), None).read().await, Err(KeyFileError::Open { .. })));
}

#[tokio::test]
async fn a_program_wraps_keys() {
    let dir = tempfile::tempdir().unwrap();
    let hook = program(dir.path());
    let file = KeyFile::new(dir.path().join("keys"), Some(hook.clone()));
    file.make().await.unwrap();
    let keys = file.read().await.unwrap();
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(text.contains(" wrapped ") && !text.contains(&*keys.seals.text()), "{text}");
    assert!(dir.path().join("wrap.wrap").exists() && dir.path().join("wrap.unwrap").exists());
    let bare = KeyFile::new(file.path(), None);
    assert!(matches!(bare.read().await, Err(KeyFileError::NoHook { .. })));
}

#[tokio::test]
async fn a_program_that_fails_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("fails", "#!/bin/sh\necho secret; exit 3\n"), ("says-nothing", "#!/bin/sh\n")] {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = Hook::new(&path).wrap("key").await.unwrap_err().to_string();
        assert!(error.contains(name) && !error.contains("secret"), "{error}");
    }
    assert!(Hook::new(dir.path().join("none")).wrap("key").await.is_err());
}

#[tokio::test]
async fn a_ring_follows_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = KeyFile::new(dir.path().join("keys"), None);
    file.make().await.unwrap();
    let ring = Keyring::read(&file).await.unwrap();
    let following = tokio::spawn(ring.clone().follow(file.clone()));
    let new = Key::generate().unwrap();
    file.write(&Keys { opens: vec![ring.primary()], ..Keys::of(new.clone()) }).await.unwrap();
    let seen = async {
        while ring.primary().id() != new.id() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), seen).await.unwrap();
    assert_eq!(ring.ids().len(), 2);
    following.abort();
}
