//! `miniso.dat`: the recipe with which coreos-installer makes its own minimal ISO out of a full one (image-service §2.5).

use serde::Serialize;

use super::read;
use crate::error::{Error, Result};
use crate::iso::Iso;
use crate::read::ReadAt;

pub const FILE: &str = "/coreos/miniso.dat";
const MAGIC: &[u8] = b"MINISO\0\0";

/// What the recipe's head says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recipe {
    pub version: u64,
    /// Version of the program that packed it.
    pub creator: String,
    /// Files that are copied from the full ISO.
    pub files: u64,
}

/// Reads the recipe; `None` when the image has none, or only room for one.
pub fn recipe(image: &dyn ReadAt, iso: &Iso) -> Result<Option<Recipe>> {
    let Some(node) = iso.find_file(FILE) else { return Ok(None) };
    let content = read(image, FILE, node)?;
    if !content.starts_with(MAGIC) {
        return Ok(None);
    }
    parse(&content[MAGIC.len()..]).map(Some).ok_or_else(|| Error::file(FILE, "its head is cut off"))
}

fn parse(mut bytes: &[u8]) -> Option<Recipe> {
    let version = varint(&mut bytes)?;
    let len = usize::try_from(varint(&mut bytes)?).ok()?;
    let creator = String::from_utf8_lossy(bytes.get(..len)?).into_owned();
    bytes = &bytes[len..];
    Some(Recipe { version, creator, files: varint(&mut bytes)? })
}

/// A number of bincode's variable length: one byte, or a byte that says how many follow.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    let len = match first {
        0..=250 => {
            *bytes = rest;
            return Some(u64::from(*first));
        }
        251 => 2,
        252 => 4,
        253 => 8,
        _ => return None,
    };
    let mut number = [0; 8];
    number[..len].copy_from_slice(rest.get(..len)?);
    *bytes = &rest[len..];
    Some(u64::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read() {
        let head = [&[1, 6][..], b"0.27.0", &[251, 0x0e, 1, 9, 9, 9]].concat();
        let recipe = Recipe { version: 1, creator: "0.27.0".into(), files: 270 };
        assert_eq!(parse(&head), Some(recipe));
        for len in 0..head.len() - 3 {
            assert_eq!(parse(&head[..len]), None, "{len} bytes");
        }
        assert_eq!(parse(&[1, 253, 255, 255, 255, 255, 255, 255, 255, 255, 0]), None);
        assert_eq!(parse(&[1, 255, 0]), None);
    }
}
