//! Where the programs of Kubernetes are: in `KUBEBUILDER_ASSETS`, or else built once by `cargo xtask setup`.

use std::path::PathBuf;

use crate::Error;
use crate::cache::{Missing, installed_root};

/// Version of Kubernetes that the cache holds; the module in `lab/kube` is of the same.
pub const VERSION: &str = "1.34.4";

/// What is built: one program under three names.
pub const BUILT: &[&str] = &["kube-apiserver", "kube-controller-manager", "kubectl"];

/// The folder in the cache that holds what is built.
///
/// # Errors
/// When there is no cache.
pub fn root() -> Result<PathBuf, Missing> {
    installed_root("kube", VERSION)
}

/// A program of Kubernetes.
pub(super) fn find(name: &'static str) -> Result<PathBuf, Error> {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").map(|dir| PathBuf::from(dir).join(name));
    let found =
        given.into_iter().chain(root().ok().map(|dir| dir.join(name))).find(|program| program.is_file());
    found.ok_or(Error::NotInstalled { program: name })
}

/// The command-line client of Kubernetes.
///
/// # Errors
/// It has not been built yet.
pub fn kubectl() -> Result<PathBuf, Error> {
    find("kubectl")
}

pub(super) fn etcd() -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let given = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let mut dirs = given.into_iter().chain(std::env::split_paths(&path));
    let found = dirs.find_map(|dir| Some(dir.join("etcd")).filter(|program| program.is_file()));
    found.ok_or(Error::NotInstalled { program: "etcd" })
}

/// Whether there is etcd.
pub fn is_etcd_installed() -> bool {
    etcd().is_ok()
}
