//! Who made the machine, and whether it is a virtual one (agent-protocol §3.11).

use assisted_wire::inventory::SystemVendor;

use crate::{Root, cpu};

const DMI: &str = "/sys/class/dmi/id";
/// What stands for a fact that the firmware doesn't give; clients show it as it is.
const UNKNOWN: &str = "unknown";

/// Texts with which the firmware of virtual machines names itself, at the start of a DMI field.
const VIRTUAL_FIRMWARE: &[&str] = &[
    "KVM",
    "OpenStack",
    "KubeVirt",
    "QEMU",
    "VMware",
    "VMW",
    "innotek GmbH",
    "VirtualBox",
    "Oracle Corporation",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Hyper-V",
    "Apple Virtualization",
];

pub(crate) fn system_vendor(root: &Root) -> SystemVendor {
    let dmi = |name: &str| root.text(&format!("{DMI}/{name}")).unwrap_or_else(|| UNKNOWN.into());
    let mut vendor = SystemVendor {
        serial_number: dmi("product_serial"),
        product_name: dmi("product_name"),
        manufacturer: dmi("sys_vendor"),
        r#virtual: is_virtual(root),
    };
    if matches!(dmi("product_family").as_str(), "oVirt" | "RHV") {
        vendor.product_name = "oVirt".into();
    }
    if dmi("chassis_asset_tag") == "OracleCloud.com" {
        vendor.manufacturer = "OracleCloud.com".into();
    }
    if vendor.manufacturer == UNKNOWN {
        mainframe(root, &mut vendor);
    }
    vendor
}

/// s390x has no DMI.
fn mainframe(root: &Root, vendor: &mut SystemVendor) {
    let info = cpu::info(root);
    let vendor_id =
        info.lines().find_map(|line| line.strip_prefix("vendor_id")?.trim_start().strip_prefix(':'));
    if vendor_id.map(str::trim) == Some("IBM/S390") {
        vendor.manufacturer = "IBM/S390".into();
        vendor.product_name = control_program(root).unwrap_or_else(|| "LPAR".into());
    }
}

/// What runs the s390x guest: `KVM/Linux`, `z/VM    7.2.0`.
fn control_program(root: &Root) -> Option<String> {
    root.long_text("/proc/sysinfo").lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.starts_with("VM") && name.contains("Control Program")).then(|| value.trim().to_owned())
    })
}

/// Any virtual machine counts, whatever runs it; a Xen host's first domain is the host itself.
fn is_virtual(root: &Root) -> bool {
    if root.text("/proc/xen/capabilities").is_some_and(|text| text.contains("control_d")) {
        return false;
    }
    let hypervisor_bit = cpu::info(root)
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    let firmware = ["product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version"];
    let virtual_firmware = firmware
        .iter()
        .filter_map(|field| root.text(&format!("{DMI}/{field}")))
        .any(|text| VIRTUAL_FIRMWARE.iter().any(|start| text.starts_with(start)));
    hypervisor_bit
        || virtual_firmware
        || control_program(root).is_some()
        || root.exists("/proc/device-tree/hypervisor/compatible")
        || root.exists("/proc/device-tree/ibm,partition-name")
        || root.text("/sys/hypervisor/type").is_some_and(|kind| !kind.is_empty())
}
