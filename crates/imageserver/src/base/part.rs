//! A file that is being fetched: its bytes so far, and beside it what is needed to go on after an interruption, a restart or
//! a crash of the machine.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assisted_base::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

/// Bytes between two times that the disk is made to have what was written: what comes after the last time may be lost in a
/// crash, and is fetched again.
const SETTLED: u64 = 64 << 20;

/// What the bytes so far belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Digest of the URL, which may hold a secret.
    url: String,
    /// Strong `ETag`, else `Last-Modified`; the server's own text.
    pub validator: Option<String>,
    /// Length of the whole file, in bytes.
    pub length: u64,
    /// Bytes that the disk has for certain.
    #[serde(default)]
    settled: u64,
}

impl Origin {
    pub fn new(url: &Url, validator: Option<String>, length: u64) -> Self {
        Self { url: digest(url), validator, length, settled: 0 }
    }
}

fn digest(url: &Url) -> String {
    hex::encode(&Sha256::digest(url.as_str()))
}

/// A file on its way. Whoever has it has it alone: services may share a folder.
#[derive(Debug)]
pub(super) struct Part {
    pub file: Arc<File>,
    path: PathBuf,
    pub origin: Origin,
    /// Bytes that were written.
    pub received: u64,
}

impl Part {
    /// Where the bytes of a file go until all are there.
    pub fn path(of: &Path) -> PathBuf {
        beside(of, ".part")
    }

    fn notes(path: &Path) -> PathBuf {
        beside(path, ".json")
    }

    /// What an earlier attempt left of a URL's file; none when nothing can be gone on with.
    pub fn resume(of: &Path, url: &Url) -> io::Result<Option<Self>> {
        let path = Self::path(of);
        let Ok(notes) = fs::read(Self::notes(&path)) else { return Ok(None) };
        let Ok(origin) = serde_json::from_slice::<Origin>(&notes) else { return Ok(None) };
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        lock(&file)?;
        let received = origin.settled;
        if origin.url != digest(url) || received > origin.length || received > file.metadata()?.len() {
            return Ok(None);
        }
        file.set_len(received)?;
        Ok(Some(Self { file: Arc::new(file), path, origin, received }))
    }

    /// Begins anew. The file is another one, so that whoever reads the old one reads no mixture.
    pub fn begin(of: &Path, origin: Origin) -> io::Result<Self> {
        let path = Self::path(of);
        if let Ok(old) = File::open(&path) {
            lock(&old)?;
            remove(&path)?;
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        lock(&file)?;
        let part = Self { file: Arc::new(file), path, origin, received: 0 };
        part.write_notes()?;
        Ok(part)
    }

    /// Writes what comes next.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.received)?;
        self.received += bytes.len() as u64;
        if self.received - self.origin.settled >= SETTLED { self.sync() } else { Ok(()) }
    }

    /// Makes the disk have all that was written, and says so.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.origin.settled = self.received;
        self.write_notes()
    }

    fn write_notes(&self) -> io::Result<()> {
        let notes = Self::notes(&self.path);
        let new = beside(&notes, ".new");
        fs::write(&new, serde_json::to_vec(&self.origin)?)?;
        fs::rename(new, notes)
    }

    /// Gives the file, which is whole, its name.
    pub fn finish(&mut self, to: &Path) -> io::Result<()> {
        self.sync()?;
        fs::rename(&self.path, to)?;
        remove(&Self::notes(&self.path))?;
        let dir = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
        File::open(dir)?.sync_all()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Others may still read the same open file: it would stay locked as long as they do.
        let _ = self.file.unlock();
    }
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another image service is fetching it into the same folder",
        ),
        TryLockError::Error(error) => error,
    })
}

/// Throws away what is there of a file.
pub(super) fn discard(of: &Path) -> io::Result<()> {
    let path = Part::path(of);
    remove(&path)?;
    remove(&Part::notes(&path))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn only_what_the_disk_has_for_certain_is_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("a.iso");
        let here = url("https://h/a?key=secret");
        let origin = Origin::new(&here, Some("\"1\"".to_owned()), 10);
        let mut part = Part::begin(&to, origin).unwrap();
        part.append(b"0123").unwrap();
        part.sync().unwrap();
        part.append(b"45").unwrap();
        drop(part);
        let notes = fs::read_to_string(dir.path().join("a.iso.part.json")).unwrap();
        assert!(!notes.contains("secret"), "{notes}");
        assert!(Part::resume(&to, &url("https://h/b")).unwrap().is_none());
        let mut part = Part::resume(&to, &here).unwrap().unwrap();
        assert_eq!((part.received, part.origin.validator.as_deref()), (4, Some("\"1\"")));
        part.append(b"456789").unwrap();
        part.finish(&to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"0123456789");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_part_is_written_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("a.iso");
        let here = url("https://h/a");
        let origin = Origin::new(&here, None, 10);
        let part = Part::begin(&to, origin.clone()).unwrap();
        // A reader does not keep it for itself.
        let reader = Arc::clone(&part.file);
        for refused in [Part::begin(&to, origin).unwrap_err(), Part::resume(&to, &here).unwrap_err()] {
            assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy, "{refused}");
        }
        drop(part);
        assert!(Part::resume(&to, &here).unwrap().is_some());
        drop(reader);
    }

    #[test]
    fn what_does_not_fit_together_is_not_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("a.iso");
        let here = url("https://h/a");
        assert!(Part::resume(&to, &here).unwrap().is_none());
        let mut part = Part::begin(&to, Origin::new(&here, None, 10)).unwrap();
        part.append(b"0123").unwrap();
        part.sync().unwrap();
        part.file.set_len(2).unwrap();
        drop(part);
        assert!(Part::resume(&to, &here).unwrap().is_none());
        fs::write(dir.path().join("a.iso.part.json"), "{").unwrap();
        assert!(Part::resume(&to, &here).unwrap().is_none());
        discard(&to).unwrap();
        discard(&to).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
