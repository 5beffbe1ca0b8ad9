//! Where kernel arguments stand, in two views that always agree (image-service §2.4).
//!
//! `kargs.json` describes *areas*: they begin at the first default argument and hold all arguments of the boot
//! configuration. To *append*, it is enough to find the marked comment line after the arguments and to write over the line
//! feed before it: the area then reads as changed arguments.

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use super::arguments::{Area, FILE, Kargs};
use super::arguments::{MAX_AREA, agreed, text};
use super::{json, legacy, read};
use crate::error::{Error, Result};
use crate::iso::Iso;
use crate::read::ReadAt;

const MARKER: &[u8] = b"# COREOS_KARG_EMBED_AREA";
/// The boot configurations of images that do not list them.
const DEFAULT_FILES: [&str; 2] = ["/EFI/redhat/grub.cfg", "/isolinux/isolinux.cfg"];
/// Boot configurations of an image: there is one per boot loader.
const MAX_FILES: usize = 16;

/// `kargs.json`. The order of the fields is the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    pub default: String,
    pub files: Vec<FileArea>,
    pub size: u64,
}

/// An area in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileArea {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    pub offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<String>,
    pub path: String,
}

/// Reads `kargs.json`; `None` when the image has none.
pub fn description(image: &dyn ReadAt, iso: &Iso) -> Result<Option<Description>> {
    let description: Option<Description> = json(image, iso, FILE)?;
    if description.as_ref().is_some_and(|description| description.files.len() > MAX_FILES) {
        return Err(Error::file(FILE, format!("lists more than {MAX_FILES} files")));
    }
    Ok(description)
}

/// Where arguments are appended: a range in each boot configuration, from the line feed before the marked line to the
/// marker.
///
/// # Errors
/// When `kargs.json` can't be read, a file that it lists is missing, or one has no marked line.
pub fn append_areas(image: &dyn ReadAt, iso: &Iso) -> Result<Vec<Range<u64>>> {
    let paths = match description(image, iso)? {
        Some(description) => description.files.into_iter().map(|file| file.path).collect(),
        None => DEFAULT_FILES.map(str::to_owned).to_vec(),
    };
    let area = |path: &String| {
        let node = iso.file(path)?;
        marked(&read(image, path, node)?)
            .and_then(|range| node.place(range.start as u64..range.end as u64))
            .ok_or_else(|| Error::NoKargsArea(path.clone()))
    };
    paths.iter().map(area).collect()
}

/// The first line feed that only `#` separate from the marker, with them.
fn marked(text: &[u8]) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(found) = find(&text[from..], MARKER) {
        let marker = from + found;
        let hashes = text[..marker].iter().rev().take_while(|byte| **byte == b'#').count();
        let line = marker - hashes;
        if line > 0 && text[line - 1] == b'\n' {
            return Some(line - 1..marker);
        }
        from = marker + 1;
    }
    None
}

pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The text that appends `kargs` when it is written over an area that [`append_areas`] found.
///
/// # Errors
/// When an argument would end its line.
pub fn append_text(kargs: &[String]) -> Result<Vec<u8>> {
    if let Some(bad) = kargs.iter().find(|karg| karg.contains(char::is_control)) {
        return Err(Error::BadKarg(bad.clone()));
    }
    Ok(format!(" {}\n", kargs.join(" ")).into_bytes())
}

/// Reads the arguments; `None` when the image does not say where they are.
///
/// # Errors
/// When the areas are not where they should be, or do not agree.
pub fn show(image: &dyn ReadAt, iso: &Iso) -> Result<Option<Kargs>> {
    let Some(description) = description(image, iso)? else { return legacy::kargs(image) };
    let mut kargs = Kargs { default: description.default.trim().to_owned(), ..Kargs::default() };
    let mut texts = Vec::new();
    for file in &description.files {
        let node = iso.file(&file.path)?;
        let place = (description.size <= MAX_AREA)
            .then(|| node.place(file.offset..file.offset.checked_add(description.size)?))
            .flatten()
            .ok_or_else(|| Error::file(FILE, format!("names an area that {} does not have", file.path)))?;
        let one = |text: &Option<String>, default| text.as_deref().unwrap_or(default).to_owned();
        texts.push(text(image, &place, &one(&file.pad, "#"), &one(&file.end, "\n"))?);
        kargs.areas.push(Area {
            path: file.path.clone(),
            offset: place.start,
            length: place.end - place.start,
        });
    }
    kargs.current = agreed(texts)?;
    Ok(Some(kargs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marked_line_is_found_with_the_line_feed_before_it() {
        let text = b"linux a b\n#####\n####### COREOS_KARG_EMBED_AREA\ninitrd";
        let range = marked(text).unwrap();
        assert_eq!((text[range.start], &text[range.start + 1..range.end]), (b'\n', &b"######"[..]));
        assert_eq!(marked(b"x\n# COREOS_KARG_EMBED_AREA"), Some(1..2));
        // The hashes must begin their line.
        assert_eq!(marked(b"a ### COREOS_KARG_EMBED_AREA\nb\n## COREOS_KARG_EMBED_AREA\n").unwrap(), 30..32);
        assert_eq!(marked(b"## COREOS_KARG_EMBED_AREA"), None);
        assert_eq!(marked(b"\n##### COREOS_KARG"), None);
        assert_eq!(marked(b""), None);
    }

    #[test]
    fn arguments_are_joined_to_one_line() {
        let kargs = |list: &[&str]| {
            append_text(&list.iter().map(|karg| (*karg).to_owned()).collect::<Vec<_>>())
                .map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(kargs(&["p1", "p2", "p3"]).unwrap(), " p1 p2 p3\n");
        assert_eq!(kargs(&[]).unwrap(), " \n");
        assert!(matches!(kargs(&["a", "b\nmenuentry x"]), Err(Error::BadKarg(_))));
    }
}
