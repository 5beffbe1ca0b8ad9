//! Reading at an offset: a file, a [`Layout`](crate::Layout), bytes in memory, or whatever a caller can read ranges of.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;

/// Something of known size that is read at any offset.
pub trait ReadAt {
    /// In bytes.
    fn size(&self) -> u64;

    /// Fills `buf` from offset `at`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the end comes first; otherwise what the source reports.
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> u64 {
        self.metadata().map_or(0, |metadata| metadata.len())
    }

    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, at)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        let part = usize::try_from(at)
            .ok()
            .and_then(|at| self.get(at..at.checked_add(buf.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(part);
        Ok(())
    }
}

impl ReadAt for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        self.as_ref().read_exact_at(buf, at)
    }
}
