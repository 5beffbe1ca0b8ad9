//! What is put back is what was there.

use std::os::unix::fs::PermissionsExt;

use assisted_backup::{RestoreError, verify};
use assisted_blob::Blob;
use assisted_store::Deleted;
use jiff::Timestamp;

use crate::world::{LONG, SECRET, World, key, long};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_goes_to_either_engine() {
    for from in [World::sqlite(), World::postgres()] {
        let id = from.fill().await;
        let manifest = from.write(false).await;
        assert_eq!(verify(&from.archive()).unwrap(), manifest);
        assert_eq!((manifest.files(), manifest.rows_of("clusters"), manifest.has_keys), (3, 1, false));
        assert_eq!(manifest.seal_keys, [from.keys().await.primary().id().to_string()]);
        let bytes = std::fs::read(from.archive()).unwrap();
        let is_in = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!is_in(SECRET));

        for to in [World::sqlite(), World::postgres()] {
            assert_eq!(to.restore(&from.archive()).await.unwrap(), manifest);
            assert!(!to.key_path().exists(), "keys go only where they are asked for");
            std::fs::copy(from.key_path(), to.key_path()).unwrap();
            let store = to.store().await;
            let stored = store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
            assert_eq!(stored.record.pull_secret.expose(), SECRET);
            // Whoever had taken it does not live here.
            let now = Timestamp::now();
            let taken = store.take_due("here", now, 10, jiff::SignedDuration::from_secs(1)).await.unwrap();
            assert_eq!(taken.len(), 1);
            let files = to.files().await.sealed(to.keys().await);
            assert_eq!(read(&files, &format!("{id}/short")).await, SECRET.as_bytes());
            assert_eq!(read(&files, &format!("{id}/empty")).await, b"");
            let name = format!("{id}/long/{}", "x".repeat(200));
            assert!(read(&files, &name).await == long());
            let token = to.dir.path().join("token-key.pem");
            assert_eq!(std::fs::read_to_string(&token).unwrap(), "sealed token key");
            assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_out_of_buckets_and_into_them() {
    for (from, to) in [
        (World::sqlite().in_a_bucket(), World::sqlite()),
        (World::sqlite(), World::postgres().in_a_bucket()),
        (World::postgres().in_a_bucket(), World::sqlite().in_a_bucket()),
    ] {
        let id = from.fill().await;
        let manifest = from.write(true).await;
        assert_eq!(verify(&from.archive()).unwrap(), manifest);
        assert_eq!(manifest.files(), 3);
        assert_eq!(to.restore(&from.archive()).await.unwrap(), manifest);
        assert_eq!(to.files().await.all().await.unwrap().len(), 3);
        let files = to.files().await.sealed(to.keys().await);
        assert_eq!(read(&files, &format!("{id}/short")).await, SECRET.as_bytes());
        assert!(read(&files, &format!("{id}/long/{}", "x".repeat(200))).await == long());
        let again = to.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(again, RestoreError::Database(_)), "{again}");
        // What nobody put there is found in a bucket, too.
        let other = World::sqlite().in_a_bucket();
        other.files().await.put(&key("a/b"), "c").await.unwrap();
        let refused = other.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(&refused, RestoreError::Strange(name) if name == "a/b"), "{refused}");
    }
}

async fn read(files: &Blob, name: &str) -> Vec<u8> {
    files.get(&key(name), LONG as u64).await.unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_come_along_when_they_are_asked_for() {
    let (from, to) = (World::sqlite(), World::sqlite());
    from.fill().await;
    assert!(from.write(true).await.has_keys);
    to.restore(&from.archive()).await.unwrap();
    let text = |world: &World| std::fs::read_to_string(world.key_path()).unwrap();
    assert_eq!(text(&to), text(&from));
    to.store().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_there_is_left_alone() {
    let from = World::sqlite();
    let id = from.fill().await;
    from.write(true).await;
    for to in [World::sqlite(), World::postgres()] {
        // Another file.
        to.files().await.put(&key("a/b"), "c").await.unwrap();
        let refused = to.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(&refused, RestoreError::Strange(name) if name == "a/b"), "{refused}");
        to.files().await.delete(&key("a/b")).await.unwrap();
        // One of the archive's with another content.
        let short = key(&format!("{id}/short"));
        let sealed = from.files().await.get(&short, 1000).await.unwrap();
        to.files().await.put(&short, vec![0; sealed.len()]).await.unwrap();
        let refused = to.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(&refused, RestoreError::Other(_)), "{refused}");
        // Other keys.
        to.files().await.put(&short, sealed).await.unwrap();
        to.keys().await;
        let refused = to.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(&refused, RestoreError::OtherData { .. }), "{refused}");
        std::fs::remove_file(to.key_path()).unwrap();
        // What an attempt has left that was ended is taken.
        to.restore(&from.archive()).await.unwrap();
        let again = to.restore(&from.archive()).await.unwrap_err();
        assert!(matches!(again, RestoreError::Database(_)), "{again}");
        assert!(to.store().await.cluster(id, Deleted::Hidden).await.unwrap().is_some());
    }
}
