//! Kernel arguments as they stand in the areas of an image, however those are described.

use std::ops::Range;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::read::ReadAt;

/// Describes the areas, where an image has it.
pub const FILE: &str = "/coreos/kargs.json";
/// Longest area that coreos-installer accepts, in bytes.
pub(super) const MAX_AREA: u64 = 2048;

/// The arguments of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kargs {
    /// What the image was made with.
    pub default: String,
    /// What it boots with.
    pub current: String,
    pub areas: Vec<Area>,
}

/// An area as bytes of the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Area {
    /// The file that it is in; empty where the image has only offsets.
    pub path: String,
    pub offset: u64,
    pub length: u64,
}

/// The one text that stands in all areas.
pub(super) fn agreed(texts: Vec<String>) -> Result<String> {
    let mut texts = texts.into_iter();
    let first = texts.next().unwrap_or_default();
    if texts.any(|text| text != first) {
        return Err(Error::file(FILE, "the areas hold different kernel arguments"));
    }
    Ok(first)
}

/// What stands in the area `place`, without its end and its fill.
pub(super) fn text(image: &dyn ReadAt, place: &Range<u64>, pad: &str, end: &str) -> Result<String> {
    let mut area = vec![0; (place.end - place.start).min(MAX_AREA) as usize];
    image.read_exact_at(&mut area, place.start)?;
    let area = String::from_utf8_lossy(&area);
    let text = if pad.is_empty() { &*area } else { area.trim_end_matches(pad) };
    Ok(text.strip_suffix(end).unwrap_or(text).trim().to_owned())
}
