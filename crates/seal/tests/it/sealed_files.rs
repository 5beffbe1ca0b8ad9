//! Texts in files of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use assisted_seal::{Key, Keyring, Keys, SealedFile, SealedFileError, text};

#[test]
fn a_text_is_sealed_and_sealed_anew() {
    let dir = tempfile::tempdir().unwrap();
    let file = SealedFile::new(dir.path().join("key"), "a key");
    let old = Key::generate().unwrap();
    let keys = Keyring::new(Keys::of(old.clone()));
    assert!(file.read(&keys).unwrap().is_none());
    assert!(!file.reseal(&keys).unwrap());
    fs::write(file.path(), text::seal(&keys, "a key", "s3cr3t").unwrap()).unwrap();
    assert!(!file.reseal(&keys).unwrap());
    assert_eq!(&*file.read(&keys).unwrap().unwrap(), "s3cr3t");

    let new = Key::generate().unwrap();
    keys.replace(Keys { opens: vec![old], ..Keys::of(new.clone()) });
    assert!(file.reseal(&keys).unwrap() && !file.reseal(&keys).unwrap());
    keys.replace(Keys::of(new));
    assert_eq!(&*file.read(&keys).unwrap().unwrap(), "s3cr3t");
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let other = file.read(&Keyring::generate().unwrap());
    assert!(matches!(other, Err(SealedFileError::Seal { .. })), "{other:?}");
    for _ in 0..2 {
        file.remove().unwrap();
        assert!(file.read(&keys).unwrap().is_none());
    }
}

#[test]
fn a_text_of_an_older_program_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let file = SealedFile::new(dir.path().join("key"), "a key");
    let keys = Keyring::generate().unwrap();
    fs::write(file.path(), "-----BEGIN s3cr3t").unwrap();
    assert_eq!(&*file.read(&keys).unwrap().unwrap(), "-----BEGIN s3cr3t");
    assert!(file.reseal(&keys).unwrap());
    assert!(!fs::read_to_string(file.path()).unwrap().contains("s3cr3t"));
    assert_eq!(&*file.read(&keys).unwrap().unwrap(), "-----BEGIN s3cr3t");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left behind");
}
