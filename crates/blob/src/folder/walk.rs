//! Walking and pruning folders.

use std::fs;
use std::io;
use std::path::Path;

use crate::key::Key;
use crate::object::Object;

/// Calls `found` for each file below a folder, or for the file itself. What is no plain file or folder is passed over.
pub(super) fn files(root: &Path, start: &Path, found: &mut dyn FnMut(Key, Object)) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(start) {
        Ok(metadata) => metadata,
        // Gone meanwhile, or never there: nothing to find.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if metadata.is_file() {
        let text = start.strip_prefix(root).ok().and_then(Path::to_str);
        if let Some(key) = text.and_then(|text| Key::new(text).ok()) {
            found(key, Object::of(&metadata)?);
        }
    } else if metadata.is_dir() {
        let entries = match fs::read_dir(start) {
            // Pruned meanwhile: its last file was deleted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            files(root, &entry?.path(), found)?;
        }
    }
    Ok(())
}

/// Removes the empty folders above a path, up to the root.
pub(super) fn prune(root: &Path, removed: &Path) {
    for folder in removed.ancestors().skip(1).take_while(|folder| *folder != root) {
        // Not empty, or already gone: the folders above are not for us either.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

/// Makes the entry of a path last: its folder is flushed, and the folders above it up to the root, which may be new.
pub(super) fn sync_folders(root: &Path, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1) {
        match fs::File::open(folder) {
            Ok(opened) => opened.sync_all()?,
            // All that was in it was deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if folder == root {
            break;
        }
    }
    Ok(())
}
