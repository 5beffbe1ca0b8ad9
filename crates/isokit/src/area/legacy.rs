//! The headers at the end of the system area with which images before 2022 mark their areas (image-service §2.2).

use std::ops::Range;

use super::arguments::{Area, Kargs, agreed, text as text_at};
use crate::error::Result;
use crate::read::ReadAt;

const KARGS: Range<usize> = 32672..32744;
const KARGS_MAGIC: &[u8] = b"coreKarg";
const IGNITION: Range<usize> = 32744..32768;
const IGNITION_MAGIC: &[u8] = b"coreiso+";
/// Areas that the header has room for.
const MAX_AREAS: usize = 6;

fn number(bytes: &[u8], index: usize) -> u64 {
    bytes[index * 8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn header(image: &dyn ReadAt, place: &Range<usize>, magic: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut header = vec![0; place.len()];
    image.read_exact_at(&mut header, place.start as u64)?;
    Ok(header.starts_with(magic).then_some(header))
}

/// The ignition area by its header: offset and length.
pub fn ignition(image: &dyn ReadAt) -> Result<Option<(u64, u64)>> {
    Ok(header(image, &IGNITION, IGNITION_MAGIC)?.map(|header| (number(&header, 1), number(&header, 2))))
}

/// Whether there is a header for kernel arguments.
pub fn has_kargs(image: &dyn ReadAt) -> Result<bool> {
    Ok(header(image, &KARGS, KARGS_MAGIC)?.is_some())
}

/// The kernel arguments by their header.
pub(super) fn kargs(image: &dyn ReadAt) -> Result<Option<Kargs>> {
    let Some(header) = header(image, &KARGS, KARGS_MAGIC)? else { return Ok(None) };
    let length = number(&header, 1);
    let text = |offset: u64| text_at(image, &(offset..offset.saturating_add(length)), "#", "\n");
    let mut found = Kargs { default: text(number(&header, 2))?, ..Kargs::default() };
    let mut texts = Vec::new();
    for offset in (3..3 + MAX_AREAS).map(|index| number(&header, index)).take_while(|offset| *offset != 0) {
        texts.push(text(offset)?);
        found.areas.push(Area { path: String::new(), offset, length });
    }
    found.current = agreed(texts)?;
    Ok(Some(found))
}

/// Takes the headers out of a system area whose files have moved.
pub(crate) fn clear(system_area: &mut [u8]) {
    for (place, magic) in [(KARGS, KARGS_MAGIC), (IGNITION, IGNITION_MAGIC)] {
        if let Some(header) = system_area.get_mut(place)
            && header.starts_with(magic)
        {
            header.fill(0);
        }
    }
}
