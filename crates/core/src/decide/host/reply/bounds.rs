//! How much a host may report: machines have far less, and everything that is worked out from a report grows with it.

use assisted_wire::inventory::{Inventory, InventoryTruncation, InventoryTruncationType};

/// Members of all objects and lists of one report.
const MEMBERS: usize = 1_000_000;
/// Objects of one report: each takes a multiple of its text in memory.
const OBJECTS: usize = 100_000;
/// Bytes of one text of a report, but for the files that some steps bring.
const TEXT: usize = 64 * 1024;

/// What of an inventory is kept, of each kind.
const DISKS: usize = 16_384;
const INTERFACES: usize = 1_024;
/// Of all interfaces together.
const ADDRESSES: usize = 2_048;
const ROUTES: usize = 4_096;
const GPUS: usize = 256;
/// Of one interface, or one CPU.
const FLAGS: usize = 1_024;
/// That a disk can't be installed on, of one disk.
const REASONS: usize = 16;

/// Why a report is too large to be read, judged by its text alone; `None`: it is not.
pub(super) fn too_large(json: &str, brings_files: bool) -> Option<String> {
    const { assert!(TEXT <= OBJECTS && TEXT <= MEMBERS) };
    // There is no room in it for more of anything.
    if json.len() <= TEXT {
        return None;
    }
    let (mut members, mut objects, mut text) = (0_usize, 0_usize, 0_usize);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => members += 1,
            b'{' => objects += 1,
            b'"' => {
                let mut length = 0;
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                    length += 1;
                }
                text = text.max(length);
            }
            _ => {}
        }
    }
    let found = [(objects, OBJECTS, "objects"), (members, MEMBERS, "members")];
    let counts = found.into_iter().find(|(count, most, _)| count > most);
    counts
        .map(|(count, most, what)| format!("it has {count} {what}, and no more than {most} are read"))
        .or_else(|| {
            let is_long = !brings_files && text > TEXT;
            is_long.then(|| format!("it has a text of {text} bytes, and no more than {TEXT} are read"))
        })
}

/// Leaves out of an inventory what is beyond each limit, and notes it there, so that validations report it.
pub(super) fn cut(inventory: &mut Inventory) {
    let mut reasons = Vec::new();
    let mut keep = |count: Option<usize>, most: usize, what: &str| {
        if let Some(count) = count.filter(|count| *count > most) {
            reasons.push(format!("the host has {count} {what}, of which {most} are kept"));
        }
    };
    keep(shorten(&mut inventory.disks, DISKS), DISKS, "disks");
    keep(shorten(&mut inventory.interfaces, INTERFACES), INTERFACES, "interfaces");
    keep(shorten(&mut inventory.routes, ROUTES), ROUTES, "routes");
    keep(shorten(&mut inventory.gpus, GPUS), GPUS, "GPUs");

    let (mut addresses, mut left) = (0, ADDRESSES);
    for interface in inventory.interfaces.iter_mut().flatten() {
        shorten(&mut interface.flags, FLAGS);
        for list in [&mut interface.ipv4_addresses, &mut interface.ipv6_addresses] {
            let count = shorten(list, left).unwrap_or_default();
            addresses += count;
            left -= count.min(left);
        }
    }
    keep(Some(addresses), ADDRESSES, "addresses");
    for disk in inventory.disks.iter_mut().flatten() {
        shorten(&mut disk.installation_eligibility.not_eligible_reasons, REASONS);
    }
    if let Some(cpu) = &mut inventory.cpu {
        shorten(&mut cpu.flags, FLAGS);
    }
    if reasons.is_empty() {
        return;
    }
    let truncation = inventory
        .truncation
        .get_or_insert(InventoryTruncation { r#type: InventoryTruncationType::Partial, reasons: None });
    let told = truncation.reasons.get_or_insert_default();
    told.truncate(REASONS);
    told.extend(reasons);
}

/// Shortens a list; how long it was.
fn shorten<T>(list: &mut Option<Vec<T>>, most: usize) -> Option<usize> {
    let list = list.as_mut()?;
    let count = list.len();
    list.truncate(most);
    list.shrink_to_fit();
    Some(count)
}

#[cfg(test)]
mod tests {
    use assisted_wire::inventory::{Disk, Interface};

    use super::*;

    #[test]
    fn what_no_machine_has_is_not_read() {
        let report = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        assert_eq!(too_large(&report(OBJECTS), false), None);
        let told = too_large(&report(OBJECTS + 1), false).unwrap();
        assert_eq!(told, "it has 100001 objects, and no more than 100000 are read");
        let told = too_large(&format!("[{}]", vec!["1"; MEMBERS + 2].join(",")), true).unwrap();
        assert_eq!(told, "it has 1000001 members, and no more than 1000000 are read");
        let text = |inner: &str| format!(r#"{{"a":"{}{inner}"}}"#, "x".repeat(TEXT - 2));
        assert_eq!(too_large(&text(r#"\"\""#), false), None, "what is escaped ends no text");
        assert_eq!(
            too_large(&text("{,{"), false).unwrap(),
            "it has a text of 65537 bytes, and no more than 65536 are read"
        );
        assert_eq!(too_large(&text("{,{"), true), None);
        assert_eq!(too_large(r#"{"never ends"#, false), None, "that is for who reads it");
    }

    #[test]
    fn what_is_beyond_a_limit_is_left_out_and_told() {
        let interface = |count: usize| Interface {
            ipv4_addresses: Some(vec!["10.0.0.1/8".to_owned(); count]),
            ipv6_addresses: Some(vec!["fd00::1/64".to_owned(); count]),
            ..Interface::default()
        };
        let mut inventory = Inventory {
            disks: Some(vec![Disk::default(); DISKS]),
            interfaces: Some(vec![interface(600), interface(500)]),
            ..Inventory::default()
        };
        let mut small = inventory.clone();
        small.interfaces.as_mut().unwrap().truncate(1);
        let before = small.clone();
        cut(&mut small);
        assert_eq!(small, before);

        inventory.disks.as_mut().unwrap().push(Disk::default());
        cut(&mut inventory);
        let truncation = inventory.truncation.clone().unwrap();
        assert_eq!(truncation.r#type, InventoryTruncationType::Partial);
        assert_eq!(
            truncation.reasons.unwrap(),
            [
                "the host has 16385 disks, of which 16384 are kept",
                "the host has 2200 addresses, of which 2048 are kept"
            ]
        );
        assert_eq!(inventory.disks.unwrap().len(), DISKS);
        let interfaces = inventory.interfaces.unwrap();
        assert_eq!(interfaces[1].ipv6_addresses.as_ref().unwrap().len(), 348);
    }
}
