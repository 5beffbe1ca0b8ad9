//! A directory of files, on a real file system.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod sealed;
mod suite;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use assisted_blob::{Blob, Error, Key};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use tempfile::TempDir;

const LIMIT: u64 = 1 << 20;

async fn blob() -> (TempDir, Blob) {
    let dir = tempfile::tempdir().unwrap();
    let blob = Blob::open(dir.path().join("data/blob")).await.unwrap();
    (dir, blob)
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Files that are there or being made, unfinished ones included.
fn files(dir: &TempDir) -> usize {
    fn count(path: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let entries = entries.filter(|path| !path.ends_with(".unfinished/lock"));
        entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
    }
    count(dir.path())
}

#[tokio::test]
async fn what_is_put_is_got() {
    let (dir, blob) = blob().await;
    let ign = key("c1/bootstrap.ign");
    assert!(!blob.exists(&ign).await.unwrap());
    assert!(matches!(blob.get(&ign, LIMIT).await, Err(Error::NotFound(missing)) if missing == ign));
    blob.put(&ign, "old").await.unwrap();
    blob.put(&ign, "new content").await.unwrap();
    assert_eq!(blob.get(&ign, 11).await.unwrap(), "new content");
    assert!(matches!(blob.get(&ign, 10).await, Err(Error::TooLarge { limit: 10, .. })));
    assert_eq!(blob.metadata(&ign).await.unwrap().unwrap().size, 11);
    assert_eq!(files(&dir), 1);

    let path = dir.path().join("data/blob/c1/bootstrap.ign");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = Blob::open(dir.path().join("data/blob")).await.unwrap();
    assert_eq!(again.get(&ign, LIMIT).await.unwrap(), "new content");
}

#[tokio::test]
async fn parts_are_clipped_to_the_file() {
    let (_dir, blob) = blob().await;
    let file = key("f");
    blob.put(&file, "0123456789").await.unwrap();
    for (range, expected) in [
        (0..10, "0123456789"),
        (3..5, "34"),
        (8..100, "89"),
        (10..20, ""),
        (50..60, ""),
        (4..4, ""),
        (0..u64::MAX, "0123456789"),
    ] {
        assert_eq!(blob.get_range(&file, range.clone()).await.unwrap(), expected, "{range:?}");
        let (object, pieces) = blob.stream(&file, Some(range.clone())).await.unwrap();
        let content: Vec<Bytes> = pieces.try_collect().await.unwrap();
        assert_eq!((object.size, content.concat()), (10, expected.as_bytes().to_vec()), "{range:?}");
    }
    // A reversed range is what a hostile client asks for.
    #[allow(clippy::reversed_empty_ranges, reason = "the case under test")]
    let reversed = 7..2;
    assert_eq!(blob.get_range(&file, reversed).await.unwrap(), "");
}

#[tokio::test]
async fn streams_are_written_whole_or_not_at_all() {
    let (dir, blob) = blob().await;
    let logs = key("c1/logs/h1/logs.tar.gz");
    let pieces = |count: usize| stream::iter((0..count).map(|n| Ok(Bytes::from(vec![n as u8; 1000]))));
    assert_eq!(blob.put_stream(&logs, pieces(1000), 1_000_000).await.unwrap(), 1_000_000);
    let (_, read) = blob.stream(&logs, None).await.unwrap();
    assert_eq!(read.map(|piece| piece.unwrap().len()).fold(0, async |sum, size| sum + size).await, 1_000_000);

    assert!(matches!(blob.put_stream(&logs, pieces(1001), 1_000_000).await, Err(Error::TooLarge { .. })));
    let broken = stream::iter([Ok(Bytes::from_static(b"x")), Err(std::io::Error::other("connection lost"))]);
    assert!(matches!(blob.put_stream(&logs, broken, LIMIT).await, Err(Error::Io { .. })));
    assert_eq!(blob.metadata(&logs).await.unwrap().unwrap().size, 1_000_000);
    assert_eq!(files(&dir), 1, "nothing unfinished is left");
}

#[tokio::test]
async fn folders_are_listed_and_deleted() {
    let (dir, blob) = blob().await;
    for name in [
        "c1/master.ign",
        "c1/manifests/openshift/b.yaml",
        "c1/manifests/openshift/a.yaml",
        "c10/master.ign",
        "c1.tar",
    ] {
        blob.put(&key(name), name.to_owned()).await.unwrap();
    }
    let list = async |folder: &str| {
        let found = blob.list(&key(folder)).await.unwrap();
        found.iter().map(|(key, _)| key.as_str().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list("c1").await, "c1/manifests/openshift/a.yaml c1/manifests/openshift/b.yaml c1/master.ign");
    assert_eq!(list("c1/master.ign").await, "c1/master.ign");
    assert_eq!(list("c1/master.ign/x").await, "");
    assert_eq!(list("none").await, "");

    assert!(blob.delete(&key("c1/master.ign")).await.unwrap());
    assert!(!blob.delete(&key("c1/master.ign")).await.unwrap());
    assert!(!blob.delete(&key("c1.tar/below")).await.unwrap());
    assert_eq!(blob.delete_all(&key("c1")).await.unwrap(), 2);
    assert_eq!(blob.delete_all(&key("c1")).await.unwrap(), 0);
    assert!(!dir.path().join("data/blob/c1").exists(), "empty folders go");
    assert_eq!(list("c10").await, "c10/master.ign");
}

#[tokio::test]
async fn a_file_and_a_folder_do_not_share_a_key() {
    let (dir, blob) = blob().await;
    blob.put(&key("a/b"), "file").await.unwrap();
    assert!(matches!(blob.put(&key("a"), "x").await, Err(Error::Shadowed(_))));
    assert!(matches!(blob.put(&key("a/b/c"), "x").await, Err(Error::Shadowed(_))));
    assert!(matches!(blob.get(&key("a"), LIMIT).await, Err(Error::Shadowed(_))));
    assert!(!blob.exists(&key("a")).await.unwrap());
    assert_eq!(files(&dir), 1);
}

#[tokio::test]
async fn links_are_not_followed() {
    let (dir, blob) = blob().await;
    std::fs::write(dir.path().join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("data/blob/link")).unwrap();
    assert!(blob.list(&key("link")).await.unwrap().is_empty());
    assert_eq!(blob.delete_all(&key("link")).await.unwrap(), 0);
    assert!(dir.path().join("secret").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_deleters_do_not_disturb_each_other() {
    let (dir, blob) = blob().await;
    let tasks = (0..8).map(|n| {
        let blob = blob.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                let file = key(&format!("shared/folder/{}", n % 3));
                blob.put(&file, vec![n; 4096]).await.unwrap();
                match blob.get(&file, LIMIT).await {
                    Ok(content) => {
                        assert!(content.len() == 4096 && content.iter().all(|byte| *byte == content[0]));
                    }
                    Err(error) => assert!(matches!(error, Error::NotFound(_)), "{error}"),
                }
                blob.list(&key("shared")).await.unwrap();
                blob.delete(&file).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(files(&dir), 0);
}

#[tokio::test]
async fn what_dead_writers_left_is_swept() {
    let (dir, blob) = blob().await;
    drop(blob);
    let root = dir.path().join("data/blob");
    for (name, age) in [("old", 2), ("young", 0)] {
        let file = std::fs::File::create(root.join(".unfinished").join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age * 86_400)).unwrap();
    }
    Blob::open(&root).await.unwrap();
    assert!(!root.join(".unfinished/old").exists() && root.join(".unfinished/young").exists());
}
