//! Ways in for the fuzz targets (`fuzz/`) to what reads requests for images. Nothing else calls this.

use std::ops::Range;

use http::StatusCode;
use http::header::RANGE;

use crate::http::{head, query, range};
use crate::route::Route;

/// Reads the head of a request: its length, `None` while its end has not come, the status of a refusal.
pub fn head(bytes: &[u8]) -> Result<Option<usize>, StatusCode> {
    let Some((head, length)) = head::parse(bytes)? else { return Ok(None) };
    let _ = Route::of(head.uri.path()).handler();
    let _ = query::value(&head.uri, "image_token");
    let _ = range::parse(head.text(&RANGE), 1 << 20);
    Ok(Some(length))
}

/// The parts of a file of `size` bytes that a header asks for; `None`: all of it, or nothing that it has.
pub fn ranges(header: &str, size: u64) -> Option<Vec<Range<u64>>> {
    match range::parse(Some(header), size) {
        range::RequestedRange::Ranges(ranges) => Some(ranges),
        range::RequestedRange::All | range::RequestedRange::Nothing => None,
    }
}
