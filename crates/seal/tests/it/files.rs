//! Sealed files.

use assisted_seal::file::{HEAD, Opener, PIECE, SEALED_PIECE, Sealer, key_of, plain_len};
use assisted_seal::{Keyring, SealError};

fn sealed(keys: &Keyring, plain: &[u8], step: usize) -> Vec<u8> {
    let mut sealer = Sealer::new(keys, "a/kubeconfig").unwrap();
    let mut sealed = Vec::new();
    for piece in plain.chunks(step) {
        sealed.extend(sealer.push(piece).unwrap());
    }
    sealed.extend(sealer.finish().unwrap());
    sealed
}

fn opened(keys: &Keyring, place: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
    let head = sealed.first_chunk::<HEAD>().ok_or(SealError::Form)?;
    let opener = Opener::new(keys, place, head, sealed.len() as u64)?;
    let mut plain = Vec::new();
    for (number, piece) in sealed[HEAD..].chunks(SEALED_PIECE).enumerate() {
        plain.extend(opener.piece(number as u64, piece.to_vec())?);
    }
    Ok(plain)
}

#[test]
fn files_of_any_length() {
    let keys = Keyring::generate().unwrap();
    for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7] {
        let plain: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        for step in [1000, PIECE, 1 << 20] {
            let sealed = sealed(&keys, &plain, step);
            assert_eq!(plain_len(sealed.len() as u64), Some(len as u64), "{len}");
            assert_eq!(key_of(&sealed), Some(keys.primary().id()));
            assert_eq!(opened(&keys, "a/kubeconfig", &sealed).unwrap(), plain, "{len}");
        }
    }
}

#[test]
fn what_was_cut_off_moved_or_changed_does_not_open() {
    let keys = Keyring::generate().unwrap();
    let plain = vec![7; 2 * PIECE + 100];
    let whole = sealed(&keys, &plain, PIECE);
    assert!(opened(&keys, "b/kubeconfig", &whole).is_err());
    // At the border of a piece, too: the last one is marked.
    for len in [0, 3, HEAD, HEAD + 5, HEAD + SEALED_PIECE, HEAD + 2 * SEALED_PIECE, whole.len() - 1] {
        assert!(opened(&keys, "a/kubeconfig", &whole[..len]).is_err(), "{len}");
    }
    let mut swapped = whole.clone();
    swapped[HEAD..HEAD + 2 * SEALED_PIECE].rotate_left(SEALED_PIECE);
    assert!(opened(&keys, "a/kubeconfig", &swapped).is_err());
    for at in [0, 5, 20, HEAD, HEAD + SEALED_PIECE, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(opened(&keys, "a/kubeconfig", &changed).is_err(), "{at}");
    }
}
