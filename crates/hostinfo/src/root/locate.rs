//! Path resolution inside a captured tree, where `/` and `..` end at the tree's top.
//!
//! The kernel's `openat2` could do it, but isn't there under older kernels and user-mode emulation.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// A path's parts, links included.
const MAX_PARTS: usize = 512;

/// The file that `path` names on a machine whose `/` is `base` (which holds no links itself).
///
/// # Errors
/// When a link leads in circles. A missing file is no error here; opening it will be one.
pub(super) fn within(base: &Path, path: &str) -> io::Result<PathBuf> {
    let mut todo: VecDeque<OsString> = parts(Path::new(path)).collect();
    let mut here: Vec<OsString> = Vec::new();
    let (mut links, mut seen) = (0, 0);
    while let Some(part) = todo.pop_front() {
        seen += 1;
        if seen > MAX_PARTS {
            return Err(circles());
        }
        if part == ".." {
            here.pop();
            continue;
        }
        let mut full = base.to_path_buf();
        full.extend(here.iter());
        full.push(&part);
        let Ok(target) = std::fs::read_link(&full) else {
            here.push(part);
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(circles());
        }
        if target.is_absolute() {
            here.clear();
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
    }
    let mut full = base.to_path_buf();
    full.extend(here);
    Ok(full)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

fn circles() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "links lead in circles")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("sys/devices/a")).unwrap();
        symlink("../../../../../etc/passwd", base.join("sys/out")).unwrap();
        symlink("/etc/passwd", base.join("sys/absolute")).unwrap();
        symlink("devices/a", base.join("sys/in")).unwrap();
        assert_eq!(within(&base, "/sys/out").unwrap(), base.join("etc/passwd"));
        assert_eq!(within(&base, "/sys/absolute").unwrap(), base.join("etc/passwd"));
        assert_eq!(within(&base, "/sys/in/x").unwrap(), base.join("sys/devices/a/x"));
        assert_eq!(within(&base, "../../x").unwrap(), base.join("x"));
    }

    #[test]
    fn circles_end() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        symlink("b", base.join("a")).unwrap();
        symlink("a", base.join("b")).unwrap();
        symlink("c/c/c/c/c/c", base.join("c")).unwrap();
        assert!(within(&base, "/a").is_err());
        assert!(within(&base, "/c").is_err());
    }
}
