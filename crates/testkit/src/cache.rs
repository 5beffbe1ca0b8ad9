//! What `cargo xtask setup` makes once, outside the checkout.

use std::path::PathBuf;

/// Version of coreos-installer that judges our images and goes into the lab's.
pub const COREOS_INSTALLER: &str = "0.27.0";

/// Something of the cache is not there.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: run `cargo xtask setup`", .0.display())]
pub struct Missing(PathBuf);

/// The folder for what outlives checkouts: `$XDG_CACHE_HOME/assisted` or `~/.cache/assisted`.
pub fn cache() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_default()
        .join("assisted")
}

/// Where [`COREOS_INSTALLER`] is installed: the `--root` of `cargo install`.
pub fn coreos_installer_root() -> PathBuf {
    cache().join(format!("coreos-installer-{COREOS_INSTALLER}"))
}

/// The program.
///
/// # Errors
/// When it has not been built yet.
pub fn coreos_installer() -> Result<PathBuf, Missing> {
    let program = coreos_installer_root().join("bin/coreos-installer");
    if program.is_file() { Ok(program) } else { Err(Missing(program)) }
}
