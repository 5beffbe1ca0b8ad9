//! Hardware of a host, as its Agent shows it: the inventory, and labels by which Agents are selected (kube-api §6.4.6).

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent::inventory::{
    HostBoot, HostCpu, HostDisk, HostGpu, HostInstallationEligibility, HostInterface, HostInventory,
    HostIoPerf, HostMemory, HostSystemVendor,
};
use assisted_crd::labels::label;
use assisted_wire::inventory::{Disk, DriveType, Interface, Inventory};

/// The inventory, without what a host did not tell.
pub(super) fn shown(inventory: &Inventory) -> HostInventory {
    HostInventory {
        bmc_address: inventory.bmc_address.clone(),
        bmc_v6_address: inventory.bmc_v6address.clone(),
        boot: inventory.boot.as_ref().map(|boot| HostBoot {
            current_boot_mode: boot.current_boot_mode.clone(),
            device_type: boot.device_type.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
            pxe_interface: boot.pxe_interface.clone(),
        }),
        cpu: inventory.cpu.as_ref().map(|cpu| HostCpu {
            architecture: cpu.architecture.clone(),
            clock_megahertz: megahertz(cpu.frequency),
            count: positive(cpu.count),
            flags: cpu.flags.clone().unwrap_or_default(),
            model_name: cpu.model_name.clone(),
        }),
        disks: inventory.disks.iter().flatten().map(disk).collect(),
        gpus: inventory
            .gpus
            .iter()
            .flatten()
            .map(|gpu| HostGpu {
                address: gpu.address.clone(),
                device_id: gpu.device_id.clone(),
                name: gpu.name.clone(),
                vendor: gpu.vendor.clone(),
                vendor_id: gpu.vendor_id.clone(),
            })
            .collect(),
        hostname: inventory.hostname.clone(),
        interfaces: inventory.interfaces.iter().flatten().map(interface).collect(),
        memory: inventory.memory.as_ref().map(|memory| HostMemory {
            physical_bytes: positive(memory.physical_bytes),
            usable_bytes: positive(memory.usable_bytes),
        }),
        report_time: None,
        system_vendor: inventory.system_vendor.as_ref().map(|vendor| HostSystemVendor {
            manufacturer: vendor.manufacturer.clone(),
            product_name: vendor.product_name.clone(),
            serial_number: vendor.serial_number.clone(),
            r#virtual: vendor.r#virtual.then_some(true),
        }),
    }
}

fn disk(disk: &Disk) -> HostDisk {
    let eligibility = &disk.installation_eligibility;
    HostDisk {
        bootable: disk.bootable.then_some(true),
        by_id: disk.by_id.clone(),
        by_path: disk.by_path.clone(),
        drive_type: disk.drive_type.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        hctl: disk.hctl.clone(),
        id: disk.id.clone(),
        installation_eligibility: Some(HostInstallationEligibility {
            eligible: eligibility.eligible.then_some(true),
            not_eligible_reasons: eligibility.not_eligible_reasons.clone().unwrap_or_default(),
        }),
        io_perf: disk
            .io_perf
            .as_ref()
            .and_then(|perf| positive(perf.sync_duration))
            .map(|duration| HostIoPerf { sync_duration_milliseconds: Some(duration) }),
        model: disk.model.clone(),
        name: disk.name.clone(),
        path: disk.path.clone(),
        serial: disk.serial.clone(),
        size_bytes: positive(disk.size_bytes),
        smart: disk.smart.clone(),
        vendor: disk.vendor.clone(),
        wwn: disk.wwn.clone(),
    }
}

fn interface(interface: &Interface) -> HostInterface {
    HostInterface {
        bios_dev_name: interface.biosdevname.clone(),
        client_id: interface.client_id.clone(),
        flags: interface.flags.clone().unwrap_or_default(),
        has_carrier: interface.has_carrier.then_some(true),
        ipv4_addresses: interface.ipv4_addresses.clone().unwrap_or_default(),
        ipv6_addresses: interface.ipv6_addresses.clone().unwrap_or_default(),
        mac_address: interface.mac_address.clone(),
        mtu: positive(interface.mtu),
        name: interface.name.clone(),
        product: interface.product.clone(),
        speed_mbps: positive(interface.speed_mbps),
        vendor: interface.vendor.clone(),
    }
}

/// A number that was told.
fn positive(number: i64) -> Option<i64> {
    (number > 0).then_some(number)
}

/// A frequency in whole MHz.
#[allow(clippy::cast_possible_truncation, reason = "what is no frequency of a CPU is not shown")]
fn megahertz(frequency: f64) -> Option<i64> {
    (1.0..1e9).contains(&frequency).then_some(frequency as i64)
}

/// Labels of the inventory; a value that can be no label's is left out.
pub(super) fn labels(inventory: &Inventory) -> BTreeMap<String, String> {
    let has_flash = inventory.disks.iter().flatten().any(|disk| disk.drive_type == Some(DriveType::Ssd));
    let cpu = inventory.cpu.as_ref();
    let mut flags = cpu.into_iter().flat_map(|cpu| cpu.flags.iter().flatten());
    let virtualises = flags.any(|flag| flag == "vmx" || flag == "svm");
    let vendor = inventory.system_vendor.as_ref();
    let values = [
        ("storage-hasnonrotationaldisk", has_flash.to_string()),
        ("cpu-architecture", cpu.map(|cpu| cpu.architecture.clone()).unwrap_or_default()),
        ("cpu-virtenabled", virtualises.to_string()),
        ("host-manufacturer", vendor.map(|vendor| vendor.manufacturer.clone()).unwrap_or_default()),
        ("host-productname", vendor.map(|vendor| vendor.product_name.clone()).unwrap_or_default()),
        ("host-isvirtual", vendor.is_some_and(|vendor| vendor.r#virtual).to_string()),
    ];
    let label = |(name, value): (&str, String)| {
        let value: String = value.chars().filter(|letter| is_of_label(*letter)).collect();
        is_label(&value).then(|| (format!("{}{name}", label::INVENTORY_PREFIX), value))
    };
    values.into_iter().filter_map(label).collect()
}

fn is_of_label(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

/// Whether a text can be the value of a label.
fn is_label(value: &str) -> bool {
    let ends = [value.chars().next(), value.chars().last()];
    value.len() <= 63 && ends.into_iter().flatten().all(|letter| letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_tell_of_the_hardware() {
        let inventory: Inventory = serde_json::from_value(json!({
            "cpu": {"architecture": "x86_64", "flags": ["sse", "vmx"]},
            "disks": [{"drive_type": "HDD", "id": "a"}, {"drive_type": "SSD", "id": "b"}],
            "system_vendor": {"manufacturer": "Dell Inc.", "product_name": "PowerEdge R640 (rack)", "virtual": true},
        }))
        .unwrap();
        let found = labels(&inventory);
        let value = |name: &str| found.get(&format!("{}{name}", label::INVENTORY_PREFIX)).map(String::as_str);
        assert_eq!(value("storage-hasnonrotationaldisk"), Some("true"));
        assert_eq!(value("cpu-architecture"), Some("x86_64"));
        assert_eq!(value("cpu-virtenabled"), Some("true"));
        assert_eq!(value("host-manufacturer"), None, "it would end with a dot");
        assert_eq!(value("host-productname"), Some("PowerEdgeR640rack"));
        assert_eq!(value("host-isvirtual"), Some("true"));
        assert_eq!(
            labels(&Inventory::default())[&format!("{}cpu-architecture", label::INVENTORY_PREFIX)],
            ""
        );
    }

    #[test]
    fn lists_that_the_definition_requires_are_there() {
        let inventory: Inventory = serde_json::from_value(json!({
            "interfaces": [{"name": "eth0", "mac_address": "02:00:00:00:00:01"}], "disks": [{"id": "a"}],
            "cpu": {"frequency": 2400.9, "count": 4},
        }))
        .unwrap();
        let shown = serde_json::to_value(shown(&inventory)).unwrap();
        assert_eq!(
            shown["interfaces"][0],
            json!({"name": "eth0", "macAddress": "02:00:00:00:00:01", "flags": [], "ipV4Addresses": [], "ipV6Addresses": []})
        );
        assert_eq!(shown["disks"][0]["installationEligibility"], json!({"notEligibleReasons": []}));
        assert_eq!(shown["cpu"], json!({"clockMegahertz": 2400, "count": 4}));
    }
}
