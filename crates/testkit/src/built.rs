//! Programs of this workspace that tests start.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// It can't be judged.
#[derive(Debug, thiserror::Error)]
pub enum NotBuilt {
    #[error("{} is missing: run {how}", program.display())]
    Missing { program: PathBuf, how: &'static str },
    #[error("{} is older than {}: run {how}", program.display(), source_file.display())]
    Stale { program: PathBuf, source_file: PathBuf, how: &'static str },
}

/// A program of this workspace, or an example (`examples/NAME`), beside the test that asks: made of the sources as they are now.
/// `cargo xtask test` builds them first.
///
/// # Errors
/// When it has not been built yet, or when its sources have changed since.
pub fn built(name: &str) -> Result<PathBuf, NotBuilt> {
    fresh(folder().join(name), "`cargo build --workspace --bins --examples`")
}

/// The program for hosts like this computer as it ships: static, small.
///
/// # Errors
/// When it has not been built yet, or when its sources have changed since.
pub fn built_for_hosts() -> Result<PathBuf, NotBuilt> {
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let target = folder().parent().map(Path::to_owned).unwrap_or_default();
    let how = "`cargo xtask dist --arch x86_64`";
    fresh(target.join(triple).join("host/assisted-host"), how)
}

/// Where Cargo puts programs of the profile of the test that asks.
fn folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
}

/// A program that is no older than what it was made of, which Cargo writes into a file beside it.
fn fresh(program: PathBuf, how: &'static str) -> Result<PathBuf, NotBuilt> {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let sources = std::fs::read_to_string(program.with_extension("d"));
    let (Some(made), Ok(sources)) = (changed(&program), sources) else {
        return Err(NotBuilt::Missing { program, how });
    };
    // A source that is gone has changed, too.
    let newer = |path: &PathBuf| changed(path).is_none_or(|time: SystemTime| time > made);
    match listed(&sources).into_iter().find(newer) {
        Some(source_file) => Err(NotBuilt::Stale { program, source_file, how }),
        None => Ok(program),
    }
}

/// The files in `PROGRAM: FILE FILE …`, as make reads it: a space in a name has a backslash before it.
fn listed(line: &str) -> Vec<PathBuf> {
    let Some((_, files)) = line.split_once(": ") else { return Vec::new() };
    let (mut found, mut name) = (Vec::new(), String::new());
    for part in files.lines().next().unwrap_or_default().split(' ') {
        if let Some(begin) = part.strip_suffix('\\') {
            name.push_str(begin);
            name.push(' ');
        } else {
            name.push_str(part);
            found.push(PathBuf::from(std::mem::take(&mut name)));
        }
    }
    found.retain(|path| !path.as_os_str().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_that_is_missing_or_older_than_a_source_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (program, old, new) =
            (dir.path().join("program"), dir.path().join("old source"), dir.path().join("new"));
        let ask = || fresh(program.clone(), "it").map_err(|error| error.to_string());
        assert!(ask().unwrap_err().contains("is missing: run it"));
        for path in [&program, &old, &new] {
            std::fs::write(path, "").unwrap();
        }
        let list = format!(
            "{}: {} {}\n",
            program.display(),
            old.display().to_string().replace(' ', "\\ "),
            new.display()
        );
        std::fs::write(program.with_extension("d"), list).unwrap();
        let set = |path: &Path, seconds: u64| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        set(&old, 1);
        set(&new, 2);
        set(&program, 3);
        assert_eq!(ask().unwrap(), program);
        set(&new, 4);
        assert!(ask().unwrap_err().contains("/new: run it"), "{:?}", ask());
        std::fs::remove_file(&old).unwrap();
        assert!(ask().unwrap_err().contains("/old source: run it"), "{:?}", ask());
    }
}
