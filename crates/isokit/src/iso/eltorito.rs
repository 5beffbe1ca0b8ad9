//! The El Torito boot catalog: what firmware starts from the image.

use crate::error::{Error, Result};
use crate::read::ReadAt;

use super::{SECTOR, u16_both, u32_both};

/// Length of each part of a catalog.
const ENTRY: usize = 32;
const BOOT_SYSTEM: &[u8] = b"EL TORITO SPECIFICATION";

/// Firmware that an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Bios,
    PowerPc,
    Mac,
    Efi,
    Other(u8),
}

impl From<u8> for Platform {
    fn from(id: u8) -> Self {
        match id {
            0 => Self::Bios,
            1 => Self::PowerPc,
            2 => Self::Mac,
            0xef => Self::Efi,
            other => Self::Other(other),
        }
    }
}

/// Something to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    pub platform: Platform,
    /// Where the boot image begins, in bytes.
    pub offset: u64,
    /// How much of it is loaded, in sectors of 512 bytes.
    pub load_sectors: u16,
    /// Where its entry stands in the catalog.
    pub(crate) entry: usize,
}

/// The first sector of the catalog; no live ISO has more.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// In bytes, on the medium.
    pub offset: u64,
    pub entries: Vec<Boot>,
    pub(crate) sector: Vec<u8>,
}

/// Sector of the catalog, when `descriptor` is a boot record of this kind.
pub(super) fn place(descriptor: &[u8]) -> Option<u64> {
    descriptor[7..].starts_with(BOOT_SYSTEM).then(|| u64::from(u32_both(descriptor, 71)))
}

/// The boot record that points at a catalog.
pub(crate) fn boot_record(sector: u32) -> Vec<u8> {
    let mut record = vec![0; SECTOR as usize];
    record[1..7].copy_from_slice(b"CD001\x01");
    record[7..7 + BOOT_SYSTEM.len()].copy_from_slice(BOOT_SYSTEM);
    record[71..75].copy_from_slice(&sector.to_le_bytes());
    record
}

impl Catalog {
    pub(super) fn read(image: &dyn ReadAt, number: u64) -> Result<Self> {
        let bytes = super::sector(image, number)
            .map_err(|error| super::ended(error, "its boot catalog lies outside"))?;
        if bytes[0] != 1 || bytes[30..32] != [0x55, 0xaa] {
            return Err(Error::iso("its boot catalog is not valid"));
        }
        let mut entries = Vec::new();
        let mut platform = Platform::from(bytes[1]);
        // The default entry, then sections of entries: a header, and as many entries as it says.
        let mut left = 1;
        let mut last = false;
        for (place, entry) in bytes.chunks_exact(ENTRY).enumerate().skip(1) {
            match (left, entry[0]) {
                // More about the entry before it.
                (_, 0x44) => {}
                (0, header @ (0x90 | 0x91)) if !last => {
                    platform = Platform::from(entry[1]);
                    left = u16_both(entry, 2);
                    last = header == 0x91;
                }
                (0, _) => break,
                // Not bootable: its fields mean nothing.
                (_, 0x00) => left -= 1,
                (_, 0x88) => {
                    left -= 1;
                    entries.push(Boot {
                        platform,
                        offset: u64::from(u32_both(entry, 8)) * SECTOR,
                        load_sectors: u16_both(entry, 6),
                        entry: place * ENTRY,
                    });
                }
                _ => return Err(Error::iso("its boot catalog has an entry of no known kind")),
            }
        }
        Ok(Self { offset: number * SECTOR, entries, sector: bytes })
    }

    /// The catalog with the boot images where `sector_of` says they have moved.
    pub(crate) fn moved(&self, sector_of: impl Fn(u64) -> Option<u32>) -> Option<Vec<u8>> {
        let mut bytes = self.sector.clone();
        for boot in &self.entries {
            let sector = sector_of(boot.offset)?;
            bytes[boot.entry + 8..boot.entry + 12].copy_from_slice(&sector.to_le_bytes());
        }
        Some(bytes)
    }
}
