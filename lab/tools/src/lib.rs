//! Where programs of others are that tests, demo and lab run: installed by the system, or made once by `cargo xtask setup`
//! and kept in the cache, outside the checkout. And how they are waited for, and what stands before several replicas of the service.

mod balancer;
pub mod cluster_api;
pub mod kafka;
pub mod kubernetes;
mod registry;
mod stand_ins;
mod system;
pub mod wait;

use std::path::PathBuf;

pub use balancer::Balancer;
pub use registry::{RELEASE_PARTS, blob, release_part_url};
pub use stand_ins::{STAND_INS, SWAPS_PUSHED};
pub use system::{docker_registry, on_path, postgres};

/// Version of coreos-installer that judges our images and goes into the lab's.
pub const COREOS_INSTALLER: &str = "0.27.0";

/// Version of the library that lets ostree deploy images of containers.
pub const OSTREE_EXT: &str = "0.15.3";

/// Version of the second server that speaks as S3 does, which judges what is said to buckets.
pub const S3S_FS: &str = "0.12.0";

/// Version of cosign, which judges the signatures of our images.
pub const COSIGN: &str = "2.6.2";

/// Version of the Operator Framework's library whose program judges our bundle for OLM.
pub const OPERATOR_VERIFY: &str = "0.9.1";

/// Something of the cache is not there.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    #[error("neither XDG_CACHE_HOME nor HOME is set: where should caches go?")]
    Cache,
    #[error("{} is missing: run `cargo xtask setup`", .0.display())]
    Program(PathBuf),
}

/// The folder for what outlives checkouts: `$XDG_CACHE_HOME/assisted` or `~/.cache/assisted`.
///
/// # Errors
/// When neither is known.
pub fn cache() -> Result<PathBuf, Missing> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    Ok(base.ok_or(Missing::Cache)?.join("assisted"))
}

/// Where a version of a program is installed: the `--root` of `cargo install`.
///
/// # Errors
/// When there is no cache.
pub fn installed_root(name: &str, version: &str) -> Result<PathBuf, Missing> {
    Ok(cache()?.join(format!("{name}-{version}")))
}

/// A version of a program.
///
/// # Errors
/// When it has not been installed yet.
pub fn installed(name: &str, version: &str) -> Result<PathBuf, Missing> {
    let program = installed_root(name, version)?.join("bin").join(name);
    if program.is_file() { Ok(program) } else { Err(Missing::Program(program)) }
}

/// The judge of images.
///
/// # Errors
/// When it has not been installed yet.
pub fn coreos_installer() -> Result<PathBuf, Missing> {
    installed("coreos-installer", COREOS_INSTALLER)
}

/// What `ostree container` runs.
///
/// # Errors
/// When it has not been installed yet.
pub fn ostree_container() -> Result<PathBuf, Missing> {
    installed("ostree-container", OSTREE_EXT)
}

/// The second judge of what is said to buckets.
///
/// # Errors
/// When it has not been installed yet.
pub fn s3s_fs() -> Result<PathBuf, Missing> {
    installed("s3s-fs", S3S_FS)
}

/// The judge of signatures.
///
/// # Errors
/// When it has not been installed yet.
pub fn cosign() -> Result<PathBuf, Missing> {
    installed("cosign", COSIGN)
}

/// The judge of bundles for OLM.
///
/// # Errors
/// When it has not been installed yet.
pub fn operator_verify() -> Result<PathBuf, Missing> {
    installed("operator-verify", OPERATOR_VERIFY)
}

/// The Python environment's interpreter: what `ASSISTED_PYTHON` names, else that of the cache. The environment's programs are
/// beside it.
///
/// # Errors
/// When it has not been made yet.
pub fn python() -> Result<PathBuf, Missing> {
    let python = match std::env::var_os("ASSISTED_PYTHON") {
        Some(python) => PathBuf::from(python),
        None => cache()?.join("python/bin/python"),
    };
    if python.is_file() { Ok(python) } else { Err(Missing::Program(python)) }
}
