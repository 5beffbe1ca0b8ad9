//! Kubernetes: in `KUBEBUILDER_ASSETS`, or else built once by `cargo xtask setup`, with etcd from the system.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use crate::{Missing, cache, installed_root, on_path};

/// Version that the cache holds; the module in `lab/kube` is of the same.
pub const VERSION: &str = "1.34.4";

/// What is built: one program under three names.
pub const BUILT: &[&str] = &["kube-apiserver", "kube-controller-manager", "kubectl"];

/// Variables that make Go's programs collect garbage less often: a fifth of an API server's processor time goes into it otherwise, and one that
/// lives for a test takes less than 1 GiB without.
pub const FEWER_COLLECTIONS: [(&str, &str); 2] = [("GOGC", "400"), ("GOMEMLIMIT", "1GiB")];

/// The folder in the cache that holds what is built.
///
/// # Errors
/// When there is no cache.
pub fn root() -> Result<PathBuf, Missing> {
    installed_root("kube", VERSION)
}

/// What the build of this version says.
///
/// # Errors
/// When there is no cache.
pub fn log() -> Result<PathBuf, Missing> {
    Ok(cache()?.join(format!("kube-{VERSION}.log")))
}

/// A file that is locked by whoever builds this version.
///
/// # Errors
/// When there is no cache.
pub fn lock() -> Result<PathBuf, Missing> {
    Ok(cache()?.join(format!("kube-{VERSION}.lock")))
}

/// Whether somebody builds this version now.
pub fn is_being_built() -> bool {
    let lock = lock().ok().and_then(|lock| File::open(lock).ok());
    lock.is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// One of the programs that are built.
pub fn find(name: &str) -> Option<PathBuf> {
    given(name).or_else(|| root().ok().map(|dir| dir.join(name)).filter(|program| program.is_file()))
}

/// etcd.
pub fn etcd() -> Option<PathBuf> {
    given("etcd").or_else(|| on_path("etcd"))
}

/// Whether all programs of Kubernetes are here.
pub fn is_installed() -> bool {
    etcd().is_some() && is_built()
}

/// Whether the program that is built from Kubernetes' sources is here.
pub fn is_built() -> bool {
    BUILT.iter().all(|name| find(name).is_some())
}

fn given(name: &str) -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os("KUBEBUILDER_ASSETS")?);
    Some(dir.join(name)).filter(|program| program.is_file())
}
