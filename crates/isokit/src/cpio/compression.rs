//! Compression of archives: gzip is written; whatever the kernel unpacks is read.

use std::io::{self, Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Memory that an xz stream may ask for, in KiB: what the highest preset needs.
const XZ_MEMORY: u32 = 66 << 10;
/// "Unknown" operating system: the bytes don't depend on where they were made.
const NO_SYSTEM: u8 = 255;

/// Compresses; the result is the same for the same bytes.
///
/// # Errors
/// None while there is memory.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder =
        GzBuilder::new().mtime(0).operating_system(NO_SYSTEM).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Kinds of compression that bytes can begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gzip,
    Xz,
    Zstd,
}

impl Kind {
    pub fn of(bytes: &[u8]) -> Option<Self> {
        [(GZIP, Self::Gzip), (XZ, Self::Xz), (ZSTD, Self::Zstd)]
            .into_iter()
            .find(|(magic, _)| bytes.starts_with(magic))
            .map(|(_, kind)| kind)
    }
}

/// Unpacks the one stream that `bytes` begin with and moves behind it.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] when it has more than `limit` bytes; otherwise when it is damaged.
pub fn unpack(kind: Kind, bytes: &mut &[u8], limit: u64) -> io::Result<Vec<u8>> {
    match kind {
        Kind::Gzip => bounded(GzDecoder::new(bytes), limit),
        Kind::Xz => bounded(XzReader::new_mem_limit(bytes, false, XZ_MEMORY), limit),
        Kind::Zstd => bounded(StreamingDecoder::new(bytes).map_err(io::Error::other)?, limit),
    }
}

fn bounded(reader: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it unpacks to more than {limit} bytes"),
        ));
    }
    Ok(content)
}
