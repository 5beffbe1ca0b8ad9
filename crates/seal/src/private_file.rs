//! Small files that only their owner may read, whole at any time.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use assisted_base::failpoint;
use tempfile::NamedTempFile;

/// Makes a file, unless there is one; returns whether it did. Of several programs that do so at once, one does.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<bool> {
    let created = match written(path, text)?.persist_noclobber(path) {
        Ok(_) => true,
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error.error),
    };
    sync(path)?;
    Ok(created)
}

/// Makes a file, in the place of one that is there.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    written(path, text)?.persist(path).map_err(|error| error.error)?;
    sync(path)
}

/// A file of another name beside it, on the disk. It is removed where it gets no other name.
fn written(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix_in(".seal-", folder(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()?;
    failpoint::passed(|| vec!["write a file of secrets".to_owned()]);
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
