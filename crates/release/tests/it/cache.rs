//! Programs out of a registry, kept.

use assisted_release::{Bounds, Cache, Key, Program, Session, extract};

use crate::lab::{Lab, X86, session};

async fn program(cache: &Cache, session: &Session, key: &Key) -> assisted_release::Lease {
    let fetch = |path: std::path::PathBuf, limit| async move {
        let release = session.release(&key.release, X86).await?;
        extract(session, &release, key.program, key.host, &path, limit).await
    };
    cache.get(key, fetch).await.unwrap()
}

#[tokio::test]
async fn a_second_cluster_needs_no_registry() {
    let (lab, dir) = (Lab::new(), tempfile::tempdir().unwrap());
    let release = lab.release().await;
    let session = session(&lab.registry.name());
    let cache = Cache::open(dir.path(), Bounds { capacity: 10 << 20, largest: 5 << 20 }).unwrap();
    let key = Key { release, program: Program::OpenshiftInstall, host: X86 };
    let first = program(&cache, &session, &key).await;
    drop(lab);
    let second = program(&cache, &session, &key).await;
    assert!(!first.was_cached && second.was_cached && second.path() == first.path());
    let ran = std::process::Command::new(second.path()).output().unwrap();
    assert!(ran.status.success());
}
