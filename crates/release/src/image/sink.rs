//! Sinks for files that are read from an image.

use std::io::{self, Read};

use crate::error::RegistryError;

/// Takes files while their layer still arrives. A file counts only when the search has ended well: it may be given again
/// from the start, then the new one holds.
pub(crate) trait Sink: Send + 'static {
    /// Takes the file that was wanted as the `which`-th. `modified` counts seconds since 1970.
    fn take(&mut self, which: usize, file: &mut dyn Read, modified: u64) -> Result<(), RegistryError>;
}

/// Keeps small files in memory.
pub(crate) struct MemorySink {
    texts: Vec<Option<Vec<u8>>>,
    limit: u64,
}

impl MemorySink {
    pub(crate) fn new(count: usize, limit: u64) -> Self {
        Self { texts: vec![None; count], limit }
    }

    pub(crate) fn into_inner(self) -> Vec<Option<Vec<u8>>> {
        self.texts
    }
}

impl Sink for MemorySink {
    fn take(&mut self, which: usize, file: &mut dyn Read, _: u64) -> Result<(), RegistryError> {
        let mut text = Vec::new();
        copy(file, self.limit, |piece| {
            text.extend_from_slice(piece);
            Ok(())
        })?;
        if let Some(place) = self.texts.get_mut(which) {
            *place = Some(text);
        }
        Ok(())
    }
}

/// Gives a file on piece by piece, up to a limit in bytes. What can't be read is the image's fault, what can't be given on is
/// the taker's.
pub(crate) fn copy(
    file: &mut dyn Read,
    limit: u64,
    mut give: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), RegistryError> {
    let mut buffer = vec![0; 128 << 10];
    let mut all = 0;
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&error)),
        };
        all += read as u64;
        if all > limit {
            return Err(RegistryError::TooLarge { what: "a file of the image", limit });
        }
        give(buffer.get(..read).unwrap_or_default()).map_err(RegistryError::Disk)?;
    }
}

/// What an archive that can't be read means.
pub(super) fn unreadable(error: &io::Error) -> RegistryError {
    RegistryError::Malformed(format!("a layer can't be unpacked, {error}"))
}
