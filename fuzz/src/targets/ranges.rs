//! Headers that ask for parts of a file.

use assisted_imageserver::fuzz::ranges;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (size, text) = input::choice(bytes);
    let Some(text) = input::text(text) else { return };
    let size = (size as u64) << (size % 40);
    let Some(found) = ranges(text, size) else { return };
    assert!(!found.is_empty() && found.len() <= 256);
    assert!(found.iter().all(|range| range.start < range.end && range.end <= size), "ranges lie in the file");
    assert!(found.iter().map(|range| range.end - range.start).sum::<u64>() <= size);
}
