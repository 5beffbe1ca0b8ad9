//! Whether what has been fetched is what was asked for (image-service §1.12).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use assisted_base::hex;
use assisted_isokit::pxe::Thresholds;
use assisted_isokit::{Image, Layout};
use sha2::{Digest, Sha256};

use crate::catalog::OsImage;

/// What is wrong with an image.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckError {
    #[error("the image's SHA-256 is {found} and not {expected}")]
    Digest { found: String, expected: String },
    #[error("failed to validate boot artifacts")]
    Image(#[from] assisted_isokit::Error),
    #[error("the image can't be read")]
    Disk(#[from] io::Error),
}

/// Reads the whole file when its digest is known, and its directory in any case.
pub(super) fn check(file: &Arc<File>, image: &OsImage, least: Thresholds) -> Result<(), CheckError> {
    if let Some(expected) = image.sha256 {
        let found = digest(file)?;
        if found != expected {
            return Err(CheckError::Digest { found: hex::encode(&found), expected: hex::encode(&expected) });
        }
    }
    let layout = Layout::file(Arc::clone(file), file.metadata()?.len());
    Ok(Image::read(layout)?.check(least)?)
}

fn digest(file: &File) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let (mut piece, mut at) = (vec![0; 1 << 20], 0);
    loop {
        match file.read_at(&mut piece, at)? {
            0 => return Ok(digest.finalize().into()),
            count => {
                digest.update(&piece[..count]);
                at += count as u64;
            }
        }
    }
}
