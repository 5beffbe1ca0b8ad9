//! Files of the machine. Links in its tree are followed within it, and what is read is bounded.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use tempfile::Builder;

use super::Host;

/// Ignition configs with all that a bootstrap host needs are the longest; they stay far below.
const LONGEST: u64 = 128 << 20;

/// A file that can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    pub(crate) fn of(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { path: path.as_ref().to_owned(), source }
    }
}

impl Host {
    /// Whether there is such a file or directory.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A whole file.
    ///
    /// # Errors
    /// When it can't be read, or is longer than any file that an installation has.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, FileError> {
        let path = path.as_ref();
        self.read_within(path).map_err(FileError::of(path))
    }

    fn read_within(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let length = self.open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if length as u64 > LONGEST {
            return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
        }
        Ok(bytes)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let root = File::open(&self.root)?;
        let inside = path.strip_prefix("/").unwrap_or(path);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(File::from(openat2(&root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT)?))
    }

    /// Writes a file whole or not at all, with its folders.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, path: &str, mode: u32, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
        let target = self.path(path);
        let write = || {
            let dir = target.parent().unwrap_or(&self.root);
            fs::create_dir_all(dir)?;
            let mut file = Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(dir)?;
            file.write_all(bytes.as_ref())?;
            file.as_file().sync_all()?;
            file.persist(&target).map(drop).map_err(|error| error.error)
        };
        write().map_err(FileError::of(path))
    }

    /// Writes a file that may be a mount of its own, which can't be replaced.
    pub(crate) fn write_in_place(&self, path: &str, text: &str) -> Result<(), FileError> {
        let target = self.path(path);
        let dir = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(dir).and_then(|()| fs::write(&target, text)).map_err(FileError::of(path))
    }

    /// Makes a folder, and those above it.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn make_dir(&self, path: &str) -> Result<(), FileError> {
        fs::create_dir_all(self.path(path)).map_err(FileError::of(path))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn links_are_followed_within_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Tools::default());
        host.write("/run/resolv.conf", 0o600, "nameserver").unwrap();
        fs::create_dir(dir.path().join("etc")).unwrap();
        symlink("/run/resolv.conf", dir.path().join("etc/resolv.conf")).unwrap();
        assert_eq!(host.read("/etc/resolv.conf").unwrap(), b"nameserver");
        symlink("/../../../../etc/passwd", dir.path().join("etc/out")).unwrap();
        assert!(host.read("/etc/out").is_err());
        let error = host.read("/none").unwrap_err().to_string();
        assert!(error.starts_with("/none: "), "{error}");
    }
}
