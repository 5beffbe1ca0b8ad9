//! Archives of logs: compressed tar files, written to the disk because they may be large.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

/// A file of an archive.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) content: Content,
}

/// Where its bytes are.
pub(super) enum Content {
    Bytes(Vec<u8>),
    File(PathBuf),
}

fn create(path: &Path) -> io::Result<Builder<GzEncoder<BufWriter<File>>>> {
    let file = BufWriter::new(File::create(path)?);
    Ok(Builder::new(GzEncoder::new(file, Compression::default())))
}

fn finish(archive: Builder<GzEncoder<BufWriter<File>>>) -> io::Result<()> {
    archive.into_inner()?.finish()?.flush()
}

/// Packs entries.
pub(super) fn pack(path: &Path, entries: Vec<Entry>) -> io::Result<()> {
    let mut archive = create(path)?;
    for Entry { name, content } in entries {
        match content {
            Content::Bytes(bytes) => append(&mut archive, &name, bytes.len() as u64, bytes.as_slice())?,
            Content::File(path) => {
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                // A log that grows meanwhile is taken as long as it was.
                append(&mut archive, &name, length, file.take(length))?;
            }
        }
    }
    finish(archive)
}

fn append(archive: &mut Builder<impl Write>, name: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    archive.append_data(&mut header, name, content)
}

/// Packs a folder under its own name. Links are kept as links.
pub(super) fn pack_folder(path: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = create(path)?;
    archive.follow_symlinks(false);
    archive.append_dir_all(folder.file_name().unwrap_or_default(), folder)?;
    finish(archive)
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn both_kinds_of_content_are_packed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, archive) = (dir.path().join("file"), dir.path().join("archive"));
        std::fs::write(&file, "from a file").unwrap();
        let bytes = Entry { name: "bytes".to_owned(), content: Content::Bytes(b"from memory".to_vec()) };
        let file = Entry { name: "file".to_owned(), content: Content::File(file) };
        pack(&archive, vec![bytes, file]).unwrap();
        let mut packed = tar::Archive::new(GzDecoder::new(File::open(archive).unwrap()));
        let read = packed.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap(), text)
        });
        let expected = [("bytes", 0o644, "from memory"), ("file", 0o644, "from a file")];
        assert_eq!(
            read.collect::<Vec<_>>(),
            expected.map(|(name, mode, text)| (name.to_owned(), mode, text.to_owned()))
        );
    }
}
