//! Why an image can't be read or made.

use std::io;

use crate::extent::OverlayGap;

/// Texts that clients of the image service know are kept word for word (image-service §2.4, §2.6, §2.9).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("can't read the image: {0}")]
    Io(#[from] io::Error),
    #[error("not a usable ISO image: {0}")]
    Iso(String),
    #[error("ISO image is incomplete: it has {size} bytes of {wanted}")]
    Incomplete { size: u64, wanted: u64 },
    #[error("no file {0} in the ISO")]
    NotFound(String),
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error("content length ({len}) exceeds embed area size ({area})")]
    TooLong { len: u64, area: u64 },
    #[error("failed to find COREOS_KARG_EMBED_AREA in {0}")]
    NoKargsArea(String),
    #[error("kargs cannot be modified in s390x architecture ISOs")]
    KargsOnS390x,
    #[error("kernel argument {0:?} holds a control character")]
    BadKarg(String),
    #[error("the image has no area for a ramdisk")]
    NoRamdiskArea,
    #[error("no minimal ISO can be made: {0}")]
    NoMinimal(String),
    #[error("invalid rootfs URL: contains invalid character {0:?}")]
    BadRootfsUrl(char),
    #[error("replacement spans across embed area boundary in {0}")]
    Straddles(String),
    #[error("ISO volume identifier ({0}) is invalid")]
    VolumeId(String),
    #[error("{0}")]
    Artifact(String),
    #[error("bad archive: {0}")]
    Archive(String),
    #[error(transparent)]
    OverlayGap(#[from] OverlayGap),
}

impl Error {
    pub(crate) fn iso(reason: impl Into<String>) -> Self {
        Self::Iso(reason.into())
    }

    pub(crate) fn file(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::File { path: path.into(), reason: reason.into() }
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
