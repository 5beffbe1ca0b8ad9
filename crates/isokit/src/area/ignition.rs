//! Where the Ignition archive goes: `igninfo.json` (image-service §2.3).

use std::ops::Range;

use serde::Deserialize;

use super::json;
use crate::error::{Error, Result};
use crate::iso::Iso;
use crate::read::ReadAt;

pub const INFO: &str = "/coreos/igninfo.json";
/// The whole file is the area where `igninfo.json` is missing.
const DEFAULT_FILE: &str = "images/ignition.img";

#[derive(Deserialize)]
struct Info {
    file: String,
    offset: Option<u64>,
    length: Option<u64>,
}

/// The area's bytes in the image.
///
/// # Errors
/// When there is none, or it reaches out of its file.
pub fn find(image: &dyn ReadAt, iso: &Iso) -> Result<Range<u64>> {
    let info =
        json(image, iso, INFO)?.unwrap_or(Info { file: DEFAULT_FILE.to_owned(), offset: None, length: None });
    let file = iso.file(&info.file)?;
    let offset = info.offset.unwrap_or(0);
    let len = info.length.or(file.len().checked_sub(offset));
    len.and_then(|len| file.place(offset..offset.checked_add(len)?))
        .filter(|area| !area.is_empty())
        .ok_or_else(|| Error::file(INFO, format!("names an area that {} does not have", info.file)))
}
