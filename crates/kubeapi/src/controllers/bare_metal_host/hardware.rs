//! Hardware of a machine that metal3 did not inspect, as its Agent knows it (kube-api §6.6.8).

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent::inventory::{HostDisk, HostInterface, HostInventory};
use serde_json::{Value, json};

use crate::controllers::agent::hostname;

const HDD: &str = "HDD";

/// The details for metal3, as JSON; `None` as long as the Agent has told of no interfaces.
pub(super) fn details(agent: &Agent) -> Option<String> {
    let inventory = agent.status.as_ref()?.inventory.as_ref()?;
    if inventory.interfaces.is_empty() {
        return None;
    }
    Some(whole(inventory, hostname(agent)).to_string())
}

fn whole(inventory: &HostInventory, hostname: &str) -> Value {
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let memory = inventory.memory.as_ref().and_then(|memory| memory.physical_bytes).unwrap_or_default();
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let storage: Vec<_> = inventory.disks.iter().map(disk).collect();
    json!({
        "systemVendor": {
            "manufacturer": vendor.manufacturer,
            "productName": vendor.product_name,
            "serialNumber": vendor.serial_number,
        },
        "ramMebibytes": memory >> 20,
        "nics": inventory.interfaces.iter().flat_map(nics).collect::<Vec<_>>(),
        "storage": storage,
        "cpu": {
            "arch": cpu.architecture,
            "model": cpu.model_name,
            "clockMegahertz": cpu.clock_megahertz.unwrap_or_default(),
            "flags": cpu.flags,
            "count": cpu.count.unwrap_or_default(),
        },
        "hostname": hostname,
    })
}

/// One entry for each address.
fn nics(interface: &HostInterface) -> impl Iterator<Item = Value> + '_ {
    interface.ipv6_addresses.iter().chain(&interface.ipv4_addresses).map(|address| {
        json!({
            "name": interface.name,
            "model": interface.vendor,
            "mac": interface.mac_address,
            "ip": address.split_once('/').map_or(address.as_str(), |(address, _)| address),
            "speedGbps": interface.speed_mbps.unwrap_or_default() / 1024,
        })
    })
}

fn disk(disk: &HostDisk) -> Value {
    json!({
        "name": if disk.by_path.is_empty() { &disk.path } else { &disk.by_path },
        "rotational": disk.drive_type == HDD,
        "sizeBytes": disk.size_bytes.unwrap_or_default(),
        "vendor": disk.vendor,
        "model": disk.model,
        "serialNumber": disk.serial,
        "wwn": disk.wwn,
        "hctl": disk.hctl,
    })
}
