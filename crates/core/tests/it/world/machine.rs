//! Machines that lack nothing, and what they tell of themselves and of each other.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::host_id;

/// The one network that there is; room for a thousand hosts.
const NETWORK: &str = "192.168.124.0/22";
pub const API_VIP: &str = "192.168.124.3";
pub const INGRESS_VIP: &str = "192.168.124.4";

/// The address of a host in the one network that there is.
fn address(number: u16) -> String {
    let [high, low] = (10 + number).to_be_bytes();
    format!("192.168.{}.{low}", 124 + high)
}

/// The MAC address of a host.
fn mac(number: u16) -> String {
    let [high, low] = number.to_be_bytes();
    format!("52:54:00:00:{high:02x}:{low:02x}")
}

/// The inventory of a sufficient machine.
pub fn inventory(number: u16) -> Value {
    json!({
        "hostname": format!("node-{number}"),
        "interfaces": [{
            "name": "eth0", "mac_address": mac(number), "type": "physical", "mtu": 1500,
            "has_carrier": true, "flags": ["up"], "ipv4_addresses": [format!("{}/22", address(number))],
            "ipv6_addresses": [],
        }],
        "disks": [{
            "id": "/dev/disk/by-id/wwn-1", "name": "sda", "path": "/dev/sda", "drive_type": "HDD",
            "size_bytes": 128_849_018_880_i64, "bootable": true, "hctl": "0:0:0:0",
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        }],
        "boot": {"current_boot_mode": "bios"},
        "system_vendor": {"manufacturer": "Maker", "product_name": "Machine", "serial_number": "1"},
        "memory": {"physical_bytes": 34_359_738_368_i64, "usable_bytes": 34_359_738_368_i64},
        "cpu": {"count": 16, "architecture": "x86_64", "flags": [], "frequency": 2000.0},
        "routes": [{"interface": "eth0", "gateway": "192.168.124.1", "destination": "0.0.0.0", "family": 2}],
        "tpm_version": "none",
    })
}

/// The same machine with too little memory.
pub fn poor_inventory(number: u16) -> Value {
    let mut poor = inventory(number);
    poor["memory"] = json!({"physical_bytes": 1_073_741_824_i64, "usable_bytes": 1_073_741_824_i64});
    poor
}

pub fn time_sources() -> Value {
    json!({"ntp_sources": [{"source_name": "time.example.com", "source_state": "synced"}]})
}

/// What names a host of a single-node cluster resolves when DNS is as it should be.
pub fn resolutions() -> Value {
    let found = |name: &str| json!({"domain_name": name, "ipv4_addresses": ["192.168.124.11"]});
    let missing = |name: &str| json!({"domain_name": name, "ipv4_addresses": [], "cnames": null});
    json!({"resolutions": [
        found("api.c.example.com"), found("api-int.c.example.com"),
        found("console-openshift-console.apps.c.example.com"),
        missing("validateNoWildcardDNS.c.example.com."), missing("validateNoWildcardDNS.c.example.com"),
    ]})
}

/// The same, with an address of the other family too.
pub fn dual_inventory(number: u16) -> Value {
    let mut machine = inventory(number);
    machine["interfaces"][0]["ipv6_addresses"] = json!([format!("fd00::{number:x}/64")]);
    machine
}

/// The same, made by VMware.
pub fn virtual_inventory(number: u16) -> Value {
    let mut machine = inventory(number);
    machine["system_vendor"]["manufacturer"] = json!("VMware, Inc.");
    machine["disks"][0]["has_uuid"] = json!(true);
    machine
}

/// What a host tells of the others when all are reached, at each of their addresses.
pub fn links(machine: fn(u16) -> Value, own: u16, all: RangeInclusive<u16>) -> Value {
    let others = all.filter(|other| *other != own).map(|other| {
        let found = machine(other);
        let nic = &found["interfaces"][0];
        let lists = ["ipv4_addresses", "ipv6_addresses"].map(|list| nic[list].as_array().unwrap());
        let addresses =
            lists.into_iter().flatten().map(|text| text.as_str().unwrap().split('/').next().unwrap());
        let (l2, l3): (Vec<_>, Vec<_>) = addresses
            .map(|address| {
                let l2 = json!({
                    "outgoing_nic": "eth0", "remote_ip_address": address, "remote_mac": nic["mac_address"],
                    "successful": true,
                });
                let l3 = json!({"remote_ip_address": address, "successful": true, "average_rtt_ms": 0.5});
                (l2, l3)
            })
            .unzip();
        json!({"host_id": host_id(other), "l2_connectivity": l2, "l3_connectivity": l3})
    });
    json!({"remote_hosts": others.collect::<Vec<_>>()})
}

/// The same between machines of the common kind.
pub fn connectivity(own: u16, all: RangeInclusive<u16>) -> Value {
    links(inventory, own, all)
}

/// What hosts found free in their network: the VIPs among it.
pub fn free_addresses() -> Value {
    json!([{"network": NETWORK, "free_addresses": [API_VIP, INGRESS_VIP]}])
}
