//! What the config of a cluster must say of its platform (install-generation §2.4).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::form::network;
use super::host::{name, of_interface};
use super::input::Input;

/// The platform's part of the config.
pub fn expected(input: &Input) -> Value {
    match input.platform() {
        "none" => json!({"none": {}}),
        "external" => json!({"external": external(input)}),
        "vsphere" => json!({"vsphere": vsphere(input)}),
        "nutanix" => json!({"nutanix": nutanix(input)}),
        _ => json!({"baremetal": baremetal(input)}),
    }
}

fn external(input: &Input) -> Value {
    let told = &input.cluster["platform"]["external"];
    let or_empty = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    json!({
        "platformName": or_empty(&told["platform_name"]),
        "cloudControllerManager": or_empty(&told["cloud_controller_manager"]),
    })
}

/// Adds the virtual addresses: from 4.12 all of them; before, the first of each, and under its old name, too.
fn add_vips(platform: &mut Map<String, Value>, input: &Input) {
    for (list, single, from) in
        [("apiVIPs", "apiVIP", "api_vips"), ("ingressVIPs", "ingressVIP", "ingress_vips")]
    {
        let mut vips = input.texts(from, "ip");
        if input.is_before(4, 12) {
            vips.truncate(1);
            platform.extend(vips.first().map(|vip| (single.to_owned(), json!(vip))));
        }
        if !vips.is_empty() {
            platform.insert(list.to_owned(), json!(vips));
        }
    }
}

fn add_load_balancer(platform: &mut Map<String, Value>, input: &Input) {
    if input.cluster["load_balancer"]["type"] == "user-managed" {
        platform.insert("loadBalancer".to_owned(), json!({"type": "UserManaged"}));
    }
}

fn baremetal(input: &Input) -> Value {
    let mut platform = Map::new();
    let provisioning = if input.is_before(4, 7) { "Unmanaged" } else { "Disabled" };
    platform.insert("provisioningNetwork".to_owned(), json!(provisioning));
    let mut hosts: Vec<&Value> = input.hosts.iter().collect();
    let order = |host: &Value| ["master", "arbiter", "worker"].iter().position(|role| host["role"] == **role);
    hosts.sort_by_key(|host| (order(host), name(host)));
    platform.insert("hosts".to_owned(), hosts.into_iter().map(|host| baremetal_host(host, input)).collect());
    let sources = time_sources(input);
    if !sources.is_empty() {
        platform.insert("additionalNTPServers".to_owned(), json!(sources));
    }
    add_vips(&mut platform, input);
    add_load_balancer(&mut platform, input);
    Value::Object(platform)
}

/// A host, which boots from the first interface with an address in a machine network. Its management controller stays unknown.
fn baremetal_host(host: &Value, input: &Input) -> Value {
    let inside: Vec<_> =
        input.texts("machine_networks", "cidr").iter().filter_map(|cidr| network(cidr)).collect();
    let is_inside = |address: &String| {
        network(address).is_some_and(|net| inside.iter().any(|known| net.overlaps(*known)))
    };
    let inventory = &host["inventory"];
    let mut interfaces = inventory["interfaces"].as_array().into_iter().flatten();
    let boots = interfaces.find(|interface| of_interface(interface).iter().any(is_inside));
    let mode = inventory["boot"]["current_boot_mode"].as_str().unwrap_or_default();
    json!({
        "name": name(host),
        "role": host["role"],
        "bootMACAddress": boots.map(|interface| &interface["mac_address"]),
        "bootMode": if matches!(mode, "" | "uefi") { "UEFI" } else { "legacy" },
        "bmc": {"username": "", "password": "", "address": "", "disableCertificateVerification": false},
        "hardwareProfile": "",
    })
}

/// The cluster's time sources, or those of all infra-envs together.
fn time_sources(input: &Input) -> Vec<String> {
    let split = |text: &str| {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect::<Vec<_>>()
    };
    let own = split(input.text("additional_ntp_source"));
    if !own.is_empty() {
        return own;
    }
    let mut seen = BTreeSet::new();
    let all = input.infra_envs.iter().filter_map(|infra_env| infra_env["additional_ntp_sources"].as_str());
    all.flat_map(split).filter(|source| seen.insert(source.clone())).collect()
}

/// What only the owner of the cluster knows is filled in later: until then each has a name that says so.
fn vsphere(input: &Input) -> Value {
    let mut platform = Map::new();
    if !input.is_unmanaged() {
        add_vips(&mut platform, input);
    }
    add_load_balancer(&mut platform, input);
    let rest = if input.is_before(4, 13) {
        json!({
            "vCenter": "vcenterplaceholder",
            "username": "usernameplaceholder",
            "password": "passwordplaceholder",
            "datacenter": "datacenterplaceholder",
            "defaultDatastore": "defaultdatastoreplaceholder",
            "network": "networkplaceholder",
            "cluster": "clusterplaceholder",
        })
    } else {
        json!({
            "vcenters": [{
                "server": "vcenterplaceholder",
                "user": "usernameplaceholder",
                "password": "passwordplaceholder",
                "datacenters": ["datacenterplaceholder"],
            }],
            "failureDomains": [{
                "name": "assisted-generated-failure-domain",
                "region": "assisted-generated-region",
                "zone": "assisted-generated-zone",
                "server": "vcenterplaceholder",
                "topology": {
                    "computeCluster": "/datacenterplaceholder/host/clusterplaceholder",
                    "datacenter": "datacenterplaceholder",
                    "datastore": "/datacenterplaceholder/datastore/defaultdatastoreplaceholder",
                    "folder": "/datacenterplaceholder/vm/folderplaceholder",
                    "networks": ["networkplaceholder"],
                },
            }],
        })
    };
    platform.extend(rest.as_object().cloned().into_iter().flatten());
    Value::Object(platform)
}

fn nutanix(input: &Input) -> Value {
    let endpoint = |address: &str| json!({"address": address, "port": 9440});
    let mut platform = Map::from_iter([
        (
            "prismCentral".to_owned(),
            json!({
                "endpoint": endpoint("prism.central.placeholder.address"),
                "username": "username_placeholder",
                "password": "password_placeholder",
            }),
        ),
        (
            "prismElements".to_owned(),
            json!([{
                "endpoint": endpoint("prism.element.placeholder.address"),
                "uuid": "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
                "name": "prism_endpoint_name_placeholder",
            }]),
        ),
        ("subnetUUIDs".to_owned(), json!(["yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"])),
    ]);
    if !input.is_unmanaged() {
        add_vips(&mut platform, input);
    }
    Value::Object(platform)
}
