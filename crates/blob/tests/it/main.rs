//! Files in a directory, on a real file system, and in a bucket.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod sealed;
mod suite;

use std::time::{Duration, SystemTime};

use assisted_blob::{Blob, Error, Key};
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
