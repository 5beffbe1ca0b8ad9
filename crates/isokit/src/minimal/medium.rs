//! Writing an ISO 9660 file system as a layout: descriptors, path tables and directories in memory, data wherever it is.

use std::collections::HashMap;

use super::hybrid::{self, MovedBootImage};
use super::tree::{Directory, Meta, Target, Tree, both};
use crate::error::{Error, Result};
use crate::extent::{Extent, Layout};
use crate::image::Image;
use crate::iso::eltorito::{Catalog, boot_record};
use crate::iso::{SECTOR, SYSTEM_AREA, record, susp};
use crate::read::ReadAt;

const SECTOR_LEN: usize = SECTOR as usize;
/// Longest extent of one record: a multiple of the sector below 4 GiB.
const MAX_EXTENT: u64 = (1 << 32) - SECTOR;
/// Longest record; it must be even.
const MAX_RECORD: usize = 254;
/// Longest piece of a name in one entry.
const MAX_NAME_PIECE: usize = 249;
const CONTINUATION_ENTRY: usize = 28;

/// Where things are, in sectors.
#[derive(Debug, Default, Clone)]
struct SectorLayout {
    directories: Vec<u32>,
    directory_sizes: Vec<u32>,
    continuation: u32,
    data: Vec<u32>,
}

/// Directories as they stand on the medium.
struct Rendered {
    directories: Vec<Vec<u8>>,
    continuation: Vec<u8>,
}

/// Writes `tree` with the descriptors, the boot catalog and the system area of `image`.
pub fn write(image: &Image, mut tree: Tree) -> Result<Layout> {
    let catalog = image.iso().catalog.as_ref();
    let boot = catalog.map(|catalog| Boot::new(image, catalog, &mut tree)).transpose()?;

    // The sizes of directories don't depend on places: render them once to know the places, once more with them.
    let none = SectorLayout {
        directories: vec![0; tree.directories.len()],
        directory_sizes: vec![0; tree.directories.len()],
        continuation: 0,
        data: vec![0; tree.data.len()],
    };
    let extensions = extensions(image);
    let sizes = render(&tree, &extensions, &none)?;
    let path_table_len = path_table(&tree, &none, u32::to_le_bytes, u16::to_le_bytes).len();

    let mut next = Cursor(SYSTEM_AREA / SECTOR);
    let descriptors = next.take((2 + u64::from(boot.is_some())) * SECTOR)?;
    let path_tables = [next.take(path_table_len as u64)?, next.take(path_table_len as u64)?];
    let directories: Vec<u32> =
        sizes.directories.iter().map(|bytes| next.take(bytes.len() as u64)).collect::<Result<_>>()?;
    let continuation = next.take(sizes.continuation.len() as u64)?;
    let mut order: Vec<usize> = (0..tree.data.len()).collect();
    order.sort_by_key(|index| tree.data[*index].from.unwrap_or(u64::MAX));
    let mut data = vec![0; tree.data.len()];
    for index in &order {
        data[*index] = next.take(tree.data[*index].content.len())?;
    }
    let places = SectorLayout {
        directories,
        directory_sizes: sizes.directories.iter().map(|bytes| bytes.len() as u32).collect(),
        continuation,
        data,
    };
    let sectors = next.take(0)?;
    let len = u64::from(sectors) * SECTOR;
    if let (Some(boot), Some(catalog)) = (&boot, catalog) {
        boot.patch(&mut tree, catalog, &places)?;
    }

    let mut area = vec![0; SYSTEM_AREA as usize];
    image.layout().read_exact_at(&mut area, 0)?;
    let moved = boot.as_ref().map(|boot| boot.moved(&tree, &places)).unwrap_or_default();
    let tail = hybrid::rewrite(&mut area, &moved, len)?;

    let mut head = area;
    debug_assert_eq!(head.len() as u64, u64::from(descriptors) * SECTOR);
    head.extend(primary(image, sectors, path_table_len, path_tables, &places));
    if let Some(boot) = &boot {
        head.extend(boot_record(places.data[boot.catalog]));
    }
    head.extend(terminator());
    for table in [
        path_table(&tree, &places, u32::to_le_bytes, u16::to_le_bytes),
        path_table(&tree, &places, u32::to_be_bytes, u16::to_be_bytes),
    ] {
        head.extend(table);
        pad(&mut head);
    }
    let rendered = render(&tree, &extensions, &places)?;
    for directory in rendered.directories {
        head.extend(directory);
    }
    head.extend(rendered.continuation);
    pad(&mut head);

    let mut layout = Layout::default();
    layout.push(head);
    for index in order {
        let content = &tree.data[index].content;
        layout.concat(content);
        layout.push(Extent::zeros(content.len().next_multiple_of(SECTOR) - content.len()));
    }
    debug_assert_eq!(layout.len(), len);
    layout.push(tail);
    Ok(layout)
}

/// Gives out sectors.
struct Cursor(u64);

impl Cursor {
    fn take(&mut self, bytes: u64) -> Result<u32> {
        let start = u32::try_from(self.0).map_err(|_| Error::NoMinimal("it would be too long".into()))?;
        self.0 += bytes.div_ceil(SECTOR);
        Ok(start)
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(SECTOR_LEN), 0);
}

/// The boot catalog and the boot images, as places in the tree's data.
struct Boot {
    catalog: usize,
    /// For each entry of the catalog.
    images: Vec<usize>,
}

impl Boot {
    /// Finds them, or adds those that no file is.
    fn new(image: &Image, catalog: &Catalog, tree: &mut Tree) -> Result<Self> {
        let mut by_place: HashMap<u64, usize> =
            tree.data.iter().enumerate().filter_map(|(index, data)| Some((data.from?, index))).collect();
        let mut find = |offset: u64, len: u64| {
            if let Some(index) = by_place.get(&offset) {
                return Ok(*index);
            }
            let content = image.layout().part(offset..offset.saturating_add(len));
            let index = tree
                .add(content, Some(offset))
                .ok_or_else(|| Error::NoMinimal("a boot image lies outside".into()))?;
            by_place.insert(offset, index);
            Ok(index)
        };
        let images = catalog
            .entries
            .iter()
            .map(|boot| find(boot.offset, u64::from(boot.load_sectors.max(1)) * 512))
            .collect::<Result<_>>()?;
        let catalog = find(catalog.offset, SECTOR)?;
        Ok(Self { catalog, images })
    }

    /// Writes the new places into the catalog, and into boot images that hold their own.
    fn patch(&self, tree: &mut Tree, catalog: &Catalog, places: &SectorLayout) -> Result<()> {
        let moved: HashMap<u64, u32> = catalog
            .entries
            .iter()
            .zip(&self.images)
            .map(|(boot, index)| (boot.offset, places.data[*index]))
            .collect();
        let bytes = catalog.moved(|offset| moved.get(&offset).copied());
        let bytes = bytes.ok_or_else(|| Error::NoMinimal("a boot image has no place".into()))?;
        tree.data[self.catalog].content.overlay(0, bytes)?;
        for (boot, index) in catalog.entries.iter().zip(&self.images) {
            own_place(&mut tree.data[*index].content, boot.offset, places.data[*index])?;
        }
        Ok(())
    }

    fn moved(&self, tree: &Tree, places: &SectorLayout) -> Vec<MovedBootImage> {
        let image = |index: &usize| {
            let data = &tree.data[*index];
            data.from.map(|from| MovedBootImage {
                from,
                to: u64::from(places.data[*index]) * SECTOR,
                len: data.content.len(),
            })
        };
        self.images.iter().filter_map(image).collect()
    }
}

/// isolinux finds the rest of itself by a table at byte 8 (sector of the descriptor, own sector, length, sum from byte 64),
/// GRUB by the number of its second block of 512 bytes at byte 2548. The sum covers what does not change here.
fn own_place(content: &mut Layout, from: u64, sector: u32) -> Result<()> {
    let mut table = [0; 8];
    if content.len() >= 64 {
        content.read_exact_at(&mut table, 8)?;
        let old = (from / SECTOR) as u32;
        if table == (16 | u64::from(old) << 32).to_le_bytes() {
            content.overlay(12, sector.to_le_bytes().to_vec())?;
        }
    }
    if content.len() >= 2556 {
        content.read_exact_at(&mut table, 2548)?;
        if u64::from_le_bytes(table) == from / 512 + 5 {
            content.overlay(2548, (u64::from(sector) * 4 + 5).to_le_bytes().to_vec())?;
        }
    }
    Ok(())
}

/// The entries of the root's record of itself: they say that there is Rock Ridge.
fn extensions(image: &Image) -> Vec<susp::Entry> {
    let said = &image.iso().extensions;
    if !said.is_empty() {
        return said.clone();
    }
    let mut data = vec![10, 0, 0, 1];
    data.extend_from_slice(b"RRIP_1991A");
    vec![susp::Entry { signature: *b"ER", version: 1, data }]
}

fn primary(image: &Image, sectors: u32, table: usize, tables: [u32; 2], places: &SectorLayout) -> Vec<u8> {
    let mut descriptor = image.iso().descriptor.clone();
    let table = u32::try_from(table).unwrap_or(u32::MAX);
    descriptor[80..88].copy_from_slice(&both(sectors));
    descriptor[132..140].copy_from_slice(&both(table));
    descriptor[140..144].copy_from_slice(&tables[0].to_le_bytes());
    descriptor[144..148].fill(0);
    descriptor[148..152].copy_from_slice(&tables[1].to_be_bytes());
    descriptor[152..156].fill(0);
    descriptor[158..166].copy_from_slice(&both(places.directories[0]));
    descriptor[166..174].copy_from_slice(&both(places.directory_sizes[0]));
    descriptor
}

fn terminator() -> Vec<u8> {
    let mut descriptor = vec![0; SECTOR_LEN];
    descriptor[..7].copy_from_slice(b"\xffCD001\x01");
    descriptor
}

/// All directories by number, in one byte order.
fn path_table(
    tree: &Tree,
    places: &SectorLayout,
    u32_bytes: fn(u32) -> [u8; 4],
    u16_bytes: fn(u16) -> [u8; 2],
) -> Vec<u8> {
    let mut table = Vec::new();
    for (directory, sector) in tree.directories.iter().zip(&places.directories) {
        let identifier = &directory.meta.identifier;
        // Identifiers come from a byte-sized field; there are fewer directories than 2^15.
        table.extend_from_slice(&[identifier.len() as u8, 0]);
        table.extend_from_slice(&u32_bytes(*sector));
        table.extend_from_slice(&u16_bytes(directory.parent as u16 + 1));
        table.extend_from_slice(identifier);
        if identifier.len() % 2 == 1 {
            table.push(0);
        }
    }
    table
}

fn render(tree: &Tree, extensions: &[susp::Entry], places: &SectorLayout) -> Result<Rendered> {
    let mut continuation = Continuation { sector: places.continuation, bytes: Vec::new() };
    let directories = tree
        .directories
        .iter()
        .enumerate()
        .map(|(number, directory)| {
            directory_bytes(tree, number, directory, extensions, places, &mut continuation)
        })
        .collect::<Result<_>>()?;
    let mut continuation = continuation.bytes;
    pad(&mut continuation);
    Ok(Rendered { directories, continuation })
}

fn directory_bytes(
    tree: &Tree,
    number: usize,
    directory: &Directory,
    extensions: &[susp::Entry],
    places: &SectorLayout,
    continuation: &mut Continuation,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut put = |record: Vec<u8>| {
        // A record lies within one sector.
        if bytes.len() % SECTOR_LEN + record.len() > SECTOR_LEN {
            pad(&mut bytes);
        }
        bytes.extend(record);
    };
    for (identifier, of) in [(0, number), (1, directory.parent)] {
        let mut meta = tree.directories[of].meta.clone();
        meta.identifier = vec![identifier];
        meta.name = String::new();
        if number == 0 && identifier == 0 {
            let here = susp::Entry { signature: *b"SP", version: 1, data: vec![0xbe, 0xef, 0] };
            meta.attributes.insert(0, here);
            meta.attributes.extend_from_slice(extensions);
        }
        let extent = (places.directories[of], u64::from(places.directory_sizes[of]));
        put(record_bytes(&meta, extent, false, continuation)?);
    }
    for (meta, target) in &directory.children {
        let (mut sector, mut left) = match target {
            Target::Directory(of) => (places.directories[*of], u64::from(places.directory_sizes[*of])),
            Target::File(Some(data)) => (places.data[*data], tree.data[*data].content.len()),
            Target::File(None) => (0, 0),
        };
        // A file of 4 GiB and more has several records.
        while left > MAX_EXTENT {
            put(record_bytes(meta, (sector, MAX_EXTENT), true, continuation)?);
            // What would be too much is found when the data gets its place.
            sector = sector.saturating_add((MAX_EXTENT / SECTOR) as u32);
            left -= MAX_EXTENT;
        }
        put(record_bytes(meta, (sector, left), false, continuation)?);
    }
    pad(&mut bytes);
    Ok(bytes)
}

/// System use entries that their records have no room for.
struct Continuation {
    sector: u32,
    bytes: Vec<u8>,
}

impl Continuation {
    /// Takes the entries; the result is the entry that points at them.
    fn add(&mut self, entries: &[susp::Entry]) -> Result<susp::Entry> {
        let len: usize = entries.iter().map(susp::Entry::len).sum();
        if len > SECTOR_LEN {
            return Err(Error::NoMinimal("a record has too many system use entries".into()));
        }
        // An area lies within one sector.
        if self.bytes.len() % SECTOR_LEN + len > SECTOR_LEN {
            pad(&mut self.bytes);
        }
        let at = self.bytes.len();
        for entry in entries {
            entry.write(&mut self.bytes);
        }
        let data = [self.sector + (at / SECTOR_LEN) as u32, (at % SECTOR_LEN) as u32, len as u32];
        Ok(susp::Entry { signature: *b"CE", version: 1, data: data.map(both).concat() })
    }
}

fn record_bytes(
    meta: &Meta,
    (sector, len): (u32, u64),
    more: bool,
    continuation: &mut Continuation,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; record::HEAD];
    bytes[2..10].copy_from_slice(&both(sector));
    bytes[10..18].copy_from_slice(&both(u32::try_from(len).unwrap_or(u32::MAX)));
    bytes[18..25].copy_from_slice(&meta.recorded);
    bytes[25] = meta.flags | if more { record::MULTI_EXTENT } else { 0 };
    bytes[28..32].copy_from_slice(&[1, 0, 0, 1]);
    bytes[32] = meta.identifier.len() as u8;
    bytes.extend_from_slice(&meta.identifier);
    bytes.resize(bytes.len().next_multiple_of(2), 0);

    let entries = [meta.attributes.clone(), name_entries(&meta.name)].concat();
    let all: usize = entries.iter().map(susp::Entry::len).sum();
    let room = MAX_RECORD.saturating_sub(bytes.len());
    let inline = if all <= room {
        entries.len()
    } else {
        let mut used = CONTINUATION_ENTRY;
        entries
            .iter()
            .take_while(|entry| {
                used += entry.len();
                used <= room
            })
            .count()
    };
    for entry in &entries[..inline] {
        entry.write(&mut bytes);
    }
    if inline < entries.len() {
        continuation.add(&entries[inline..])?.write(&mut bytes);
    }
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes[0] = u8::try_from(bytes.len()).map_err(|_| Error::NoMinimal("a record is too long".into()))?;
    Ok(bytes)
}

/// The Rock Ridge name; all pieces but the last say that it goes on.
fn name_entries(name: &str) -> Vec<susp::Entry> {
    let pieces: Vec<_> = name.as_bytes().chunks(MAX_NAME_PIECE).collect();
    let last = pieces.len().saturating_sub(1);
    pieces
        .iter()
        .enumerate()
        .map(|(number, piece)| {
            let mut data = vec![u8::from(number < last)];
            data.extend_from_slice(piece);
            susp::Entry { signature: *b"NM", version: 1, data }
        })
        .collect()
}
