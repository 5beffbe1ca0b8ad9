//! For the fuzz target of archives alone.

use std::convert::Infallible;

use crate::members::{Part, read_from};

/// Reads bytes as an archive; tells how many bytes of files and rows were handed on, and whether all of it was as it should be.
pub fn archive(bytes: &[u8]) -> (u64, bool) {
    let mut taken = 0;
    let read = read_from(bytes, |part| {
        taken += match part {
            Part::Rows { text, .. } => text.len() as u64,
            Part::Piece(piece) => piece.len() as u64,
            Part::Data { content, .. } => content.len() as u64,
            Part::File { .. } | Part::FileEnd => 0,
        };
        Ok::<_, Infallible>(())
    });
    (taken, read.is_ok())
}
