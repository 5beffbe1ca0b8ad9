//! The archive: a directory, packed, and never longer than the service takes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::warn;

use super::{GatherError, at};
use crate::task::blocking;

/// Longest archive that the service takes, in bytes (agent-protocol §4.2).
const LONGEST: u64 = 262_144_000;

/// Packs `dir` into `archive`. What makes it too long, the longest file first, is left out and named in its place.
pub(super) async fn pack(dir: PathBuf, archive: PathBuf) -> Result<(), GatherError> {
    blocking(move || pack_within(&dir, &archive, LONGEST)).await
}

fn pack_within(dir: &Path, archive: &Path, longest: u64) -> Result<(), GatherError> {
    loop {
        write(dir, archive).map_err(at(archive))?;
        let length = std::fs::metadata(archive).map_err(at(archive))?.len();
        if length <= longest {
            return Ok(());
        }
        let (size, file) = longest_file(dir).map_err(at(dir))?.ok_or(GatherError::TooLong)?;
        warn!(file = %file.display(), size, length, "left out: the archive is too long");
        std::fs::write(&file, format!("{OMITTED}{size} bytes\n")).map_err(at(&file))?;
    }
}

/// What stands in the place of a file that is left out.
const OMITTED: &str = "left out, since the archive would be too long: ";

fn write(dir: &Path, archive: &Path) -> io::Result<()> {
    let name = dir.file_name().unwrap_or_default();
    let mut builder = tar::Builder::new(GzEncoder::new(File::create(archive)?, Compression::default()));
    builder.follow_symlinks(false);
    builder.append_dir_all(name, dir)?;
    builder.into_inner()?.finish()?.sync_all()
}

/// The longest file that is longer than what would stand in its place.
fn longest_file(dir: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    let mut longest = None;
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                let size = entry.metadata()?.len();
                longest = longest.max(Some((size, entry.path())).filter(|_| size > 2 * OMITTED.len() as u64));
            }
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rand::RngCore;

    use super::*;

    #[test]
    fn the_longest_file_gives_way() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("logs_host_x");
        std::fs::create_dir_all(dir.join("partial")).unwrap();
        let mut noise = vec![0; 50_000];
        rand::rng().fill_bytes(&mut noise);
        std::fs::write(dir.join("partial/journal.logs"), &noise).unwrap();
        std::fs::write(dir.join("agent.logs"), &noise[..10_000]).unwrap();
        let archive = base.path().join("logs.tar.gz");
        pack_within(&dir, &archive, 20_000).unwrap();
        assert!(std::fs::metadata(&archive).unwrap().len() <= 20_000);
        let mut found = Vec::new();
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(File::open(&archive).unwrap()));
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = Vec::new();
            entry.read_to_end(&mut text).unwrap();
            found.push((entry.path().unwrap().to_string_lossy().into_owned(), text));
        }
        let of = |name: &str| found.iter().find(|(path, _)| path == name).unwrap().1.clone();
        assert_eq!(of("logs_host_x/agent.logs"), noise[..10_000]);
        assert_eq!(of("logs_host_x/partial/journal.logs"), format!("{OMITTED}50000 bytes\n").into_bytes());
        assert!(matches!(pack_within(&dir, &archive, 10), Err(GatherError::TooLong)));
    }
}
