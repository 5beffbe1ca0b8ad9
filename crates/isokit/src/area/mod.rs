//! Areas: byte ranges of an image that may be overwritten without moving anything.

mod arguments;
pub mod ignition;
pub mod kargs;
pub mod legacy;
pub mod miniso;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::iso::{Iso, Node};
use crate::read::ReadAt;

/// Longest small file (JSON, boot configuration) that is read into memory, in bytes. Real ones have a few kilobytes.
const MAX_SMALL_FILE: u64 = 1 << 20;

/// What coreos-installer may customise.
pub const FEATURES: &str = "/coreos/features.json";
/// Where the minimal ISO takes the infra-env's ramdisk.
pub const RAMDISK: &str = "/images/assisted_installer_custom.img";

/// The content of a small file.
pub fn read(image: &dyn ReadAt, path: &str, node: &Node) -> Result<Vec<u8>> {
    let len = node.len();
    if len > MAX_SMALL_FILE {
        return Err(Error::file(path, format!("has {len} bytes; more than {MAX_SMALL_FILE} can't be right")));
    }
    let mut content = vec![0; len as usize];
    let mut rest = content.as_mut_slice();
    for extent in &node.extents {
        let (head, tail) = rest.split_at_mut((extent.end - extent.start) as usize);
        image.read_exact_at(head, extent.start)?;
        rest = tail;
    }
    Ok(content)
}

/// The JSON document at `path`; `None` when there is no such file.
fn json<T: serde::de::DeserializeOwned>(image: &dyn ReadAt, iso: &Iso, path: &str) -> Result<Option<T>> {
    let Some(node) = iso.find_file(path) else { return Ok(None) };
    let content = read(image, path, node)?;
    serde_json::from_slice(&content).map(Some).map_err(|error| Error::file(path, error.to_string()))
}

/// What coreos-installer may customise, by `features.json`; empty when the image has none.
pub fn features(image: &dyn ReadAt, iso: &Iso) -> Result<serde_json::Map<String, serde_json::Value>> {
    Ok(json(image, iso, FEATURES)?.unwrap_or_default())
}

/// Where the ramdisk of a minimal ISO is; `None` on a full one.
pub fn ramdisk(iso: &Iso) -> Option<Range<u64>> {
    let node = iso.find_file(RAMDISK)?;
    node.place(0..node.len())
}
