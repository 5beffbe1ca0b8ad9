//! By what a machine is known again when it registers: the serial number and the addresses that its inventory will show.

use assisted_wire::machine::Machine;

use crate::{Root, interface, vendor};

/// The machine. It blocks as [`crate::host_id()`] does.
pub fn machine(root: &Root) -> Machine {
    let interfaces = interface::list(root, &root.netlink());
    let macs = interfaces.into_iter().map(|interface| interface.mac_address.to_ascii_lowercase());
    let mut macs: Vec<_> = macs.filter(|mac| !mac.is_empty()).collect();
    macs.sort();
    macs.dedup();
    macs.truncate(Machine::MOST_MACS);
    Machine { serial: vendor::system_vendor(root).serial_number, macs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_inventorys() {
        let root = Root::live();
        let (machine, inventory) = (machine(&root), crate::inventory(&root));
        assert_eq!(machine.serial, inventory.system_vendor.unwrap().serial_number);
        let macs: Vec<_> =
            inventory.interfaces.unwrap().into_iter().map(|interface| interface.mac_address).collect();
        assert!(machine.macs.iter().all(|mac| macs.iter().any(|known| known.eq_ignore_ascii_case(mac))));
    }
}
