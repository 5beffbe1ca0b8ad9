//! Programs of this workspace that tests start.

use std::path::PathBuf;

/// It is not there.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: run `cargo build --workspace --bins`", .0.display())]
pub struct NotBuilt(PathBuf);

/// A program of this workspace, beside the test that asks; `cargo xtask test` builds them first.
///
/// # Errors
/// When it has not been built yet.
pub fn built(name: &str) -> Result<PathBuf, NotBuilt> {
    let own = std::env::current_exe().unwrap_or_default();
    let dir = own.parent().and_then(|deps| deps.parent());
    let program = dir.map(|dir| dir.join(name)).unwrap_or_default();
    if program.is_file() { Ok(program) } else { Err(NotBuilt(program)) }
}
