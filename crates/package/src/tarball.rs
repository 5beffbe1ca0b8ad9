//! The files of a package in an archive, for systems without dpkg: `tar -xzf FILE -C / --strip-components=1`.

use std::collections::BTreeSet;

use anyhow::Result;
use assisted_oci::Packing;
use tar::{Builder, EntryType, Header};

use crate::files::{PackageFile, WRITTEN, packed};

/// The archive, packed, with all files below a folder.
///
/// # Errors
/// A place is none that an archive can have.
pub fn tarball(files: &[PackageFile], folder: &str, packing: Packing) -> Result<Vec<u8>> {
    packed(&archive(files, &format!("{folder}/"))?, packing)
}

/// Files in an archive, each folder before what is in it.
pub(crate) fn archive(files: &[PackageFile], before: &str) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for file in files {
        let place = format!("{before}{}", file.place);
        for (at, _) in place.match_indices('/').filter(|(at, _)| *at > 0) {
            let folder = &place[..=at];
            if folder != "./" && folders.insert(folder.to_owned()) {
                let mut header = header(0o755, 0);
                header.set_entry_type(EntryType::Directory);
                archive.append_data(&mut header, folder, std::io::empty())?;
            }
        }
        archive.append_data(&mut header(file.mode, file.content.len()), &place, file.content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

fn header(mode: u32, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size as u64);
    header.set_mode(mode);
    header.set_mtime(WRITTEN);
    header
}
