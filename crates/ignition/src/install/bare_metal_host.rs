//! BareMetalHost manifests: what is known of a machine, so that the cluster needs not inspect it (install-generation §6.1).

use assisted_core::model::facts::HostFacts;
use assisted_core::network::address;
use assisted_wire::host::HostRole;
use ipnet::IpNet;
use serde_json::{Value, json};

use super::edit::EditError;

const STATUS: &str = "baremetalhost.metal3.io/status";

/// A machine that a manifest may be about.
#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub role: HostRole,
    /// What the manifest says of it.
    pub status: Value,
}

impl Machine {
    /// A host as its manifest describes it. `networks`: the machine networks; `dual`: whether addresses of both families count.
    pub fn of(host: &HostFacts, networks: &[IpNet], dual: bool) -> Self {
        let hardware = hardware(host, networks, dual);
        let status = json!({
            "errorCount": 0, "errorMessage": "", "goodCredentials": {}, "hardware": hardware, "hardwareProfile": "",
            "operationalStatus": "", "poweredOn": true, "provisioning": {"ID": "", "image": {"url": ""}, "state": ""},
        });
        Self { name: host.name(), role: host.effective_role(), status }
    }
}

fn hardware(host: &HostFacts, networks: &[IpNet], dual: bool) -> Value {
    let name = host.name();
    let Some(inventory) = host.inventory.as_deref() else { return json!({"hostname": name}) };
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let memory = inventory.memory.as_ref().map_or(0, |memory| memory.physical_bytes);
    let disks = inventory.disks.iter().flatten().map(|disk| {
        let name = if disk.by_path.is_empty() { &disk.path } else { &disk.by_path };
        json!({
            "name": name, "vendor": disk.vendor, "sizeBytes": disk.size_bytes, "model": disk.model, "wwn": disk.wwn,
            "hctl": disk.hctl, "serialNumber": disk.serial,
            "rotational": disk.drive_type == Some(assisted_wire::inventory::DriveType::Hdd),
        })
    });
    let nics = inventory.interfaces.iter().flatten().flat_map(|interface| {
        let all: Vec<IpNet> = address::of_interface(interface).map(|found| found.net).collect();
        let of_family = |v4: bool| {
            let family: Vec<_> = all.iter().filter(|net| net.addr().is_ipv4() == v4).collect();
            let inside =
                family.iter().find(|net| networks.iter().any(|network| network.contains(&net.addr())));
            inside.or(family.first()).map(|net| net.addr().to_string())
        };
        let addresses: Vec<String> = match (of_family(true), of_family(false)) {
            (first, second) if dual => first.into_iter().chain(second).collect(),
            (Some(v4), _) => vec![v4],
            (None, v6) => v6.into_iter().collect(),
        };
        addresses.into_iter().map(|ip| {
            json!({
                "name": interface.name, "model": interface.product, "mac": interface.mac_address, "ip": ip,
                "speedGbps": interface.speed_mbps / 1024, "vlanId": 0, "pxe": false,
            })
        }).collect::<Vec<_>>()
    });
    json!({
        "cpu": {
            "arch": cpu.architecture, "model": cpu.model_name, "clockMegahertz": cpu.frequency, "flags": cpu.flags.unwrap_or_default(),
            "count": cpu.count,
        },
        "hostname": name,
        "nics": nics.collect::<Vec<_>>(),
        "ramMebibytes": memory / (1 << 20),
        "storage": disks.collect::<Vec<_>>(),
        "systemVendor": {
            "manufacturer": vendor.manufacturer, "productName": vendor.product_name,
            "serialNumber": vendor.serial_number,
        },
    })
}

/// The manifest with what is known of its machine, which is taken out of those that are left; `None` when the text is no
/// manifest.
pub(super) fn describe(text: &str, left: &mut Vec<&Machine>) -> Result<Option<String>, EditError> {
    let Ok(mut manifest) = serde_yaml_ng::from_str::<Value>(text) else { return Ok(None) };
    let Some(name) = manifest["metadata"]["name"].as_str().map(str::to_owned) else { return Ok(None) };
    let role = left.iter().find(|machine| machine.name == name).map(|machine| machine.role);
    let role = role.unwrap_or(if name.contains("-master-") { HostRole::Master } else { HostRole::Worker });
    let same = left.iter().position(|machine| machine.name == name);
    let place = same.or_else(|| left.iter().position(|machine| machine.role == role));
    let place = place.ok_or_else(|| EditError::TooFewHosts(role.to_string()))?;
    let machine = left.remove(place);
    for place in ["/metadata/annotations", "/spec"] {
        // Nothing else can be there.
        if let Some(odd) = manifest.pointer_mut(place).filter(|found| !found.is_object()) {
            *odd = json!({});
        }
    }
    manifest["metadata"]["annotations"][STATUS] = machine.status.to_string().into();
    manifest["spec"]["externallyProvisioned"] = true.into();
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.remove("status");
    }
    Ok(serde_yaml_ng::to_string(&manifest).ok())
}

#[cfg(test)]
mod tests {
    use assisted_core::model::report::ReportKind;

    use super::*;

    fn nulls(place: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Null => found.push(place.to_owned()),
            Value::Array(items) => items.iter().for_each(|item| nulls(&format!("{place}[]"), item, found)),
            Value::Object(members) => {
                members.iter().for_each(|(name, member)| nulls(&format!("{place}.{name}"), member, found));
            }
            _ => {}
        }
    }

    /// The API of the cluster refuses a whole status for one member that is null.
    #[test]
    fn what_a_host_does_not_tell_is_not_null() {
        let record = json!({"host": {
            "kind": "Host", "id": "33333333-3c08-4d97-8ec7-ea0ad7d4cad0", "href": "", "status": "known", "status_info": "",
        }, "clock_ahead_seconds": 0});
        let record = serde_json::from_value(record).unwrap();
        let mut host = HostFacts::new(record, "2026-01-01T00:00:00Z".parse().unwrap());
        for inventory in [
            json!({}),
            json!({"cpu": {"count": 4}, "disks": [{"path": "/dev/sda"}], "interfaces": [{"ipv4_addresses": ["192.0.2.1/24"]}]}),
        ] {
            host.put_report(ReportKind::Inventory, inventory.to_string().into());
            assert!(host.inventory.is_some(), "{inventory}");
            let mut found = Vec::new();
            nulls("", &Machine::of(&host, &[], false).status, &mut found);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
