//! Sealed texts.

use assisted_seal::{Key, Keyring, Keys, SealError, text};

#[test]
fn what_is_sealed_opens_at_its_place_alone() {
    let keys = Keyring::generate().unwrap();
    for plain in ["", "s3cr3t", &"x".repeat(100_000)] {
        let sealed = text::seal(&keys, "clusters/1", plain).unwrap();
        assert!(sealed.starts_with(&text::prefix(keys.primary().id())));
        assert!(plain.is_empty() || !sealed.contains(plain));
        assert_eq!(text::open(&keys, "clusters/1", &sealed).unwrap(), plain);
        assert_eq!(text::open(&keys, "clusters/2", &sealed), Err(SealError::Broken));
        assert_ne!(text::seal(&keys, "clusters/1", plain).unwrap(), sealed, "no two are alike");
    }
}

#[test]
fn what_was_changed_does_not_open() {
    let keys = Keyring::generate().unwrap();
    let sealed = text::seal(&keys, "p", "s3cr3t").unwrap();
    for at in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(text::open(&keys, "p", &changed).is_err(), "{at}");
        assert!(text::open(&keys, "p", &sealed[..at]).is_err(), "{at}");
    }
}

#[test]
fn old_keys_open_and_one_seals() {
    let (old, new) = (Key::generate().unwrap(), Key::generate().unwrap());
    let keys = Keyring::new(Keys::of(old.clone()));
    let sealed = text::seal(&keys, "p", "s3cr3t").unwrap();
    keys.replace(Keys { opens: vec![old.clone()], ..Keys::of(new.clone()) });
    assert_eq!(text::open(&keys, "p", &sealed).unwrap(), "s3cr3t");
    assert_eq!(text::key_of(&text::seal(&keys, "p", "x").unwrap()), Some(new.id()));
    keys.replace(Keys::of(new));
    assert_eq!(text::open(&keys, "p", &sealed), Err(SealError::UnknownKey(old.id())));
    assert_eq!(text::key_of("{\"a\":1}"), None);
}
