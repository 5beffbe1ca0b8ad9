//! Entries of the cache on disk: a folder with the program and a note of what it is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Key, PROGRAM};
use crate::installer::Extracted;
use crate::reference::Digest;

const NOTE: &str = "note.json";
/// Longest note that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// What an entry is.
#[derive(Serialize, Deserialize)]
pub(super) struct EntryRecord {
    /// For people.
    release: String,
    program: String,
    size: u64,
    digest: String,
}

impl EntryRecord {
    pub(super) fn new(key: &Key, made: Extracted) -> Self {
        Self {
            release: key.release.to_string(),
            program: key.program.name().to_owned(),
            size: made.size,
            digest: made.digest.to_string(),
        }
    }
}

/// Makes a folder empty.
pub(super) fn clear(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir(dir)
}

/// Entries that look whole, the one that was not used for the longest time first. Others are removed.
pub(super) fn found(dir: &Path) -> io::Result<Vec<(String, Extracted)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let read = entry.file_name().into_string().ok().zip(read(&entry.path()));
        match read {
            Some((name, (made, used))) => all.push((used, name, made)),
            None => {
                tracing::warn!(path = %entry.path().display(), "removing what is no whole installer program");
                if entry.file_type()?.is_dir() {
                    std::fs::remove_dir_all(entry.path())?;
                } else {
                    std::fs::remove_file(entry.path())?;
                }
            }
        }
    }
    all.sort_by(|(a_used, a_name, _), (b_used, b_name, _)| (a_used, a_name).cmp(&(b_used, b_name)));
    Ok(all.into_iter().map(|(_, name, made)| (name, made)).collect())
}

fn read(dir: &Path) -> Option<(Extracted, SystemTime)> {
    let path = dir.join(NOTE);
    let file = File::open(&path).ok()?;
    let used = file.metadata().ok()?.modified().ok()?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    let note: EntryRecord = serde_json::from_slice(&text).ok()?;
    let program = std::fs::symlink_metadata(dir.join(PROGRAM)).ok()?;
    if !program.is_file() || program.len() != note.size {
        return None;
    }
    Some((Extracted { size: note.size, digest: note.digest.parse().ok()? }, used))
}

/// Makes a finished folder an entry: on disk when this returns.
pub(super) fn keep(scratch: &Path, entry: &Path, note: &EntryRecord) -> io::Result<()> {
    let text = serde_json::to_vec(note)?;
    let path = scratch.join(NOTE);
    std::fs::write(&path, text)?;
    File::open(&path)?.sync_all()?;
    File::open(scratch)?.sync_all()?;
    std::fs::rename(scratch, entry)?;
    entry.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Removes an entry; it is none any more before its files go.
pub(super) fn remove(entry: &Path, aside: &Path) -> io::Result<()> {
    match std::fs::rename(entry, aside) {
        Ok(()) => std::fs::remove_dir_all(aside),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a program is what it was.
pub(super) fn is_whole(program: &Path, made: Extracted) -> io::Result<bool> {
    let mut file = File::open(program)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::finish(hash) == made.digest),
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Notes that a program is used now. That this is not certain to last harms nothing.
pub(super) fn touch(program: &Path) {
    let note = program.with_file_name(NOTE);
    let touched =
        File::options().append(true).open(note).and_then(|note| note.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(path = %program.display(), %error, "can't note that an installer program is used");
    }
}
