//! Sealed files that somebody reaches on the disk, or changes meanwhile.

use assisted_blob::Error;
use assisted_seal::{Key as SealKey, Keyring, Keys};
use futures::StreamExt;

use super::{LIMIT, blob, key};

/// What is in a file on the disk.
fn raw(dir: &tempfile::TempDir, name: &str) -> Vec<u8> {
    std::fs::read(dir.path().join("data/blob").join(name)).unwrap()
}

#[tokio::test]
async fn a_file_that_was_moved_or_changed_is_not_read() {
    let (dir, blob) = blob().await;
    let blob = blob.sealed(Keyring::generate().unwrap());
    blob.put(&key("one/kubeconfig"), "s3cr3t").await.unwrap();
    blob.put(&key("other/kubeconfig"), "other").await.unwrap();
    let root = dir.path().join("data/blob");
    std::fs::copy(root.join("one/kubeconfig"), root.join("other/kubeconfig")).unwrap();
    let moved = blob.get(&key("other/kubeconfig"), LIMIT).await;
    assert!(matches!(moved, Err(Error::Io { .. })), "{moved:?}");
    let mut bytes = raw(&dir, "one/kubeconfig");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(root.join("one/kubeconfig"), bytes).unwrap();
    assert!(blob.get(&key("one/kubeconfig"), LIMIT).await.is_err());
    let (_, pieces) = blob.stream(&key("one/kubeconfig"), None).await.unwrap();
    assert!(pieces.collect::<Vec<_>>().await.iter().any(Result::is_err));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_and_deleted_meanwhile_stays_so() {
    let (_dir, plain) = blob().await;
    let (one, other) = (SealKey::generate().unwrap(), SealKey::generate().unwrap());
    let keys = Keyring::new(Keys { opens: vec![other.clone()], ..Keys::of(one.clone()) });
    let blob = plain.sealed(keys.clone());
    let (putting, sealing) = (blob.clone(), blob.clone());
    let put = tokio::spawn(async move {
        for number in 0..300 {
            putting.put(&key("c/changed"), number.to_string()).await.unwrap();
            putting.put(&key("c/deleted"), number.to_string()).await.unwrap();
            assert_eq!(putting.get(&key("c/changed"), LIMIT).await.unwrap(), number.to_string());
            putting.delete(&key("c/deleted")).await.unwrap();
            assert!(!putting.exists(&key("c/deleted")).await.unwrap());
        }
    });
    while !put.is_finished() {
        for (seals, opens) in [(&one, &other), (&other, &one)] {
            keys.replace(Keys { opens: vec![opens.clone()], ..Keys::of(seals.clone()) });
            sealing.seal_files().await.unwrap();
        }
    }
    put.await.unwrap();
    assert_eq!(blob.get(&key("c/changed"), LIMIT).await.unwrap(), "299");
    assert!(!blob.exists(&key("c/deleted")).await.unwrap());
}
