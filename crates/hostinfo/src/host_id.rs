//! The id under which a machine registers: derived from its hardware, so that it is the same at every boot.
//!
//! Rules and their order: agent-protocol §1.4. Existing installations know their hosts by these ids.

use assisted_wire::id::HostId;
use md5::{Digest, Md5};
use uuid::Uuid;

use crate::{Root, interface};

/// Board serials (lowercase) that makers leave in place of a serial.
const NO_SERIAL: &[&str] = &[
    "",
    "unknown",
    "none",
    "(none)",
    "-",
    "unspecified base board serial number",
    "unspecified system serial number",
    "default string",
    "not specified",
    "pca_number.acc",
];

/// System UUIDs that makers leave in place of one.
const NO_UUID: &[&str] = &["00000000-0000-0000-0000-000000000000", "03000200-0400-0500-0006-000700080009"];

/// The id of a machine that shows nothing of its own.
const LAST_RESORT: Uuid = Uuid::from_u128(0xdead_dead_dead_dead_dead_dead_dead_dead);

/// The machine's id: from the board's serial, else the system's UUID, else the lowest MAC address, else a constant.
pub fn host_id(root: &Root) -> HostId {
    HostId(
        board_serial(root).or_else(|| system_uuid(root)).or_else(|| lowest_mac(root)).unwrap_or(LAST_RESORT),
    )
}

fn board_serial(root: &Root) -> Option<Uuid> {
    let serial = root.text("/sys/class/dmi/id/board_serial")?;
    (!NO_SERIAL.contains(&serial.to_lowercase().as_str())).then(|| digest(&serial))
}

fn system_uuid(root: &Root) -> Option<Uuid> {
    let text = root.text("/sys/class/dmi/id/product_uuid")?.to_lowercase();
    let uuid = text.parse().ok()?;
    (!NO_UUID.contains(&text.as_str())).then_some(uuid)
}

fn lowest_mac(root: &Root) -> Option<Uuid> {
    let macs = interface::list(root, &root.netlink()).into_iter().map(|interface| interface.mac_address);
    macs.filter(|mac| !mac.is_empty()).min().map(|mac| digest(&mac))
}

/// The bare digest: no version bits are set, unlike in a version 3 UUID.
fn digest(text: &str) -> Uuid {
    Uuid::from_bytes(Md5::digest(text).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(files: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        host_id(&Root::captured(dir.path()).unwrap()).to_string()
    }

    const SERIAL: &str = "sys/class/dmi/id/board_serial";
    const UUID: &str = "sys/class/dmi/id/product_uuid";

    #[test]
    fn a_board_serial_is_hashed_as_it_stands() {
        assert_eq!(id(&[(SERIAL, "123-456-789\n")]), "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf");
        assert_eq!(id(&[(SERIAL, "Other")]), "6311ae17-c1ee-52b3-6e68-aaf4ad066387");
        assert_eq!(id(&[(SERIAL, " L1HF02A02SD ")]), "d3d368a5-914d-a95a-3644-9dfb4eb0903b");
    }

    #[test]
    fn a_placeholder_gives_way_to_the_system_uuid() {
        for serial in NO_SERIAL {
            let uuid = "4C4C4544-0046-4A10-8032-B8C04F4B4C33\n";
            assert_eq!(
                id(&[(SERIAL, &serial.to_uppercase()), (UUID, uuid)]),
                "4c4c4544-0046-4a10-8032-b8c04f4b4c33",
                "{serial:?}"
            );
        }
    }

    #[test]
    fn a_uuid_is_taken_as_the_kernel_prints_it() {
        let as_it_stands = "4c4c4544-0046-4a10-8032-b8c04f4b4c33";
        // No board serial at all counts as a placeholder; bytes are not swapped.
        assert_eq!(id(&[(UUID, " 4C4C4544-0046-4A10-8032-B8C04F4B4C33\n")]), as_it_stands);
        for placeholder in
            NO_UUID.iter().copied().chain(["", "unknown", "Not Settable", "4c4c4544-0046-4a10-8032"])
        {
            let found = id(&[(SERIAL, "None"), (UUID, &placeholder.to_uppercase())]);
            assert_eq!(found, LAST_RESORT.to_string(), "{placeholder:?}");
        }
    }

    #[test]
    fn virtual_links_count_and_bond_members_have_their_permanent_address() {
        let links = r#"{"links": [
            {"index": 2, "name": "eno1", "mac": "02:00:00:00:00:09", "permanent_mac": "02:00:00:00:00:05"},
            {"index": 3, "name": "bond0", "mac": "02:00:00:00:00:09", "kind": "bond"},
            {"index": 4, "name": "veth0", "mac": "02:00:00:00:00:07", "kind": "veth"}]}"#;
        assert_eq!(id(&[("netlink.json", links)]), digest("02:00:00:00:00:05").to_string());
        let links = links.replace("00:05", "00:99");
        assert_eq!(id(&[("netlink.json", &links)]), digest("02:00:00:00:00:07").to_string());
    }

    #[test]
    fn the_lowest_mac_comes_next() {
        let links = r#"{"links": [{"index": 2, "name": "b", "mac": "52:54:00:00:00:02"},
            {"index": 3, "name": "a", "mac": "52:54:00:00:00:01"}, {"index": 1, "name": "lo"}]}"#;
        let expected = digest("52:54:00:00:00:01").to_string();
        let zero = "00000000-0000-0000-0000-000000000000";
        assert_eq!(id(&[(SERIAL, "Default String"), (UUID, zero), ("netlink.json", links)]), expected);
        assert_eq!(id(&[(SERIAL, "PCA_number.ACC"), ("netlink.json", links)]), expected);
        assert_eq!(id(&[(SERIAL, "Not Specified"), (UUID, "no uuid"), ("netlink.json", links)]), expected);
    }

    #[test]
    fn a_machine_without_marks_gets_the_constant() {
        assert_eq!(id(&[]), "deaddead-dead-dead-dead-deaddeaddead");
    }
}
