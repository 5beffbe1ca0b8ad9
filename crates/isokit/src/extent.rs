//! An image as a list of extents.
//!
//! A customised image differs from its base in a few hundred kilobytes out of a gigabyte. A [`Layout`] says where each byte
//! comes from, so that any number of images share one base file, its length is known before a byte is read, and a range of it
//! is found by bisection.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

use crate::read::ReadAt;

/// Where the bytes of an [`Extent`] come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A range of a file that starts at `offset` bytes.
    File { file: Arc<File>, offset: u64 },
    /// Bytes in memory, as many as the extent is long.
    Bytes(Bytes),
    /// Padding that takes no memory.
    Zeros,
}

/// A run of bytes from one source.
#[derive(Debug, Clone)]
pub struct Extent {
    pub source: Source,
    /// In bytes; never 0 inside a [`Layout`].
    pub len: u64,
}

impl Extent {
    pub fn file(file: Arc<File>, offset: u64, len: u64) -> Self {
        Self { source: Source::File { file, offset }, len }
    }

    pub const fn zeros(len: u64) -> Self {
        Self { source: Source::Zeros, len }
    }

    /// The bytes `range` of this extent; what lies behind its end is left out.
    fn slice(&self, range: &Range<u64>) -> Self {
        let end = range.end.min(self.len);
        let start = range.start.min(end);
        let source = match &self.source {
            Source::File { file, offset } => {
                Source::File { file: Arc::clone(file), offset: offset.saturating_add(start) }
            }
            // The extent is as long as its bytes, so both ends fit `usize`.
            Source::Bytes(bytes) => Source::Bytes(bytes.slice(start as usize..end as usize)),
            Source::Zeros => Source::Zeros,
        };
        Self { source, len: end - start }
    }

    /// Whether `next` goes on where this extent ends, in the same source: then both are one.
    fn joins(&self, next: &Self) -> bool {
        match (&self.source, &next.source) {
            (Source::File { file: one, offset }, Source::File { file: two, offset: at }) => {
                Arc::ptr_eq(one, two) && offset.checked_add(self.len) == Some(*at)
            }
            (Source::Zeros, Source::Zeros) => true,
            _ => false,
        }
    }

    /// Fills `buf` with the bytes at `offset` of this extent, which holds that many.
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        match &self.source {
            Source::File { file, offset } => {
                let at = offset.checked_add(at).ok_or(io::ErrorKind::UnexpectedEof)?;
                FileExt::read_exact_at(&**file, buf, at)
            }
            Source::Bytes(bytes) => bytes.read_exact_at(buf, at),
            Source::Zeros => {
                buf.fill(0);
                Ok(())
            }
        }
    }
}

impl From<Bytes> for Extent {
    fn from(bytes: Bytes) -> Self {
        Self { len: bytes.len() as u64, source: Source::Bytes(bytes) }
    }
}

impl From<Vec<u8>> for Extent {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// What lies behind the end of a layout can't be overlaid without a hole between them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("overlay at offset {at} begins behind the end of the image ({len} bytes)")]
pub struct OverlayGap {
    pub at: u64,
    pub len: u64,
}

#[derive(Debug, Clone)]
struct Piece {
    /// Offset in the layout of the first byte after this piece.
    end: u64,
    extent: Extent,
}

impl Piece {
    const fn start(&self) -> u64 {
        self.end - self.extent.len
    }
}

/// Extents one after the other. Cloning shares the list.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    pieces: Arc<Vec<Piece>>,
}

impl Layout {
    /// The first `len` bytes of `file`.
    pub fn file(file: Arc<File>, len: u64) -> Self {
        Extent::file(file, 0, len).into()
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Number of extents.
    pub fn extents(&self) -> usize {
        self.pieces.len()
    }

    /// Appends one extent; one that continues the last extent of the same source becomes part of it.
    pub fn push(&mut self, extent: impl Into<Extent>) {
        push(Arc::make_mut(&mut self.pieces), extent.into());
    }

    /// Appends all extents of `other`.
    pub fn concat(&mut self, other: &Self) {
        let pieces = Arc::make_mut(&mut self.pieces);
        for piece in other.pieces.iter() {
            push(pieces, piece.extent.clone());
        }
    }

    /// Lays `extent` over the bytes from offset `at`. One that reaches past the end makes the layout longer; an empty one
    /// changes nothing.
    ///
    /// # Errors
    /// [`OverlayGap`] when `at` lies behind the end.
    pub fn overlay(&mut self, at: u64, extent: impl Into<Extent>) -> Result<(), OverlayGap> {
        let (extent, len) = (extent.into(), self.len());
        if at > len {
            return Err(OverlayGap { at, len });
        }
        if extent.len == 0 {
            return Ok(());
        }
        let after = at.saturating_add(extent.len);
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        for part in self.slice(0..at) {
            push(&mut pieces, part);
        }
        push(&mut pieces, extent);
        for part in self.slice(after..len) {
            push(&mut pieces, part);
        }
        self.pieces = Arc::new(pieces);
        Ok(())
    }

    /// The extents of the bytes `range`, clipped to the layout. Finding the first takes O(log n).
    pub fn slice(&self, range: Range<u64>) -> impl Iterator<Item = Extent> + use<> {
        let pieces = Arc::clone(&self.pieces);
        let first = pieces.partition_point(|piece| piece.end <= range.start);
        (first..pieces.len()).map_while(move |index| {
            let piece = &pieces[index];
            let start = piece.start();
            (start < range.end && range.start < range.end).then(|| {
                piece.extent.slice(&(range.start.saturating_sub(start)..range.end.saturating_sub(start)))
            })
        })
    }

    /// The bytes `range` as a layout of its own.
    pub fn part(&self, range: Range<u64>) -> Self {
        let mut part = Self::default();
        let pieces = Arc::make_mut(&mut part.pieces);
        for extent in self.slice(range) {
            push(pieces, extent);
        }
        part
    }
}

impl From<Extent> for Layout {
    fn from(extent: Extent) -> Self {
        let mut layout = Self::default();
        layout.push(extent);
        layout
    }
}

fn push(pieces: &mut Vec<Piece>, extent: Extent) {
    if extent.len == 0 {
        return;
    }
    let end = pieces.last().map_or(0, |piece| piece.end).saturating_add(extent.len);
    match pieces.last_mut() {
        Some(last) if last.extent.joins(&extent) => {
            last.extent.len += extent.len;
            last.end = end;
        }
        _ => pieces.push(Piece { end, extent }),
    }
}

impl ReadAt for Layout {
    fn size(&self) -> u64 {
        self.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        let end = at.checked_add(buf.len() as u64).filter(|end| *end <= self.len());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut rest = buf;
        for extent in self.slice(at..end) {
            // Clipped to the buffer's end, so it fits `usize`.
            let (head, tail) = rest.split_at_mut(extent.len as usize);
            extent.read_exact_at(head, 0)?;
            rest = tail;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn content(layout: &Layout) -> Vec<u8> {
        let mut all = vec![0xff; layout.len() as usize];
        layout.read_exact_at(&mut all, 0).unwrap();
        all
    }

    fn base(text: &str) -> Layout {
        Layout::from(Extent::from(bytes(text)))
    }

    #[test]
    fn an_overlay_lies_anywhere_up_to_the_end() {
        let over = |at, text: &str| {
            let mut layout = base("0123456789");
            layout.overlay(at, bytes(text)).map(|()| String::from_utf8(content(&layout)).unwrap())
        };
        assert_eq!(over(0, "abc").unwrap(), "abc3456789");
        assert_eq!(over(4, "abc").unwrap(), "0123abc789");
        assert_eq!(over(7, "abc").unwrap(), "0123456abc");
        assert_eq!(over(8, "abc").unwrap(), "01234567abc");
        assert_eq!(over(10, "abc").unwrap(), "0123456789abc");
        assert_eq!(over(3, "").unwrap(), "0123456789");
        assert_eq!(over(0, "0123456789ab").unwrap(), "0123456789ab");
        assert_eq!(over(11, "a"), Err(OverlayGap { at: 11, len: 10 }));
    }

    #[test]
    fn what_continues_becomes_one() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut layout = Layout::file(Arc::clone(&file), 100);
        layout.push(Extent::file(Arc::clone(&file), 100, 50));
        assert_eq!(layout.extents(), 1);
        layout.push(Extent::zeros(10));
        layout.push(Extent::zeros(0));
        layout.push(Extent::zeros(10));
        assert_eq!((layout.extents(), layout.len()), (2, 170));
        layout.push(Extent::file(file, 100, 50));
        assert_eq!((layout.extents(), layout.len()), (3, 220));
    }

    #[test]
    fn a_sparse_file_is_read_behind_four_gibibytes() {
        let file = tempfile::tempfile().unwrap();
        let far = 5 * (1 << 30) + 7;
        file.write_all_at(b"far", far).unwrap();
        let mut layout = Layout::file(Arc::new(file), far + 3);
        layout.overlay(far - 2, bytes("ab")).unwrap();
        let mut buf = [0; 6];
        layout.read_exact_at(&mut buf, far - 3).unwrap();
        assert_eq!(&buf, b"\0abfar");
        assert!(layout.read_exact_at(&mut buf, far).is_err());
        let slices: Vec<_> = layout.slice(far - 1..u64::MAX).map(|extent| extent.len).collect();
        assert_eq!(slices, [1, 3]);
        assert_eq!(layout.slice(u64::MAX..u64::MAX).count(), 0);
    }

    #[test]
    fn a_clone_is_not_changed_by_an_overlay() {
        let one = base("0123456789");
        let mut two = one.clone();
        two.overlay(2, bytes("ab")).unwrap();
        two.push(bytes("!"));
        assert_eq!(content(&one), b"0123456789");
        assert_eq!(content(&two), b"01ab456789!");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a byte string to which the same is done.
        #[test]
        fn overlays_and_slices_are_those_of_a_byte_string(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
            overlays in prop::collection::vec((0u64..140, prop::collection::vec(any::<u8>(), 0..30), any::<bool>()), 0..8),
            range in (0u64..200, 0u64..200),
        ) {
            let (mut layout, mut model) = (Layout::default(), Vec::new());
            for part in parts {
                model.extend_from_slice(&part);
                layout.push(part);
            }
            for (at, data, zeros) in overlays {
                let data = if zeros { vec![0; data.len()] } else { data };
                let extent = if zeros { Extent::zeros(data.len() as u64) } else { data.clone().into() };
                let done = layout.overlay(at, extent);
                prop_assert_eq!(done.is_ok(), at <= model.len() as u64);
                if done.is_ok() {
                    let (at, end) = (at as usize, at as usize + data.len());
                    model.resize(model.len().max(end), 0);
                    model[at..end].copy_from_slice(&data);
                }
            }
            prop_assert_eq!(content(&layout), model.clone());
            let end = (range.1 as usize).min(model.len());
            let start = (range.0 as usize).min(end);
            let part = layout.part(range.0..range.1);
            prop_assert_eq!(content(&part), &model[start..end]);
        }
    }
}
