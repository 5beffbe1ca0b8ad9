//! System use entries (SUSP, Rock Ridge): names as people gave them, modes, links.

use super::{SECTOR, u32_both};
use crate::error::{Error, Result};
use crate::read::ReadAt;

/// Continuation areas of one record.
const MAX_CONTINUATIONS: usize = 16;
/// Continuation areas of one record together, in bytes; Rock Ridge needs about 300.
const MAX_BYTES: u64 = 2 << 10;
/// Longest name of a file, in bytes; no file system has longer ones.
const MAX_NAME: usize = 255;

/// An entry: signature, version, data without the four bytes of its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub signature: [u8; 2],
    pub version: u8,
    pub data: Vec<u8>,
}

impl Entry {
    /// Length on the medium.
    pub fn len(&self) -> usize {
        4 + self.data.len()
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.signature);
        // Entries come from a byte-sized field, or are made shorter than that.
        to.push(self.len() as u8);
        to.push(self.version);
        to.extend_from_slice(&self.data);
    }
}

/// Bytes that the entries of every record skip, when the root's own record says that the image has such entries.
pub fn skip(root_system_use: &[u8]) -> Option<usize> {
    match root_system_use {
        [b'S', b'P', 7, _, 0xbe, 0xef, skip, ..] => Some(usize::from(*skip)),
        _ => None,
    }
}

/// All entries of a record, continuation areas followed.
pub fn entries(image: &dyn ReadAt, area: &[u8], skip: usize) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut next = scan(area.get(skip..).unwrap_or_default(), &mut entries)?;
    let mut total = 0;
    for _ in 0..MAX_CONTINUATIONS {
        let Some(Continuation { at, len }) = next else { return Ok(entries) };
        total += len;
        if total > MAX_BYTES {
            break;
        }
        let mut area = vec![0; len as usize];
        image
            .read_exact_at(&mut area, at)
            .map_err(|error| super::ended(error, "a continuation area lies outside"))?;
        next = scan(&area, &mut entries)?;
    }
    Err(Error::iso("a record has too many system use entries"))
}

struct Continuation {
    at: u64,
    len: u64,
}

/// Takes the entries of one area; what follows them is padding.
fn scan(mut area: &[u8], entries: &mut Vec<Entry>) -> Result<Option<Continuation>> {
    let mut continuation = None;
    while let [one, two, len, version, ..] = *area {
        if one == 0 {
            break;
        }
        let len = usize::from(len);
        let data =
            area.get(4..len).ok_or_else(|| Error::iso("a system use entry is longer than its record"))?;
        match &[one, two] {
            b"ST" => break,
            b"CE" if data.len() >= 24 => {
                continuation = Some(Continuation {
                    at: u64::from(u32_both(data, 0)) * SECTOR + u64::from(u32_both(data, 8)),
                    len: u64::from(u32_both(data, 16)),
                });
            }
            b"CE" => return Err(Error::iso("a continuation entry is cut off")),
            signature => entries.push(Entry { signature: *signature, version, data: data.to_vec() }),
        }
        area = &area[len..];
    }
    Ok(continuation)
}

/// The Rock Ridge name, put together from its pieces.
pub fn name(entries: &[Entry]) -> Result<Option<String>> {
    let mut name = Vec::new();
    let mut found = false;
    for entry in entries.iter().filter(|entry| &entry.signature == b"NM") {
        if let [flags, part @ ..] = entry.data.as_slice() {
            // Bits 1 and 2 stand for "." and "..": no names of entries.
            if flags & 0b110 == 0 {
                name.extend_from_slice(part);
                found = true;
            }
        }
    }
    if name.len() > MAX_NAME {
        return Err(Error::iso(format!("a name is longer than {MAX_NAME} bytes")));
    }
    Ok(found.then(|| String::from_utf8_lossy(&name).into_owned()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn entry(signature: &[u8; 2], data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Entry { signature: *signature, version: 1, data: data.to_vec() }.write(&mut bytes);
        bytes
    }

    fn continuation(sector: u32, offset: u32, len: u32) -> Vec<u8> {
        let both = |number: u32| [number.to_le_bytes(), number.to_be_bytes()].concat();
        entry(b"CE", &[both(sector), both(offset), both(len)].concat())
    }

    #[test]
    fn a_name_goes_on_in_continuation_areas() {
        let mut image = vec![0; 3 * 2048];
        let second = [entry(b"NM", b"\x01lo "), continuation(2, 0, 10)].concat();
        image[2048 + 100..2048 + 100 + second.len()].copy_from_slice(&second);
        let third = entry(b"NM", b"\0world");
        image[4096..4096 + third.len()].copy_from_slice(&third);
        let first = [
            b"skip".to_vec(),
            entry(b"PX", &[7; 32]),
            entry(b"NM", b"\x01Hel"),
            continuation(1, 100, second.len() as u32),
        ]
        .concat();
        let entries = entries(&Bytes::from(image), &first, 4).unwrap();
        assert_eq!(name(&entries).unwrap().unwrap(), "Hello world");
        let long = Entry { signature: *b"NM", version: 1, data: [&[0][..], &[b'n'; 200]].concat() };
        assert!(name(&[long.clone(), long]).is_err());
        assert_eq!(entries[0].data, [7; 32]);
    }

    #[test]
    fn hostile_entries_are_refused() {
        let image = Bytes::from([continuation(0, 0, 28), vec![0; 4096]].concat());
        for (area, reason) in [
            (continuation(0, 0, 28), "too many"),
            (continuation(0, 0, u32::MAX), "too many"),
            (continuation(9, 0, 10), "outside"),
            (entry(b"CE", &[0; 20]), "cut off"),
            (b"NM\xff\x01abc".to_vec(), "longer than its record"),
            (b"NM\x03\x01abc".to_vec(), "longer than its record"),
        ] {
            let error = entries(&image, &area, 0).unwrap_err().to_string();
            assert!(error.contains(reason), "{error} has no {reason}");
        }
        assert!(entries(&image, b"\0\0\0\0NM", 0).unwrap().is_empty());
        assert!(entries(&image, b"NM", 200).unwrap().is_empty());
    }
}
