//! Sealed files.

use assisted_blob::{Blob, Error};
use assisted_seal::{Key as SealKey, Keyring, Keys};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use super::{LIMIT, blob, key};

/// What is in a file on the disk.
fn raw(dir: &tempfile::TempDir, name: &str) -> Vec<u8> {
    std::fs::read(dir.path().join("data/blob").join(name)).unwrap()
}

fn content(len: usize) -> Bytes {
    (0..len).map(|n| b'a' + (n % 23) as u8).collect()
}

async fn streamed(blob: &Blob, name: &str, range: Option<std::ops::Range<u64>>) -> Vec<u8> {
    let (_, pieces) = blob.stream(&key(name), range).await.unwrap();
    pieces
        .try_fold(Vec::new(), |mut all, piece| async move {
            all.extend_from_slice(&piece);
            Ok(all)
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn sealed_files_are_read_as_they_were_put() {
    let (dir, blob) = blob().await;
    let blob = blob.sealed(Keyring::generate().unwrap());
    for len in [0, 1, 65_535, 65_536, 65_537, 300_000] {
        let whole = content(len);
        let pieces = whole.chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>();
        blob.put(&key("c/put"), whole.clone()).await.unwrap();
        assert_eq!(
            blob.put_stream(&key("c/streamed"), stream::iter(pieces), LIMIT).await.unwrap(),
            len as u64
        );
        for name in ["c/put", "c/streamed"] {
            assert_eq!(blob.get(&key(name), LIMIT).await.unwrap(), whole, "{name} {len}");
            assert_eq!(streamed(&blob, name, None).await, whole, "{name} {len}");
            assert_eq!(blob.metadata(&key(name)).await.unwrap().unwrap().size, len as u64);
            let end = len as u64;
            for range in [0..end, end / 2..end, 65_530..65_540, 10..20, end..end + 5] {
                let wanted = whole.slice(range.start.min(end) as usize..range.end.min(end) as usize);
                assert_eq!(
                    blob.get_range(&key(name), range.clone()).await.unwrap(),
                    wanted,
                    "{name} {len} {range:?}"
                );
                assert_eq!(streamed(&blob, name, Some(range)).await, wanted);
            }
            assert!(len < 100 || !raw(&dir, name).windows(8).any(|part| part == &whole[..8]), "{name} {len}");
        }
        let listed = blob.list(&key("c")).await.unwrap();
        assert!(listed.len() == 2 && listed.iter().all(|(_, object)| object.size == len as u64));
    }
    let large = blob.get(&key("c/put"), 10).await;
    assert!(matches!(large, Err(Error::TooLarge { limit: 10, .. })), "the limit is that of the content");
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

#[tokio::test]
async fn files_of_an_older_program_and_an_older_key_are_sealed_anew() {
    let (dir, plain) = blob().await;
    for name in ["c/kubeconfig", "c/logs/host", "d"] {
        plain.put(&key(name), format!("s3cr3t of {name}")).await.unwrap();
    }
    plain.put(&key("c/logs/large"), content(200_000)).await.unwrap();
    let before = plain.metadata(&key("d")).await.unwrap().unwrap();
    let old = SealKey::generate().unwrap();
    let keys = Keyring::new(Keys::of(old.clone()));
    let blob = plain.clone().sealed(keys.clone());
    assert_eq!(blob.get(&key("d"), LIMIT).await.unwrap(), "s3cr3t of d");
    assert_eq!(blob.seal_files().await.unwrap(), 4);
    assert_eq!(blob.seal_files().await.unwrap(), 0);
    assert!(!raw(&dir, "c/kubeconfig").windows(6).any(|part| part == b"s3cr3t"));
    let new = SealKey::generate().unwrap();
    keys.replace(Keys { opens: vec![old], ..Keys::of(new.clone()) });
    assert_eq!(blob.seal_files().await.unwrap(), 4);
    keys.replace(Keys::of(new));
    for name in ["c/kubeconfig", "c/logs/host", "d"] {
        assert_eq!(blob.get(&key(name), LIMIT).await.unwrap(), format!("s3cr3t of {name}"));
    }
    assert_eq!(blob.get(&key("c/logs/large"), LIMIT).await.unwrap(), content(200_000));
    assert_eq!(
        blob.metadata(&key("d")).await.unwrap().unwrap(),
        before,
        "size and time are those of the content"
    );
    let foreign = plain.sealed(Keyring::generate().unwrap());
    assert!(matches!(foreign.get(&key("d"), LIMIT).await, Err(Error::Io { .. })));
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

#[tokio::test]
async fn what_cannot_be_opened_can_be_deleted() {
    let (_dir, plain) = blob().await;
    plain.clone().sealed(Keyring::generate().unwrap()).put(&key("c/kubeconfig"), "s3cr3t").await.unwrap();
    let other = plain.sealed(Keyring::generate().unwrap());
    assert!(other.list(&key("c")).await.is_err());
    assert_eq!(other.delete_all(&key("c")).await.unwrap(), 1);
}
