//! The firmware's own tables, as far as the inventory asks: memory devices and the management controller.
//!
//! The kernel hands the table out whole, so there is no address to find and no physical memory to map. A table that
//! ends in the middle gives what came before.

use std::net::IpAddr;

use crate::Root;

pub(crate) const TABLE: &str = "/sys/firmware/dmi/tables/DMI";
const END_OF_TABLE: u8 = 127;
const MEMORY_DEVICE: u8 = 17;
const CONTROLLER_INTERFACE: u8 = 42;
/// Interface type "network host interface", protocol "Redfish over IP".
const NETWORK_INTERFACE: u8 = 0x40;
const REDFISH_OVER_IP: u8 = 0x04;

/// One structure: its type, and its formatted area with the header.
struct Structure<'a> {
    kind: u8,
    data: &'a [u8],
}

impl Structure<'_> {
    fn word(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.data.get(offset..offset + 2)?.try_into().ok()?))
    }

    fn double(&self, offset: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.data.get(offset..offset + 4)?.try_into().ok()?))
    }
}

/// What the firmware says of the machine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Smbios {
    /// Installed memory, in bytes.
    pub(crate) memory: u64,
    /// The addresses at which the machine itself reaches its management controller by Redfish.
    pub(crate) redfish: Vec<IpAddr>,
}

impl Smbios {
    pub(crate) fn read(root: &Root) -> Self {
        root.read(TABLE, crate::root::MAX_FILE).map(|table| parse(&table)).unwrap_or_default()
    }
}

/// The table's structures that are used, without their strings: those may hold anything.
pub(crate) fn essence(root: &Root) -> Option<Vec<u8>> {
    let table = root.read(TABLE, crate::root::MAX_FILE).ok()?;
    let used = structures(&table)
        .filter(|structure| [MEMORY_DEVICE, CONTROLLER_INTERFACE].contains(&structure.kind));
    Some(used.flat_map(|structure| [structure.data, &[0, 0]].concat()).collect())
}

pub(crate) fn parse(table: &[u8]) -> Smbios {
    let mut found = Smbios::default();
    for structure in structures(table) {
        match structure.kind {
            MEMORY_DEVICE => found.memory = found.memory.saturating_add(memory_size(&structure).unwrap_or(0)),
            CONTROLLER_INTERFACE => found.redfish.extend(redfish_addresses(structure.data)),
            _ => {}
        }
    }
    found
}

fn structures(mut rest: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    std::iter::from_fn(move || {
        let (kind, length) = (*rest.first()?, usize::from(*rest.get(1)?));
        let data = rest.get(..length).filter(|data| data.len() >= 4)?;
        // Strings follow; two zero bytes end them, even when there are none.
        let strings = &rest[length..];
        let end = strings.windows(2).position(|pair| pair == [0, 0]).map_or(strings.len(), |at| at + 2);
        rest = &strings[end..];
        (kind != END_OF_TABLE).then_some(Structure { kind, data })
    })
}

/// Bytes of a module; zero for an empty slot.
fn memory_size(structure: &Structure<'_>) -> Option<u64> {
    const MIB: u64 = 1 << 20;
    match structure.word(0x0c)? {
        // Unknown.
        0xffff => None,
        // 32 GiB and more stand in a field of their own.
        0x7fff => structure.double(0x1c).map(|size| u64::from(size & 0x7fff_ffff) * MIB),
        size if size & 0x8000 != 0 => Some(u64::from(size & 0x7fff) << 10),
        size => Some(u64::from(size) * MIB),
    }
}

/// The Redfish service's addresses in a "management controller host interface".
fn redfish_addresses(data: &[u8]) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    let (Some(&NETWORK_INTERFACE), Some(&length)) = (data.get(4), data.get(5)) else { return addresses };
    let start = 6 + usize::from(length);
    let count = data.get(start).copied().unwrap_or(0);
    let mut records = data.get(start + 1..).unwrap_or_default();
    for _ in 0..count {
        let [kind, length, rest @ ..] = records else { break };
        let Some((record, others)) = rest.split_at_checked(usize::from(*length)) else { break };
        if *kind == REDFISH_OVER_IP {
            addresses.extend(redfish_address(record));
        }
        records = others;
    }
    addresses
}

/// Service UUID (16), host address (assignment, format, 16 + 16), service address (discovery, format, 16 …).
fn redfish_address(record: &[u8]) -> Option<IpAddr> {
    const FORMAT: usize = 51;
    let bytes: [u8; 16] = record.get(FORMAT + 1..FORMAT + 17)?.try_into().ok()?;
    let ip = match record[FORMAT] {
        1 => IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]),
        2 => IpAddr::from(bytes),
        _ => return None,
    };
    (!ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(size: u16, extended: u32) -> Vec<u8> {
        let mut data = [0; 0x22];
        data[..4].copy_from_slice(&[MEMORY_DEVICE, 0x22, 0, 0]);
        data[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        data[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
        [&data[..], b"DIMM A1\0DDR4\0\0"].concat()
    }

    #[test]
    fn modules_add_up() {
        let end = vec![END_OF_TABLE, 4, 0, 0, 0, 0];
        let table = [
            memory(16384, 0),
            memory(0, 0),
            memory(0xffff, 0),
            memory(0x7fff, 65536),
            memory(0x8000 | 512, 0),
            end,
        ]
        .concat();
        assert_eq!(parse(&table).memory, (16 << 30) + (64 << 30) + (512 << 10));
    }

    #[test]
    fn nothing_counts_after_the_end() {
        let table = [vec![END_OF_TABLE, 4, 0, 0, 0, 0], memory(16384, 0)].concat();
        assert_eq!(parse(&table), Smbios::default());
    }

    #[test]
    fn the_redfish_service_is_found() {
        let mut record = vec![0; 91];
        record[51] = 1;
        record[52..56].copy_from_slice(&[10, 1, 2, 3]);
        let mut data = vec![CONTROLLER_INTERFACE, 0, 0, 0, NETWORK_INTERFACE, 1, 2, 1, REDFISH_OVER_IP, 91];
        data.extend(record);
        data[1] = u8::try_from(data.len()).unwrap();
        data.extend([0, 0]);
        assert_eq!(parse(&data).redfish, ["10.1.2.3".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn garbage_ends_the_walk() {
        for fill in 0..=255_u8 {
            for length in 0..80 {
                let _ = parse(&vec![fill; length]);
            }
        }
        let whole = memory(16384, 0);
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).memory <= 16 << 30);
        }
    }
}
