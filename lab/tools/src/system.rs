//! What the system's packages bring.

use std::path::{Path, PathBuf};

/// A program where `PATH` has it, or where the system's own programs are, which a user's path may leave out.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    dirs.map(|dir| dir.join(program)).find(|program| program.is_file())
}

/// Folder of PostgreSQL's programs: where Debian puts them, else where `PATH` has them; the newest version wins.
pub fn postgres() -> Option<PathBuf> {
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest =
        versions.map(|entry| entry.path()).filter(|path| path.join("bin/initdb").exists()).max_by_key(number);
    newest
        .map(|newest| newest.join("bin"))
        .or_else(|| on_path("initdb").as_deref().and_then(Path::parent).map(Path::to_owned))
}

/// The registry of images that Debian has.
pub fn docker_registry() -> Option<PathBuf> {
    on_path("docker-registry")
}
