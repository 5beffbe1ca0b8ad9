//! What makes an ISO a disk, too: MBR and GPT in its system area (image-service §2.8).
//!
//! They are those of the base, with every place in them moved along with the boot image that it stands for.

use crate::area::legacy;
use crate::error::{Error, Result};

/// Sectors of a disk, in bytes.
const BLOCK: u64 = 512;
/// A cylinder of the geometry that BIOSes see in an isohybrid image: 64 heads, 32 sectors. The image is a multiple of it.
const CYLINDER: u64 = 1 << 20;
/// Type of the partition from which PowerPC firmware boots.
const CHRP: u8 = 0x96;
/// "Beyond what cylinder, head and sector can say."
const NO_CHS: [u8; 3] = [0xfe, 0xff, 0xff];

/// A boot image, in bytes on the medium.
#[derive(Debug, Clone, Copy)]
pub struct MovedBootImage {
    pub from: u64,
    pub to: u64,
    pub len: u64,
}

impl MovedBootImage {
    fn blocks(&self) -> (u64, u64) {
        (self.to / BLOCK, self.len.div_ceil(BLOCK))
    }
}

fn at_block(moved: &[MovedBootImage], block: u64) -> Option<&MovedBootImage> {
    moved.iter().find(|moved| moved.from / BLOCK == block)
}

/// Rewrites the system area for an image of `len` bytes; the result is what follows these bytes: the fill up to a whole
/// cylinder, and the backup GPT at its end. It is empty for an image that is no disk.
///
/// # Errors
/// When the GPT of the base is not one.
pub fn rewrite(area: &mut [u8], moved: &[MovedBootImage], len: u64) -> Result<Vec<u8>> {
    legacy::clear(area);
    if area[510..512] != [0x55, 0xaa] {
        return Ok(Vec::new());
    }
    let gpt = Gpt::read(area)?;
    let backup = gpt.as_ref().map_or(0, |gpt| gpt.blocks() * BLOCK + BLOCK);
    // A CHRP partition is just as long as the file system.
    let chrp = area[446..510].chunks_exact(16).any(|entry| entry[4] == CHRP);
    let total = (len + backup).next_multiple_of(if chrp { BLOCK } else { CYLINDER });
    mbr(area, moved, total);
    let mut tail = vec![0; (total - len) as usize];
    if let Some(gpt) = gpt {
        gpt.write(area, &mut tail, moved, len, total);
    }
    Ok(tail)
}

fn mbr(area: &mut [u8], moved: &[MovedBootImage], total: u64) {
    // Boot code finds its second stage by this: isolinux.bin from its first block, GRUB's from its fifth.
    let second_stage = u64_at(area, 432);
    for skipped in [0, 4] {
        let place = second_stage.checked_sub(skipped).and_then(|block| at_block(moved, block));
        if let Some(image) = place.filter(|_| second_stage != 0) {
            area[432..440].copy_from_slice(&(image.to / BLOCK + skipped).to_le_bytes());
            break;
        }
    }
    for entry in area[446..510].chunks_exact_mut(16) {
        if entry.iter().all(|byte| *byte == 0) {
            continue;
        }
        let start = u64::from(u32_at(entry, 8));
        let (start, blocks, chs) = match at_block(moved, start) {
            Some(image) => (image.blocks().0, image.blocks().1, [NO_CHS; 2]),
            // From the first block, or behind the MBR: all of it.
            None if start <= 1 => {
                let protective = entry[4] == 0xee;
                let end = if protective { NO_CHS } else { last_of(total) };
                (start, total / BLOCK - start, [[entry[1], entry[2], entry[3]], end])
            }
            // It stood for what is no longer there.
            None => {
                entry.fill(0);
                continue;
            }
        };
        entry[1..4].copy_from_slice(&chs[0]);
        entry[5..8].copy_from_slice(&chs[1]);
        entry[8..12].copy_from_slice(&clipped(start).to_le_bytes());
        entry[12..16].copy_from_slice(&clipped(blocks).to_le_bytes());
    }
}

/// Head, sector and cylinder of the last block.
fn last_of(total: u64) -> [u8; 3] {
    let cylinder = (total / CYLINDER).saturating_sub(1).min(1023);
    [63, 32 | ((cylinder >> 2) & 0xc0) as u8, (cylinder & 0xff) as u8]
}

fn clipped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The primary GPT of the base.
struct Gpt {
    header: Vec<u8>,
    /// Where the entries begin in the system area, in bytes.
    entries_at: usize,
    entries: Vec<u8>,
    entry_len: usize,
}

impl Gpt {
    fn read(area: &[u8]) -> Result<Option<Self>> {
        if &area[512..520] != b"EFI PART" {
            return Ok(None);
        }
        let bad = || Error::iso("its GPT is not valid");
        let header_len = u32_at(area, 512 + 12) as usize;
        if !(92..=512).contains(&header_len) {
            return Err(bad());
        }
        let header = area[512..512 + header_len].to_vec();
        let entries_at = u64_at(&header, 72).checked_mul(BLOCK).and_then(|at| usize::try_from(at).ok());
        let (count, entry_len) = (u32_at(&header, 80) as usize, u32_at(&header, 84) as usize);
        let entries = entries_at
            .filter(|at| *at >= 1024 && (128..=512).contains(&entry_len))
            .and_then(|at| area.get(at..at.checked_add(count.checked_mul(entry_len)?)?))
            .ok_or_else(bad)?
            .to_vec();
        Ok(Some(Self { header, entries_at: entries_at.unwrap_or_default(), entries, entry_len }))
    }

    /// Length of the entries, in blocks.
    fn blocks(&self) -> u64 {
        (self.entries.len() as u64).div_ceil(BLOCK)
    }

    fn write(mut self, area: &mut [u8], tail: &mut [u8], moved: &[MovedBootImage], len: u64, total: u64) {
        for entry in self.entries.chunks_exact_mut(self.entry_len) {
            let start = u64_at(entry, 32);
            let (start, blocks) = match at_block(moved, start) {
                _ if entry[..16].iter().all(|byte| *byte == 0) => continue,
                Some(image) => image.blocks(),
                // The whole file system, as isohybrid has it.
                None if start == 0 => (0, len / BLOCK),
                None => {
                    entry.fill(0);
                    continue;
                }
            };
            entry[32..40].copy_from_slice(&start.to_le_bytes());
            entry[40..48].copy_from_slice(&(start + blocks).saturating_sub(1).to_le_bytes());
        }
        let last = total / BLOCK - 1;
        let backup_entries = last - self.blocks();
        let (primary, backup) = (
            self.sealed(1, last, self.entries_at as u64 / BLOCK, backup_entries - 1),
            self.sealed(last, 1, backup_entries, backup_entries - 1),
        );
        area[512..512 + primary.len()].copy_from_slice(&primary);
        area[self.entries_at..self.entries_at + self.entries.len()].copy_from_slice(&self.entries);
        let end = tail.len();
        let at = end - BLOCK as usize;
        tail[at..at + backup.len()].copy_from_slice(&backup);
        let at = at - (self.blocks() * BLOCK) as usize;
        tail[at..at + self.entries.len()].copy_from_slice(&self.entries);
    }

    /// The header at block `own`, with its checksums.
    fn sealed(&self, own: u64, other: u64, entries: u64, last_usable: u64) -> Vec<u8> {
        let mut header = self.header.clone();
        header[24..32].copy_from_slice(&own.to_le_bytes());
        header[32..40].copy_from_slice(&other.to_le_bytes());
        header[48..56].copy_from_slice(&last_usable.to_le_bytes());
        header[72..80].copy_from_slice(&entries.to_le_bytes());
        header[88..92].copy_from_slice(&crc32fast::hash(&self.entries).to_le_bytes());
        header[16..20].fill(0);
        let sum = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        header
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
