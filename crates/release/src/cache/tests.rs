//! The cache under load, after crashes, and full.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::error::RegistryError;

const BOUNDS: Bounds = Bounds { capacity: 1000, largest: 400 };

fn key(number: u8) -> Key {
    let release = format!("quay.io/a/b@{}", Digest::of(&[number]));
    Key {
        release: release.parse().unwrap(),
        program: Program::OpenshiftInstall,
        host: CpuArchitecture::X8664,
    }
}

/// Stands in for the registry.
#[derive(Default)]
struct Source(AtomicU32);

impl Source {
    fn fetches(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn write(&self, path: &Path, size: usize) -> Result<Extracted, PullError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let content = vec![7; size];
        std::fs::write(path, &content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Ok(Extracted { size: size as u64, digest: Digest::of(&content) })
    }

    async fn get(&self, cache: &Cache, number: u8, size: usize) -> Lease {
        cache.get(&key(number), |path, _| async move { self.write(&path, size) }).await.unwrap()
    }
}

fn program(cache: &Cache, number: u8) -> PathBuf {
    cache.0.dir.join(ENTRIES).join(key(number).name()).join(PROGRAM)
}

fn scratch_is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir.join(SCRATCH)).unwrap().next().is_none()
}

#[tokio::test]
async fn fetched_once_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (source, cache) = (Source::default(), Cache::open(dir.path(), BOUNDS).unwrap());
    let first = source.get(&cache, 1, 300).await;
    let second = source.get(&cache, 1, 300).await;
    assert_eq!((first.was_cached, second.was_cached, source.fetches()), (false, true, 1));
    assert_eq!(std::fs::read(first.path()).unwrap(), vec![7; 300]);
    assert_eq!(cache.usage(), Usage { programs: 1, bytes: 300, in_use: 1 });
    drop((first, second));
    assert_eq!(cache.usage().in_use, 0);
    assert!(scratch_is_empty(dir.path()));
}

#[tokio::test]
async fn many_at_once_share_one_download() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), BOUNDS).unwrap();
    let source = Arc::new(Source::default());
    let (open, gate) = tokio::sync::watch::channel(false);
    let users: Vec<_> = (0..50)
        .map(|_| {
            let (cache, source, mut gate) = (cache.clone(), Arc::clone(&source), gate.clone());
            tokio::spawn(async move {
                let source = &source;
                let fetch = |path: PathBuf, _| async move {
                    gate.wait_for(|open| *open).await.unwrap();
                    source.write(&path, 300)
                };
                cache.get(&key(1), fetch).await.unwrap()
            })
        })
        .collect();
    open.send(true).unwrap();
    let mut leases = Vec::new();
    for user in users {
        leases.push(user.await.unwrap());
    }
    assert_eq!((source.fetches(), cache.usage().in_use), (1, 1));
}

#[tokio::test]
async fn a_failed_download_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (source, cache) = (Source::default(), Cache::open(dir.path(), BOUNDS).unwrap());
    let missing = key(1);
    let wanted = &missing.release;
    let failing = |path: PathBuf, _| async move {
        std::fs::write(path, "part").unwrap();
        Err(PullError::new(wanted, RegistryError::NoImage))
    };
    assert!(matches!(cache.get(&missing, failing).await, Err(CacheError::Pull(_))));
    assert!(scratch_is_empty(dir.path()));
    // One that is given up takes its room with it, too.
    let key = key(1);
    let endless = cache.get(&key, |_, _| std::future::pending());
    assert!(tokio::time::timeout(std::time::Duration::from_millis(20), endless).await.is_err());
    assert_eq!(cache.0.state.lock().reserved, 0);
    assert!(!source.get(&cache, 1, 300).await.was_cached);
}

#[tokio::test]
async fn what_was_not_used_for_the_longest_time_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (source, cache) = (Source::default(), Cache::open(dir.path(), BOUNDS).unwrap());
    for number in [1, 2, 1, 3] {
        source.get(&cache, number, 300).await;
    }
    assert_eq!(cache.usage(), Usage { programs: 3, bytes: 900, in_use: 0 });
    // The next one may need 400, of which 100 are free.
    source.get(&cache, 4, 300).await;
    let there = |number| program(&cache, number).exists();
    assert_eq!([1, 2, 3, 4].map(there), [true, false, true, true]);
    let in_use = source.get(&cache, 1, 300).await;
    for number in [5, 6, 7] {
        source.get(&cache, number, 300).await;
    }
    assert!(in_use.path().exists());
    assert_eq!([3, 4, 5, 6, 7].map(there), [false, false, false, true, true]);
}

#[tokio::test]
async fn waits_while_all_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let (source, cache) = (Arc::new(Source::default()), Cache::open(dir.path(), BOUNDS).unwrap());
    let (first, second) = (source.get(&cache, 1, 400).await, source.get(&cache, 2, 400).await);
    let waiting = {
        let (source, cache) = (Arc::clone(&source), cache.clone());
        tokio::spawn(async move { source.get(&cache, 3, 400).await })
    };
    // What is cached is to be had meanwhile.
    assert!(source.get(&cache, 1, 400).await.was_cached);
    assert!(!waiting.is_finished());
    drop(second);
    let third = waiting.await.unwrap();
    assert!(first.path().exists() && third.path().exists() && !program(&cache, 2).exists());
    assert!(cache.usage().bytes <= BOUNDS.capacity);
}

#[tokio::test]
async fn a_start_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::default();
    {
        let cache = Cache::open(dir.path(), BOUNDS).unwrap();
        for number in [1, 2, 3] {
            source.get(&cache, number, 200).await;
        }
        assert!(matches!(Cache::open(dir.path(), BOUNDS), Err(CacheError::Busy(_))));
        // Half a download; a program that lost its end; one that has the right length and other bytes.
        std::fs::create_dir(dir.path().join(SCRATCH).join("9")).unwrap();
        std::fs::write(dir.path().join(SCRATCH).join("9/program"), "half").unwrap();
        std::fs::write(program(&cache, 1), vec![7; 100]).unwrap();
        std::fs::write(program(&cache, 2), vec![8; 200]).unwrap();
        std::fs::write(dir.path().join(ENTRIES).join("stray"), "x").unwrap();
        std::fs::create_dir(dir.path().join(ENTRIES).join("empty")).unwrap();
    }
    let cache = Cache::open(dir.path(), BOUNDS).unwrap();
    assert!(scratch_is_empty(dir.path()));
    assert_eq!(cache.usage().programs, 2);
    assert!(source.get(&cache, 3, 200).await.was_cached);
    let asked = source.fetches();
    assert!(!source.get(&cache, 2, 200).await.was_cached);
    assert!(!source.get(&cache, 1, 200).await.was_cached);
    assert_eq!(source.fetches(), asked + 2);
}

#[tokio::test]
async fn a_smaller_bound_holds_from_the_start_on() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::default();
    {
        let cache = Cache::open(dir.path(), BOUNDS).unwrap();
        source.get(&cache, 1, 300).await;
        source.get(&cache, 2, 300).await;
    }
    let cache = Cache::open(dir.path(), Bounds { capacity: 400, largest: 400 }).unwrap();
    assert_eq!(cache.usage(), Usage { programs: 1, bytes: 300, in_use: 0 });
    let unbounded = tempfile::tempdir().unwrap();
    let cache = Cache::open(unbounded.path(), Bounds { capacity: 0, largest: 400 }).unwrap();
    for number in 0..9 {
        source.get(&cache, number, 400).await;
    }
    assert_eq!(cache.usage().programs, 9);
    let small = Bounds { capacity: 399, largest: 400 };
    assert!(matches!(Cache::open(dir.path(), small), Err(CacheError::TooSmall { .. })));
}
